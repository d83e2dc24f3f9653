package spec

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// good is the shortest spec; tests change single lines of it.
const good = `kernel = "ag_gemm"
name = "qkv"
[problem]
m = { dynamic = true, max = 8192 }
n = 2048
k = 8192
[topology]
gpus_per_node = 4
`

func edit(t *testing.T, from, to string) string {
	t.Helper()
	if strings.Count(good, from) != 1 {
		t.Fatalf("%q is not in the spec once", from)
	}
	return strings.Replace(good, from, to, 1)
}

func texts(diags []Diag) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

func TestDiagnostics(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown key", `n = 2048`, "n = 2048\n  num = 3", "f:6:3: problem.num: unknown key; nearest legal key is n"},
		{"unknown key, nothing near", `n = 2048`, "n = 2048\nwavefront = 3", "f:6:1: problem.wavefront: unknown key; legal keys are m, n, k, max_rows, b"},
		{"misspelt required key", `gpus_per_node`, "gpu_per_node", "f:8:1: topology.gpu_per_node: unknown key; nearest legal key is gpus_per_node"},
		{"unknown table", `[topology]`, "[tiles]\nm = 1\n[topology]", "f:7:1: tiles: unknown table; nearest legal key is tile"},
		{"misspelt required table", `[problem]`, "[probelm]", "f:3:1: probelm: unknown table; nearest legal key is problem"},
		{"key in the wrong table", `n = 2048`, "n = 2048\nstages = 3", "f:6:1: problem.stages: unknown key here; nearest legal key is tile.stages"},
		{"key behind a table header", `gpus_per_node = 4`, "gpus_per_node = 4\narch = \"sm_90a\"",
			"f:9:1: topology.arch: unknown key here; nearest legal key is arch, above the first table"},
		{"case of a key", `kernel`, "Kernel", "f:1:1: Kernel: keys are case-sensitive; write kernel"},
		{"case of a table", `[topology]`, "[Topology]", "f:7:1: Topology: keys are case-sensitive; write topology"},
		{"case twice", `n = 2048`, "n = 2048\nN = \"x\"", "f:6:1: problem.N: keys are case-sensitive; write problem.n"},
		{"case in braces", `max = 8192`, "Max = 8192", "f:4:23: problem.m.Max: keys are case-sensitive; write problem.m.max"},
		{"unknown in braces", `max = 8192`, "max = 8192, min = 1", "f:4:35: problem.m.min: unknown key; nearest legal key is max"},

		{"string for a number", `n = 2048`, `n = "2048"`, "f:5:1: problem.n: is a string; write a whole number"},
		{"float", `n = 2048`, `n = 2048.0`, "f:5:1: problem.n: is a float; write a whole number"},
		{"date", `n = 2048`, `n = 1979-05-27`, "f:5:1: problem.n: is a date or time; write a whole number"},
		{"array", `n = 2048`, "n = [\n2048]", "f:5:1: problem.n: is an array; write a whole number"},
		{"number for a string", `"qkv"`, `3`, "f:2:1: name: is a whole number; write a string"},
		{"table for a number", `n = 2048`, "n.x = 3", "f:5:1: problem.n: is a table; write a whole number"},
		{"string for an extent", `{ dynamic = true, max = 8192 }`, `"dynamic"`,
			"f:4:1: problem.m: is a string; write a whole number, or { dynamic = true, max = number }"},
		{"dynamic is no boolean", `dynamic = true`, `dynamic = 1`, "f:4:7: problem.m.dynamic: is a whole number; write true"},
		{"dynamic is false", `dynamic = true`, `dynamic = false`,
			"f:4:7: problem.m.dynamic: false is what a number alone means; write m = number"},
		{"max is no number", `max = 8192`, `max = "many"`, "f:4:23: problem.m.max: is a string; write a whole number"},
		{"no max", `, max = 8192`, ``, "f:4:1: problem.m: needs both dynamic and max; write { dynamic = true, max = number }"},
		{"no dynamic", `dynamic = true, `, ``, "f:4:1: problem.m: needs both dynamic and max; write { dynamic = true, max = number }"},
		{"share", `[topology]`, "[roles]\ncompute = \"all\"\n[topology]", `f:8:1: roles.compute: is a string; write a whole number, or "rest"`},
		{"value for a table", "[problem]", "tile = 3\n[problem]", "f:3:1: tile: is a whole number where a table is expected; write [tile]"},
		{"array of tables", `[topology]`, `[[topology]]`, "f:7:1: topology: is an array of tables; write [topology], once"},

		{"missing at the top", `name = "qkv"`, ``, "f:1:1: name: missing; write name = a string"},
		{"missing in a table", `n = 2048`, ``, "f:3:1: problem.n: missing; write n = a whole number"},
		{"missing table", "[topology]\ngpus_per_node = 4\n", ``, "f:1:1: topology.gpus_per_node: missing; write gpus_per_node = a whole number"},

		{"too small", `gpus_per_node = 4`, `gpus_per_node = 0`, "f:8:1: topology.gpus_per_node: 0 is out of range; nearest legal value is 1"},
		{"too large", `gpus_per_node = 4`, `gpus_per_node = 9`, "f:8:1: topology.gpus_per_node: 9 is out of range; nearest legal value is 8"},
		{"negative", `n = 2048`, `n = -8`, "f:5:1: problem.n: -8 is out of range; nearest legal value is 8"},
		{"multiple, down", `n = 2048`, `n = 2050`, "f:5:1: problem.n: 2050 is not a multiple of 8; nearest legal value is 2048"},
		{"multiple, up", `n = 2048`, `n = 2055`, "f:5:1: problem.n: 2055 is not a multiple of 8; nearest legal value is 2056"},
		{"largest", `max = 8192`, `max = 2147483648`, "f:4:23: problem.m.max: 2147483648 is out of range; nearest legal value is 2147483647"},
		{"64 bits", `max = 8192`, `max = 9223372036854775807`, "f:4:23: problem.m.max: 9223372036854775807 is out of range; nearest legal value is 2147483647"},
		{"negative fixed", `{ dynamic = true, max = 8192 }`, `-1`, "f:4:1: problem.m: -1 is out of range; nearest legal value is 0"},
		{"explicit 0 for rest", `[topology]`, "[roles]\ncompute = 0\n[topology]", "f:8:1: roles.compute: 0 is out of range; nearest legal value is 1"},

		{"unknown kernel", `"ag_gemm"`, `"ag_gem"`, `f:1:1: kernel: unknown value "ag_gem"; nearest legal value is ag_gemm`},
		{"kernel to come", `"ag_gemm"`, `"dispatch_gemm"`, `f:1:1: kernel: "dispatch_gemm" is not generated yet; legal values are ag_gemm, gemm_ar, gemm_rs`},
		{"empty kernel", `"ag_gemm"`, `""`, `f:1:1: kernel: unknown value ""; legal values are ag_gemm, gemm_ar, gemm_rs, dispatch_gemm, ring_attention`},
		{"arch", `name =`, "arch = \"sm_80\"\nname =", `f:2:1: arch: unknown value "sm_80"; nearest legal value is sm_90a`},
		{"dtype", `name =`, "dtype = \"fp8\"\nname =", `f:2:1: dtype: unknown value "fp8"; nearest legal value is fp16`},
		{"out", `name =`, "out = \"fp64\"\nname =", `f:2:1: out: unknown value "fp64"; nearest legal value is fp16`},
		{"layout", `n = 2048`, "n = 2048\nb = \"nn\"", `f:6:1: problem.b: unknown value "nn"; nearest legal value is nk`},
		{"truth", `[topology]`, "[epilogue]\nbias = 1\n[topology]", "f:8:1: epilogue.bias: is a whole number; write true or false"},
		{"activation", `[topology]`, "[epilogue]\nactivation = \"swish\"\n[topology]",
			`f:8:1: epilogue.activation: unknown value "swish"; nearest legal value is silu`},
		{"macro", `[problem]`, "[backend]\nmacro = \"INTERNODE_BACKEND_VERBS\"\n[problem]",
			`f:4:1: backend.macro: unknown value "INTERNODE_BACKEND_VERBS"; nearest legal value is INTERNODE_BACKEND_IBVERBS`},
		{"name", `"qkv"`, `"Qkv-Proj"`, `f:2:1: name: "Qkv-Proj" is not lower-case letters, digits and underscores with a letter first; nearest legal value is "qkv_proj"`},

		{"syntax", `n = 2048`, `n = = 3`, "f:5:5: problem.n: expected value but found '=' instead"},
		{"duplicate key", `k = 8192`, "n = 3\nq = 1", "f:6:1: problem.n: the key has already been defined"},
		{"duplicate table", `[topology]`, `[problem]`, "f:7:2: Key 'problem' has already been defined"},
		{"64 bits overflow", `n = 2048`, `n = 9223372036854775808`, "f:5:5: problem.n: 9223372036854775808 is out of range for int64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, diags := Parse("f", []byte(edit(t, c.from, c.to)))
			if got := texts(diags); got != c.want+"\n" {
				t.Errorf("got  %swant %s", got, c.want)
			}
			if s == nil {
				return
			}
			if again, more := s.Checked(); texts(more) != texts(diags) {
				t.Errorf("a second check says %s", texts(more))
			} else if again.Problem != s.Problem {
				t.Errorf("a second check changed the sizes: %v, %v", s.Problem, again.Problem)
			}
		})
	}
}

