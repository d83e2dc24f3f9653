package stub

import (
	"testing"

	"github.com/mkgen/mkgen/gen/plan"
)

func TestX(t *testing.T) {
	p := &plan.Plan{Name: "qkv_proj", Kernel: "ag_gemm", DType: "bf16", Nodes: 1, GPUsPerNode: 4, World: 4, N: 64, K: 128, M: plan.Extent{Dynamic: true, Max: 1000}, ABI: 0x123456789abcdef, HeapSize: 512}
	fs, err := Render(p, 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		t.Logf("%s\n%s", f.Path, f.Data)
	}
}
