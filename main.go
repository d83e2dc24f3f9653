// Mkgen turns TOML specs into specialised persistent CUDA kernels that compute and communicate at once, with the C header
// and the Go package that launch them. `mkgen help` is the manual.
package main

import (
	"os"

	"github.com/mkgen/mkgen/gen/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