func TestGood(t *testing.T) {
	s, diags := Parse("f", []byte("\xef\xbb\xbf"+good))
	if len(diags) > 0 {
		t.Fatal(texts(diags))
	}
	if s.Kernel != "ag_gemm" || s.Name != "qkv" || s.Arch != "sm_90a" || s.DType != "bf16" || s.Backend.Macro != "" {
		t.Errorf("strings: %+v", s)
	}
	if s.Problem != (Problem{M: Extent{true, 8192}, N: 2048, K: Extent{Max: 8192}, B: "nk"}) || s.Topology != (Topology{1, 4}) ||
		s.Tile != (Tile{}) || s.Chunk != (Chunk{}) || s.Roles != (Roles{}) {
		t.Errorf("numbers: %+v", s)
	}
	for key, want := range map[string]Pos{
		"kernel": {1, 1}, "problem": {3, 1}, "problem.m": {4, 1}, "problem.m.max": {4, 23}, "problem.k": {6, 1},
		"topology.nodes": {7, 1}, "tile.m": {1, 1},
	} {
		if got := s.At(key); got != want {
			t.Errorf("%s is at %v, want %v", key, got, want)
		}
	}
	if s.Has("topology.nodes") || !s.Has("topology.gpus_per_node") {
		t.Error("Has is wrong about what the file sets")
	}
}

