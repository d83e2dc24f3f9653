package plan

import (
	"strconv"
	"strings"
)

type integer interface{ ~int | ~int64 }

func ceilDiv[T integer](a, b T) T { return (a + b - 1) / b }

func roundUp[T integer](a, to T) T { return ceilDiv(a, to) * to }

func abs(a int) int { return max(a, -a) }

// list is numbers in words: "64, 128".
func list(numbers []int) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, ", ")
}
