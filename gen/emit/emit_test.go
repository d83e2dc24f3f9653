package emit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func file(name, text string) File { return File{name, []byte("// " + Marker + "\n" + text)} }

// tree returns the files under dir with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(dir, path)
			files[rel] = string(data)
		}
		return nil
	})
	return files
}

func kinds(changes []Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Kind)+" "+filepath.Base(c.Path))
	}
	return strings.Join(out, ", ")
}

func TestWriteThenCompare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "k")
	folders := []Folder{{dir, []File{file("k.cu", "1"), file("k.h", "2")}}}
	changes, err := Write(folders)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := kinds(changes), "missing k.cu, missing k.h, missing mkgen.json"; got != want {
		t.Errorf("first Write: %s, want %s", got, want)
	}
	before, _ := os.Stat(filepath.Join(dir, "k.cu"))
	if changes, err = Write(folders); err != nil || len(changes) != 0 {
		t.Errorf("second Write: %s, %v, want nothing", kinds(changes), err)
	}
	if after, _ := os.Stat(filepath.Join(dir, "k.cu")); !os.SameFile(before, after) {
		t.Error("an equal file was replaced")
	}
	if len(tree(t, dir)) != 3 {
		t.Errorf("temporary files stayed: %v", tree(t, dir))
	}
}

func TestCompare(t *testing.T) {
	dir := t.TempDir()
	if _, err := Write([]Folder{{dir, []File{file("a", "1"), file("b", "1"), file("c", "1")}}}); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "a"))
	os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("by hand"), 0o644)
	next := []Folder{{dir, []File{file("a", "1"), file("b", "2")}}}
	changes, err := Compare(next)
	if got, want := kinds(changes), "missing a, changed b, stale c, changed mkgen.json"; got != want || err != nil {
		t.Errorf("Compare: %s, %v, want %s", got, err, want)
	}
	if _, err := Write(next); err != nil {
		t.Fatal(err)
	}
	files := tree(t, dir)
	if _, there := files["c"]; there || files["mine.txt"] != "by hand" {
		t.Errorf("after Write: %v; want c removed and mine.txt kept", files)
	}
}

func TestNothingWrittenOnError(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"not ours":         func(dir string) { os.WriteFile(filepath.Join(dir, "z"), []byte("by hand"), 0o644) },
		"foreign manifest": func(dir string) { os.WriteFile(filepath.Join(dir, ManifestName), []byte("[]"), 0o644) },
		"folder in place":  func(dir string) { os.Mkdir(filepath.Join(dir, "z"), 0o755) },
		"file in place":    func(dir string) { os.WriteFile(filepath.Join(dir, "sub"), nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(dir)
			before := tree(t, dir)
			_, err := Write([]Folder{
				{filepath.Join(dir, "first"), []File{file("a", "1")}},
				{dir, []File{file("a", "1"), file("z", "1")}},
				{filepath.Join(dir, "sub", "k"), []File{file("a", "1")}},
			})
			if err == nil {
				t.Fatal("Write succeeded")
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("%q does not say where", err)
			}
			after := tree(t, dir)
			for path := range after {
				if _, ok := before[path]; !ok {
					t.Errorf("%s was left behind", path)
				}
			}
			if exists, _ := os.Stat(filepath.Join(dir, "first")); exists != nil {
				t.Error("the folder first was left behind")
			}
		})
	}
}

func TestManifestCannotDirectDeletionElsewhere(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "k")
	os.Mkdir(dir, 0o755)
	outside := filepath.Join(root, "outside")
	os.WriteFile(outside, file("", "").Data, 0o644)
	os.WriteFile(filepath.Join(dir, ManifestName), []byte(`{"files":{"../outside":"0"}}`), 0o644)
	if _, err := Write([]Folder{{dir, []File{file("a", "1")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestDiff(t *testing.T) {
	text := func(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }
	for _, test := range []struct {
		name   string
		change Change
		want   string
	}{
		{"changed", Change{"f", Changed, text("1", "2", "3", "4", "5", "6", "7", "8", "9"), text("1", "2", "3", "4", "five", "6", "7", "8", "9")},
			"--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"two hunks", Change{"f", Changed, text("a", "1", "2", "3", "4", "5", "6", "7", "b"), text("1", "2", "3", "4", "5", "6", "7")},
			"--- f\n+++ f\n@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-b\n"},
		{"missing", Change{"f", Missing, nil, text("x")}, "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+x\n"},
		{"stale", Change{"f", Stale, text("x"), nil}, "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"},
		{"no newline", Change{"f", Changed, []byte("x"), text("x")}, "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+x\n"},
	} {
		if got := test.change.Diff(); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}
