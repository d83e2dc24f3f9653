package mkrt

import (
	"os"
	"path/filepath"
	"strings"
)

// KernelPath is the variable that lists folders with kernel libraries and libmkrt.so, separated like PATH.
const KernelPath = "MKGEN_KERNEL_PATH"

// find looks for a library: at the explicit paths where there are any (a file, or a folder that holds it), otherwise in
// the folders of MKGEN_KERNEL_PATH, then beside the executable. The error lists everything that was tried.
func find(file string, explicit ...string) (string, error) {
	places, hint := explicit, ""
	if len(places) == 0 {
		for _, dir := range filepath.SplitList(os.Getenv(KernelPath)) {
			if dir != "" {
				places = append(places, filepath.Join(dir, file))
			}
		}
		if exe, err := os.Executable(); err == nil {
			places = append(places, filepath.Join(filepath.Dir(exe), file))
		}
		hint = "; build it with `mkgen build` and put its folder into " + KernelPath
	}
	var tried []string
	for _, path := range places {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			path = filepath.Join(path, file)
			info, err = os.Stat(path)
		}
		if err == nil && !info.IsDir() {
			return filepath.Abs(path) // dlopen searches elsewhere for names without a slash
		}
		tried = append(tried, path)
	}
	return "", errorf(Unavailable, "%s was not found; tried %s%s", file, strings.Join(tried, ", "), hint)
}