// Tables may be written in any of TOML's ways.
func TestForms(t *testing.T) {
	for _, text := range []string{
		"kernel=\"ag_gemm\"\r\nname='qkv'\r\nproblem = {m.dynamic=true, m.max=8192, n=2048, k=8192}\r\ntopology.gpus_per_node=4\r\nroles.compute='rest'\r\n",
		"topology={gpus_per_node=4}\nproblem.m.dynamic=true\nproblem.m.max=8_192\nproblem.n=0x800\nproblem.k=8192\nkernel=\"\"\"ag_gemm\"\"\"\nname=\"\"\"\nqkv\"\"\"\n",
		"kernel=\"ag_gemm\"\nname=\"qkv\"\n[problem.m]\ndynamic=true\nmax=8192\n[problem]\nn=2048\nk=8192\n[ \"topology\" ]\n\"gpus_per_node\"=4\n",
	} {
		s, diags := Parse("f", []byte(text))
		if len(diags) > 0 {
			t.Errorf("%s%s", text, texts(diags))
		} else if s.Problem != (Problem{M: Extent{true, 8192}, N: 2048, K: Extent{Max: 8192}, B: "nk"}) || s.Topology.GPUsPerNode != 4 {
			t.Errorf("%sreads as %+v", text, s)
		}
	}
}

