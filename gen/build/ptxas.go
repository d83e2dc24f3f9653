package build

import (
	"regexp"
	"strconv"
	"strings"
)

// Report is what `ptxas -v` says of one kernel. Sizes are in bytes, Stack, SpillStores and SpillLoads per thread.
type Report struct {
	Kernel      string `json:"kernel"` // mangled
	Registers   int    `json:"registers"`
	Stack       int    `json:"stack"`        // the largest of the kernel's functions
	SpillStores int    `json:"spill_stores"` // of all its functions, like SpillLoads
	SpillLoads  int    `json:"spill_loads"`
	Shared      int    `json:"shared"` // static
	Barriers    int    `json:"barriers"`
}

var (
	entryLine = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	stackLine = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	usedLine  = regexp.MustCompile(`Used (\d+) registers`)
	smem      = regexp.MustCompile(`(\d+) bytes smem`)
	barriers  = regexp.MustCompile(`used (\d+) barriers`)
	warning   = regexp.MustCompile(`\bwarning *[:#]|Performance Loss`)
)

// ParsePtxas reads the messages of `nvcc -Xptxas -v`: one report per entry function, in order.
func ParsePtxas(messages string) []Report {
	var reports []Report
	number := func(line string, re *regexp.Regexp, group int) int {
		if m := re.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[group])
			return n
		}
		return 0
	}
	for line := range strings.Lines(messages) {
		line = strings.TrimSpace(line)
		if m := entryLine.FindStringSubmatch(line); m != nil {
			reports = append(reports, Report{Kernel: m[1]})
		}
		if len(reports) == 0 {
			continue
		}
		r := &reports[len(reports)-1]
		if stackLine.MatchString(line) {
			r.Stack = max(r.Stack, number(line, stackLine, 1))
			r.SpillStores += number(line, stackLine, 2)
			r.SpillLoads += number(line, stackLine, 3)
		}
		if usedLine.MatchString(line) {
			r.Registers, r.Barriers, r.Shared = number(line, usedLine, 1), number(line, barriers, 1), number(line, smem, 1)
		}
	}
	return reports
}

// Warnings returns the lines of a compiler's messages that warn.
func Warnings(messages string) []string {
	var found []string
	for line := range strings.Lines(messages) {
		if warning.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
