package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mkgen/mkgen/gen/emit"
	mkruntime "github.com/mkgen/mkgen/runtime"
)

// messagesName is the file of an entry that keeps what the compiler printed.
const messagesName = "messages.txt"

// CacheDir is MKGEN_CACHE, or mkgen in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("MKGEN_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the build cache: %v; set MKGEN_CACHE", err)
	}
	return filepath.Join(dir, "mkgen"), nil
}

// recipe is what one entry of the cache is made of.
type recipe struct {
	output    string // file name
	program   bool   // an executable, else a shared library
	target    string
	files     []emit.File
	sources   []string // of files, those to compile
	flags     []string // beside the compiler's
	libraries []string // to link with, by their paths
}

// compile makes what a recipe says, unless the cache has it.
func (o Options) compile(r recipe) (Output, error) {
	c, err := o.compiler(r.target)
	if err != nil {
		return Output{}, err
	}
	version, err := c.version()
	if err != nil {
		return Output{}, err
	}
	include, err := IncludeDir()
	if err != nil {
		return Output{}, err
	}
	flags := slices.Concat(c.flags, r.flags, []string{"-I.", "-I" + include})
	whole := r.link(flags, r.sources)
	dir, err := entry(key(r.files, c.path, version, strings.Join(whole, "\x00")), func(dir string) error {
		if err := writeAll(dir, r.files); err != nil {
			return err
		}
		if r.target != "host" || len(r.sources) == 1 {
			return c.run(dir, whole)
		}
		objects, err := c.objects(dir, flags, r.sources)
		if err != nil {
			return err
		}
		return c.run(dir, r.link(append(flags, "-x", "none"), objects))
	})
	if err != nil {
		return Output{}, err
	}
	messages, err := os.ReadFile(filepath.Join(dir, messagesName))
	return Output{Path: filepath.Join(dir, r.output), Messages: string(messages), Warnings: Warnings(string(messages))}, err
}

// link is the command line that makes the output of sources or objects.
func (r recipe) link(flags, inputs []string) []string {
	arguments := slices.Clone(flags)
	if !r.program {
		arguments = append([]string{"-shared"}, arguments...)
	}
	arguments = append(arguments, inputs...)
	if r.target == "host" {
		arguments = append(append(arguments, "-x", "none"), r.libraries...)
		arguments = append(arguments, "-ldl")
	}
	return append(arguments, "-o", r.output)
}

// objects compiles sources side by side, one a CPU, and names what they became.
func (c compiler) objects(dir string, flags, sources []string) ([]string, error) {
	objects, failed := make([]string, len(sources)), make([]error, len(sources))
	var all sync.WaitGroup
	free := make(chan struct{}, runtime.NumCPU())
	for i, source := range sources {
		objects[i] = fmt.Sprintf("%d.o", i)
		all.Go(func() {
			free <- struct{}{}
			failed[i] = c.run(dir, slices.Concat(flags, []string{"-c", source, "-o", objects[i]}))
			<-free
		})
	}
	all.Wait()
	return objects, errors.Join(failed...)
}

// run runs the compiler in dir and keeps there what it printed.
func (c compiler) run(dir string, arguments []string) error {
	cmd := exec.Command(c.path, arguments...)
	cmd.Dir = dir
	var messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &messages, &messages
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the compiler failed (%w):\n%s\n%s", err, strings.Join(cmd.Args, " "), bytes.TrimSpace(messages.Bytes()))
	}
	return appendTo(filepath.Join(dir, messagesName), messages.Bytes())
}

// entry returns the cache's folder for key. If there is none, fill makes it under another name first: it appears whole
// or not at all, and of several processes that make it at once, one wins and the others take what it made.
func entry(key string, fill func(dir string) error) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	final := filepath.Join(cache, key)
	if exists(final) {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("build cache: %w; set MKGEN_CACHE to a folder that can be written", err)
	}
	tmp, err := os.MkdirTemp(cache, "making-*")
	if err != nil {
		return "", fmt.Errorf("build cache: %w; set MKGEN_CACHE to a folder that can be written", err)
	}
	defer os.RemoveAll(tmp) // gone already if renamed
	if err := fill(tmp); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, final); err != nil && !exists(final) {
		return "", err
	}
	return final, nil
}

// key hashes files and strings, each with its length, into the name of an entry.
func key(files []emit.File, more ...string) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d %d %s", len(f.Path), len(f.Data), f.Path)
		h.Write(f.Data)
	}
	for _, s := range more {
		fmt.Fprintf(h, "%d ", len(s))
		io.WriteString(h, s)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// IncludeDir writes the headers that kernels include into the cache, and returns the folder to give to -I.
func IncludeDir() (string, error) {
	files := headers()
	return entry("include-"+key(files), func(dir string) error { return writeAll(dir, files) })
}

// WriteHeaders writes the same into dir, which is made if it is not there.
func WriteHeaders(dir string) error { return writeAll(dir, headers()) }

func headers() []emit.File {
	var files []emit.File
	for _, f := range mkruntime.Headers() {
		files = append(files, emit.File{Path: f.Path, Data: f.Data})
	}
	return files
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func writeAll(dir string, files []emit.File) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