func TestPositionsInEveryForm(t *testing.T) {
	text := "problem = { m.dynamic = true, m.max = -1, n = 12, K = 8 }\n  topology.gpus_per_node = 11\n\t[tile]\n\t\tm = '''\n64'''\n n = [\n  64 ]\n[a.b]\n"
	_, diags := Parse("f", []byte(text))
	want := `f:1:1: kernel: missing; write kernel = a string
f:1:1: name: missing; write name = a string
f:1:31: problem.m.max: -1 is out of range; nearest legal value is 0
f:1:43: problem.n: 12 is not a multiple of 8; nearest legal value is 8
f:1:51: problem.K: keys are case-sensitive; write problem.k
f:2:3: topology.gpus_per_node: 11 is out of range; nearest legal value is 8
f:4:3: tile.m: is a string; write a whole number
f:6:2: tile.n: is an array; write a whole number
f:8:1: a: unknown table; legal keys are kernel, name, arch, dtype, out, reduce, partial, staging, problem, epilogue, topology, tile, chunk, roles, backend
`
	if got := texts(diags); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLoadReportsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	s, diags := Load(path)
	if s != nil || texts(diags) != path+": cannot read the spec: no such file or directory\n" {
		t.Errorf("got %v, %s", s, texts(diags))
	}
}

func TestSpecMadeByHand(t *testing.T) {
	s := &Spec{Kernel: "ag_gemm", Name: "x", Problem: Problem{M: Extent{Max: 5}, N: 12, K: Extent{Max: 8}}}
	c, diags := s.Checked()
	want := `1:1: problem.n: 12 is not a multiple of 8; nearest legal value is 8
1:1: topology.gpus_per_node: missing; write gpus_per_node = a whole number
`
	if got := texts(diags); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if c.Arch != "sm_90a" || c.Topology.Nodes != 1 || s.Arch != "" || s.Problem.N != 12 {
		t.Errorf("defaults belong into the copy alone: %+v, %+v", c, s)
	}
}

func TestNames(t *testing.T) {
	for name, near := range map[string]string{
		"a": "", "qkv_proj": "", "x86": "", "linux": "", "test": "", "windows_gemm": "", strings.Repeat("a", 63): "",
		"": "kernel", "_": "kernel", "3d": "kernel_3d", "Gemm": "gemm", "a b": "a_b", "größe": "gr__e", "a-b.": "a_b",
		"func": "func_kernel", "int": "int_kernel", "main": "main_kernel", "double": "double_kernel", "namespace": "namespace_kernel",
		"internal": "internal_kernel", "mk": "kernel_mk", "mk_open": "kernel_mk_open", "mkrt": "mkrt_kernel",
		"a_test": "a_test_kernel", "a_linux": "a_linux_kernel", "a_arm64": "a_arm64_kernel", "a_windows_amd64": "a_windows_amd64_kernel",
	} {
		message := checkName(name)
		if near == "" {
			if message != "" {
				t.Errorf("%q is refused: %s", name, message)
			}
			continue
		}
		if !strings.HasSuffix(message, `; nearest legal value is "`+near+`"`) {
			t.Errorf("%q: got %q, want the suggestion %q", name, message, near)
		}
		if again := checkName(near); again != "" {
			t.Errorf("%q is suggested and refused: %s", near, again)
		}
	}
	if m := checkName(strings.Repeat("a", 64)); m != "64 characters are too many; nearest legal value is the first 63 of them" {
		t.Error(m)
	}
}

func TestSchema(t *testing.T) {
	golden := filepath.Join("testdata", "schema.json")
	got := Schema()
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs from Schema(): look at it, then run with -update", golden)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("\x04") // an error that the library places before the file
	f.Fuzz(func(t *testing.T, text string) {
		s, diags := Parse("f", []byte(text))
		if s == nil && len(diags) == 0 {
			t.Error("neither a spec nor a diagnostic")
		}
		for _, d := range diags {
			if d.Line < 1 || d.Col < 1 || d.Message == "" {
				t.Errorf("no place or no message: %+v", d)
			}
		}
	})
}
