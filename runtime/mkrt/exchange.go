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

// rankList is "rank 3" or "ranks 1, 3 and 4".
func rankList(ranks []int) string {
	if len(ranks) == 0 {
		return "no rank"
	}
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = fmt.Sprint(r)
	}
	last := len(words) - 1
	return "ranks " + strings.Join(words[:last], ", ") + " and " + words[last]
}
