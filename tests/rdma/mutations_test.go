package rdma_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutation is a defect in a source of runtime/host/net that a test has to notice.
type mutation struct{ name, file, old, new, test string }

var overEfa = []mutation{
	{"a word does not wait for all pieces", "srd.cc", "it->second.pieces < note.pieces", "it->second.pieces + 1 < note.pieces", "efa_writes"},
	{"an epoch far away as low bits", "srd.cc", "&& ahead < split_.span()", "", "srd_any_order"},
	{"a smaller value wins", "srd.cc", "last_[slot + run] < value", "last_[slot + run] != value", "srd_larger_stays"},
	{"done before all pieces are", "srd_link.cc", "--s.flying || !s.posted", "--s.flying, s.write.id == 0", "efa_writes"},
	{"a failure towards a peer that has left", "backend_efa.cc", "(receive || !site_.has_left(node))", "true", "efa_peer_left"},
	{"full is taken for an error", "srd_link.cc", "if (r == ENOMEM) return false;", "", "efa_writes"},
	{"a slot is sent before it is filled", "srd_slots.cc", "filling_.front().copy <= copies_->finished()", "copies_->finished() < ~0ull", "efa_writes_through_slots"},
	{"a slot is announced before it is copied", "srd_slots.cc", "coming_.front().copy <= copies_->finished()", "copies_->finished() < ~0ull", "efa_writes_through_slots"},
	{"a slot is filled before it is given back", "srd_slots.cc", "if (!held_[slot])", "if (!(held_[slot] & kSending))", "efa_slots_run_out"},
	{"a note overtakes what is copied", "srd_link.cc", "arriving_->note(note)", "receiver_.note(note, events)", "efa_words_keep_their_order"},
}

// Soft-RoCE has read the sources of a write when the call that posts it returns, so that "done" too early would not show here;
// the same line of the EFA backend does.
var overRxe = []mutation{
	{"a full queue is not noticed", "rc_direct.cc", "!waiting_.empty() && rc_.room()", "!waiting_.empty()", "pressure 2 1 near"},
	{"a word before its bytes", "rc_bounce.cc", "in_->ahead(to, payload(arriving_, taken_), h.bytes), in_->words(inbox + h.slot, h.words, h.value);",
		"in_->words(inbox + h.slot, h.words, h.value), in_->ahead(to, payload(arriving_, taken_), h.bytes);", "writes 2 1 far"},
	{"closed with slots to be sent", "rc_bounce.cc", "return sent_ == filled_ && rc_.put() == rc_.completed();", "return true;", "closes 2 1 far"},
	{"a failure towards a peer that has left", "backend_ibverbs.cc", " && !site_.has_left(node)", "", "closes 2 1 near"},
	{"slots filled again too early", "rc_bounce.cc", "filled_ - load(desk_.emptied) < kRing", "filled_ - sent_ < kRing", "writes 2 1 far"},
	{"a rank greets before its peers take writes", "backend_ibverbs.cc", "sizeof(Desk);\n    }\n  }", "sizeof(Desk);\n    }\n    greet(peers);\n  }", "writes 2 1 near"},
}

// mutated writes the source with its defect and returns sources with it in the place of the right one.
func mutated(t *testing.T, m mutation, sources []string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "runtime/host/net", m.file))
	if err != nil || strings.Count(string(data), m.old) != 1 {
		t.Fatalf("%s: %d times %q (%v)", m.file, strings.Count(string(data), m.old), m.old, err)
	}
	path := filepath.Join(t.TempDir(), m.file)
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), m.old, m.new, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	sources = slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return filepath.Base(s) == m.file })
	return append(sources, path)
}

// TestMutationsFit finds every defect's place, those too that `make test` leaves out.
func TestMutationsFit(t *testing.T) {
	for _, m := range slices.Concat(overEfa, overRxe) {
		mutated(t, m, nil)
	}
}

func TestEfaMutations(t *testing.T) {
	headers(t)
	libraries := fakes(t, "")
	for i, m := range overEfa {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			program := compile(t, fmt.Sprintf("mutant_efa%d", i), []string{"-w"}, mutated(t, m, efaSources)...)
			cmd := exec.Command("timeout", "300", program, m.test)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("not noticed by %s\n%s", m.test, out)
			} else if err.Error() == "exit status 124" {
				t.Errorf("%s never ended", m.test)
			}
		})
	}
}
