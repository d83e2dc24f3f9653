package runtime

import (
	"regexp"
	"strings"
	"testing"
)

// Two machines in three have no NVLink multicast, or have it switched off: nothing may ask for it.
func TestNoMulticast(t *testing.T) {
	for _, dir := range []string{"include", "host", "run"} {
		for _, f := range Files(dir) {
			if m := regexp.MustCompile(`(?i)multimem|cuMulticast`).Find(f.Data); m != nil {
				t.Errorf("%s has %s", f.Path, m)
			}
		}
	}
}

// What peers read or write is at system scope. The CPU cannot show a narrower scope, so the text must: the one operation of
// device scope is the one whose name says so.
func TestSignalsAreAtSystemScope(t *testing.T) {
	access := regexp.MustCompile(`"((?:ld|st|atom|red)\.[a-z_.]*global[a-z0-9._]*)`)
	found := 0
	for _, f := range Files("include") {
		if !strings.HasSuffix(f.Path, "sm90/signal.h") {
			continue
		}
		var function string
		for line := range strings.Lines(string(f.Data)) {
			if strings.HasPrefix(line, "MK_DEVICE") {
				function = line
			}
			m := access.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			found++
			want := ".sys."
			if strings.Contains(function, "_device(") {
				want = ".gpu."
			}
			if !strings.Contains(m[1], want) {
				t.Errorf("%s: %s is not %s", strings.TrimSpace(function), m[1], want)
			}
		}
	}
	if found < 6 {
		t.Errorf("only %d accesses found: has signal.h moved?", found)
	}
}
