package cxx

import "github.com/mkgen/mkgen/gen/build"

// Sanitized are the options of builds for the host under a sanitizer, "thread" or "address,undefined", or "" for none: the same for
// all tests, so that libmkrt is built once for each. Compiling takes longer than running, so little is optimised but loops.
func Sanitized(sanitizer string) build.Options {
	o := build.Options{Target: "host"}
	if sanitizer != "" {
		o.ExtraFlags = []string{"-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-O1", "-ftree-vectorize", "-g1", "-fsanitize=" + sanitizer, "-fno-sanitize-recover=all"}
	}
	return o
}

// Mutant are the same options for a source with a defect, which may be one to warn of.
func Mutant(sanitizer string) build.Options {
	o := Sanitized(sanitizer)
	o.ExtraFlags = append(o.ExtraFlags, "-w")
	return o
}
