package spec

import (
	"fmt"
	"go/build"
	"go/token"
	"go/types"
	"io"
	"regexp"
	"slices"
	"strings"
)

// nameLength is one less than MK_NAME_LEN of mk/abi.h, which counts the final NUL.
const nameLength = 63

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// checkName says why a name cannot be a Go package, a prefix of C symbols and the name of a Go file all at once.
func checkName(name string) string {
	if !nameForm.MatchString(name) {
		return fmt.Sprintf("%q is not lower-case letters, digits and underscores with a letter first; nearest legal value is %q", name, repaired(name))
	}
	if len(name) > nameLength {
		return fmt.Sprintf("%d characters are too many; nearest legal value is the first %d of them", len(name), nameLength)
	}
	if taken := takenBy(name); taken != "" {
		return fmt.Sprintf("%q is %s; nearest legal value is %q", name, taken, repaired(name))
	}
	return ""
}

// repaired makes a legal name that resembles name.
func repaired(name string) string {
	legal := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	legal = strings.Trim(legal, "_")
	legal = legal[:min(len(legal), nameLength-len("_kernel"))]
	for _, name := range []string{legal, legal + "_kernel", "kernel_" + legal} {
		if legal != "" && nameForm.MatchString(name) && takenBy(name) == "" {
			return name
		}
	}
	return "kernel"
}

// takenBy says what else a well-formed name already means, if anything.
func takenBy(name string) string {
	switch {
	case token.IsKeyword(name):
		return "a Go keyword"
	case types.Universe.Lookup(name) != nil:
		return "a predeclared Go identifier"
	case slices.Contains(cKeywords, name):
		return "a C or C++ keyword"
	case name == "main" || name == "init":
		return "a name with a meaning of its own in Go"
	case slices.Contains([]string{"internal", "vendor", "testdata"}, name):
		return "a folder with a meaning of its own in Go"
	case name == "mk" || name == "mkrt" || name == "mkgen" || strings.HasPrefix(name, "mk_"):
		return "a name of the runtime"
	case constrained(name + ".go"):
		return fmt.Sprintf("the name of a file, %s.go, that only some Go builds see", name)
	}
	return ""
}

// constrained says whether the go command would build file only for some systems, read off its name.
func constrained(file string) bool {
	elsewhere := build.Context{GOOS: "none", GOARCH: "none", Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}}
	match, err := elsewhere.MatchFile("", file)
	return err == nil && !match || strings.HasSuffix(file, "_test.go")
}

// cKeywords are those of C23 and C++20 that are lower-case and not Go keywords or predeclared as well.
var cKeywords = strings.Fields(`alignas alignof and and_eq asm auto bitand bitor catch char char8_t char16_t char32_t class
	co_await co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete do double
	dynamic_cast enum explicit export extern friend inline int long mutable namespace new noexcept not not_eq nullptr
	operator or or_eq private protected public register reinterpret_cast requires restrict short signed sizeof static
	static_assert static_cast template this thread_local throw try typedef typeid typename typeof typeof_unqual union
	unsigned using virtual void volatile wchar_t while xor xor_eq`)
