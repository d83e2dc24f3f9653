// Package short parts what `make test` runs from what only `make test-all` does, which is without -short.
package short

import "testing"

// Skip leaves a test to runs without -short.
func Skip(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a part of make test-all")
	}
}
