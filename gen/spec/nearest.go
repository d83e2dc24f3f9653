package spec

// Nearest is the candidate fewest single-character edits away from word, or "" where even that one shares too little with
// it to be meant. Of equals it is one that begins as word does, else the first.
func Nearest(word string, candidates []string) string {
	best, found := "", 2*(len(word)/2+2)
	for _, c := range candidates {
		edits := distance(word, c)
		if edits >= max(len(word), len(c)) {
			continue
		}
		far := 2 * edits
		if word[0] != c[0] {
			far++
		}
		if far < found {
			best, found = c, far
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
