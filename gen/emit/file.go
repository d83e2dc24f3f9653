// Package emit puts generated files on disk, or tells how the disk differs from them.
package emit

// File is a generated file. Path is slash-separated and relative to the output folder.
type File struct {
	Path string
	Data []byte
}
