package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
)

// Folder is everything that one spec generates: Files, with plain names as paths, belong into Dir.
type Folder struct {
	Dir   string
	Files []File
}

// Kind says how the disk differs from what would be written.
type Kind string

const (
	Missing Kind = "missing" // to be written, not on disk
	Changed Kind = "changed" // on disk with other contents
	Stale   Kind = "stale"   // on disk and in the old manifest, no longer generated
)

// Change is one difference. Old is nil for a missing file, New for a stale one.
type Change struct {
	Path     string // Dir joined with the file's name
	Kind     Kind
	Old, New []byte
}

// Compare returns how the disk differs from the folders, sorted by path within each; it writes nothing. A file in the
// way that mkgen did not write is an error.
func Compare(folders []Folder) ([]Change, error) {
	var all []Change
	seen := map[string]bool{}
	for _, f := range folders {
		dir := filepath.Clean(f.Dir)
		if seen[dir] {
			return nil, fmt.Errorf("%s: two specs would write into this folder; give one of them another name", dir)
		}
		seen[dir] = true
		changes, err := f.compare()
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}

func (f Folder) compare() ([]Change, error) {
	var old Manifest
	manifestPath := filepath.Join(f.Dir, ManifestName)
	if data, err := read(manifestPath); err != nil {
		return nil, err
	} else if data != nil {
		if old, err = parseManifest(data); err != nil {
			return nil, fmt.Errorf("%s: not a manifest of mkgen (%v); move it away or choose another folder with -o", manifestPath, err)
		}
	}
	var changes []Change
	generated := map[string]bool{}
	for _, file := range append(f.Files[:len(f.Files):len(f.Files)], manifest(f.Files)) {
		generated[file.Path] = true
		path := filepath.Join(f.Dir, file.Path)
		data, err := read(path)
		if err != nil {
			return nil, err
		}
		switch {
		case data == nil:
			changes = append(changes, Change{path, Missing, nil, file.Data})
		case bytes.Equal(data, file.Data):
		case file.Path != ManifestName && old.Files[file.Path] == "" && !marked(data):
			return nil, fmt.Errorf("%s: exists and was not written by mkgen; move it away or choose another folder with -o", path)
		default:
			changes = append(changes, Change{path, Changed, data, file.Data})
		}
	}
	for name := range old.Files {
		path := filepath.Join(f.Dir, name)
		if generated[name] {
			continue
		}
		data, err := read(path)
		if err != nil {
			return nil, err
		}
		if data != nil && marked(data) {
			changes = append(changes, Change{path, Stale, data, nil})
		}
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].Path < changes[j].Path })
	return changes, nil
}

// Write makes the disk equal to the folders and returns what it changed: it writes only files that differ and removes
// stale ones. All new contents are on disk, under temporary names in their folders, before the first file is renamed
// into place; a failure before that leaves everything as it was.
func Write(folders []Folder) (changes []Change, err error) {
	changes, err = Compare(folders)
	if err != nil {
		return nil, err
	}
	var undo []string // temporary files and new folders, in order of creation
	defer func() {
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				os.Remove(undo[i]) // a folder that others have filled meanwhile stays
			}
		}
	}()
	staged := make([]string, len(changes))
	for i, c := range changes {
		if c.Kind == Stale {
			continue
		}
		made, err := mkdirAll(filepath.Dir(c.Path))
		undo = append(undo, made...)
		if err != nil {
			return nil, err
		}
		if staged[i], err = stage(c.Path, c.New); err != nil {
			return nil, err
		}
		undo = append(undo, staged[i])
	}
	for i, c := range changes {
		if c.Kind == Stale {
			err = os.Remove(c.Path)
		} else {
			err = os.Rename(staged[i], c.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// WriteFile writes one file, making its folder, so that it appears whole or not at all.
func WriteFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := stage(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}

// stage writes data beside path and returns the temporary name.
func stage(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".mkgen-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// mkdirAll is os.MkdirAll that tells which folders it made, outermost first.
func mkdirAll(dir string) (made []string, err error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append([]string{d}, made...)
	}
	return made, os.MkdirAll(dir, 0o755)
}

// read returns nil for a file that is not there, and never nil for one that is.
func read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}
