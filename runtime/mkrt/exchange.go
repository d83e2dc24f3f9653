package mkrt

import (
	"fmt"
	"strings"
)

func checkBlob(rank int, blob []byte) error {
	if len(blob) > MaxBlob {
		return errorf(Invalid, "rank %d wants to exchange %d bytes; an exchange carries at most %d", rank, len(blob), MaxBlob)
	}
	return nil
}

// rankList is "rank 3", "ranks 1, 3 and 4" or "ranks 1 and 8 to 15"; ranks ascend.
func rankList(ranks []int) string {
	if len(ranks) == 0 {
		return "no rank"
	}
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var words []string
	for len(ranks) > 0 {
		n := 1
		for n < len(ranks) && ranks[n] == ranks[0]+n {
			n++
		}
		if n > 2 {
			words = append(words, fmt.Sprintf("%d to %d", ranks[0], ranks[n-1]))
		} else {
			n = 1
			words = append(words, fmt.Sprint(ranks[0]))
		}
		ranks = ranks[n:]
	}
	last := len(words) - 1
	if last == 0 {
		return "ranks " + words[0]
	}
	return "ranks " + strings.Join(words[:last], ", ") + " and " + words[last]
}
