package gpu

import (
	"fmt"

	"github.com/mkgen/mkgen/tests/check"
)

// spread is rows of so many words with a gap of so many words behind each but the last; the gaps hold v.
func spread(rows []uint16, length, gap int, v uint16) []uint16 {
	if gap == 0 || len(rows) == 0 {
		return rows
	}
	var out []uint16
	for at := 0; at < len(rows); at += length {
		out = append(out, rows[at:at+length]...)
		for i := 0; i < gap && at+length < len(rows); i++ {
			out = append(out, v)
		}
	}
	return out
}

// squeeze takes the gaps out of a guarded matrix again, where they still hold what guards do.
func squeeze(guarded []uint16, length, gap int) ([]uint16, error) {
	inner := check.Inner(guarded)
	if gap == 0 || len(inner) == 0 {
		return guarded, nil
	}
	out := append([]uint16{}, guarded[:check.GuardLen]...)
	for row := 0; row*(length+gap) < len(inner); row++ {
		rest := inner[row*(length+gap):]
		out = append(out, rest[:length]...)
		for i, v := range rest[length:min(length+gap, len(rest))] {
			if v != check.Guard {
				return nil, fmt.Errorf("word %d behind row %d of C was overwritten", i, row)
			}
		}
	}
	return append(out, guarded[len(guarded)-check.GuardLen:]...), nil
}
