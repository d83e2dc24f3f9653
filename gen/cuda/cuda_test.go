package cuda

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const runtimeHash = 0x0123456789abcdef // not the real one, so that goldens change only with templates and plans

func load(t testing.TB, path string) *plan.Plan {
	t.Helper()
	s, diags := spec.Load(path)
	if s == nil {
		t.Fatal(diags)
	}
	p, diags := plan.Build(s, runtimeHash)
	if p == nil {
		t.Fatal(diags)
	}
	return p
}

func specs(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.toml")
	if err != nil || len(found) == 0 {
		t.Fatal("no specs in testdata", err)
	}
	return found
}

func TestGolden(t *testing.T) {
	for _, path := range specs(t) {
		p := load(t, path)
		files, err := Render(p, runtimeHash)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			golden := filepath.Join("testdata", f.Path)
			if *update {
				if err := os.WriteFile(golden, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Data, want) {
				t.Errorf("%s differs from what is rendered; look at it and run go test ./gen/cuda -update", golden)
			}
		}
	}
}

// What one spec does not use is not in its source, and no template action is left.
func TestSpecialised(t *testing.T) {
	for name, patterns := range map[string][2]string{ // must match, must not match
		"dynamic": {`kWorld = 4\b`, `<%|%>|no value|GivenShards|bias|activate|gate<|Panel`},
		"fixed":   {`kWorld = 1\b`, `<%|%>|no value|Push|gather|arrival|Waiter`},
		"given":   {`GivenShards<kWorld>`, `<%|%>|no value|EvenShards`},
		"nodes":   {`kWorld = 6\b`, `<%|%>|no value`},
		"reduce":  {`sum_in_order<kWorld, Partial>`, `<%|%>|no value|Push|gather|GivenShards|gate<|kDepth`},
		"bands":   {`kBand = \d+, kHeldRows = 2 \* kBand`, `<%|%>|no value|Meet<|Outbox|twin|kNodes|take\(`},
		"oneshot": {`sum_in_order<kWorld \+ 1, Partial>`, `<%|%>|no value|Collect|landed|kBand|kNodes`},
		"across":  {`mk::take\(acc, `, `<%|%>|no value|kBand|freed|sum_in_order<kWorld|sum_in_order<kLocal`},
		"options": {`folded = mk::gate<mk::Silu>`, `<%|%>|no value|bf16`},
	} {
		files, err := Render(load(t, "testdata/"+name+".toml"), runtimeHash)
		if err != nil {
			t.Fatal(err)
		}
		var code []string // without comments
		for line := range strings.Lines(string(files[0].Data)) {
			before, _, _ := strings.Cut(line, "//")
			code = append(code, strings.TrimRight(before, "\n"))
		}
		text := strings.Join(code, "\n")
		if !regexp.MustCompile(patterns[0]).MatchString(text) {
			t.Errorf("%s: lacks %s", name, patterns[0])
		}
		if m := regexp.MustCompile(patterns[1]).FindString(text); m != "" {
			t.Errorf("%s: has %q", name, m)
		}
	}
}

func TestFunctions(t *testing.T) {
	p := &plan.Plan{Kernel: "k", Name: "ab_c", N: 17, Tile: plan.Tile{N: 8}, Heap: []plan.Buffer{{Name: "gather0", Offset: 256}}}
	render := func(text string) (string, error) {
		files, err := render(fstest.MapFS{"k.cu.tmpl": {Data: []byte(text)}, "k.h.tmpl": {}}, p, 255)
		if err != nil {
			return "", err
		}
		return string(files[0].Data), nil
	}
	for text, want := range map[string]string{
		"<% upper .Name %>":                                      "AB_C\n",
		"<% camel .Name %>":                                      "AbC\n",
		"<% ceildiv .N .Tile.N %>":                               "3\n",
		"<% hex .RuntimeHash %>":                                 "0x00000000000000ffull\n",
		`<% (buffer .Plan "gather0").Offset %>`:                  "256\n",
		"\n\na \t\n<% if .M.Dynamic %>\nb\n<% end %>\n\nc\n\n\n": "a\n\nc\n",
		"{{1}, {2}};":                                            "{{1}, {2}};\n",
	} {
		if got, err := render(text); got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`<% (buffer .Plan "gather2").Offset %>`, "<% .Nothing %>", "<% if %>"} {
		if got, err := render(text); err == nil {
			t.Errorf("%q rendered as %q", text, got)
		}
	}
}
