package emit

import (
	"fmt"
	"strings"
)

const context = 3 // lines around a difference

// Diff returns a change as a unified diff, as `patch -p0` takes it.
func (c Change) Diff() string {
	from, to := c.Path, c.Path
	if c.Old == nil {
		from = "/dev/null"
	}
	if c.New == nil {
		to = "/dev/null"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	edits := compareLines(lines(c.Old), lines(c.New))
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i++
			continue
		}
		start, end, last := max(0, i-context), i, i
		for ; end < len(edits) && end-last <= 2*context; end++ {
			if edits[end].op != ' ' {
				last = end
			}
		}
		end = min(len(edits), last+1+context)
		writeHunk(&out, edits, start, end)
		i = end
	}
	return out.String()
}

type edit struct {
	op   byte // ' ', '-' or '+'
	text string
}

func writeHunk(out *strings.Builder, edits []edit, start, end int) {
	var oldAt, newAt, oldLen, newLen int
	for i, e := range edits[:end] {
		if e.op != '+' {
			if i < start {
				oldAt++
			} else {
				oldLen++
			}
		}
		if e.op != '-' {
			if i < start {
				newAt++
			} else {
				newLen++
			}
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(oldAt, oldLen), span(newAt, newLen))
	for _, e := range edits[start:end] {
		out.WriteByte(e.op)
		out.WriteString(e.text)
		if !strings.HasSuffix(e.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span prints a hunk's range: lines count from 1, and an empty range names the line before it.
func span(before, length int) string {
	if length > 0 {
		before++
	}
	return fmt.Sprintf("%d,%d", before, length)
}

// lines splits text after each newline.
func lines(b []byte) []string {
	l := strings.SplitAfter(string(b), "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

// compareLines returns a shortest edit from a to b by the longest common subsequence; quadratic between the first and
// the last difference, which generated files of some hundred lines afford.
func compareLines(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]edit{{' ', a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	common := make([][]int32, len(a)+1) // common[i][j]: longest common subsequence of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			head = append(head, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			head = append(head, edit{'-', a[i]})
			i++
		default:
			head = append(head, edit{'+', b[j]})
			j++
		}
	}
	return append(head, tail...)
}
