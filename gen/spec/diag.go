package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Diag says what is wrong with one key. Line and Col count from 1 and are 0 where the file as a whole is meant.
type Diag struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Key     string `json:"key"` // with dots, as the file spells it; empty where no key is meant
	Message string `json:"message"`
}

// String is `file:line:col: key: message`, less the parts that are empty.
func (d Diag) String() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File + ":")
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", d.Line, d.Col)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if d.Key != "" {
		b.WriteString(d.Key + ": ")
	}
	return b.String() + d.Message
}

// Sort puts diagnostics of one file into file order; those at one place stay as they are.
func Sort(diags []Diag) {
	slices.SortStableFunc(diags, func(a, b Diag) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}
