package spec

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Parse reads data, the content of the file that diagnostics call file. It returns as Load does.
func Parse(file string, data []byte) (*Spec, []Diag) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as the library does, whose offsets are without it
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(data), &top)
	if err != nil {
		var pe toml.ParseError
		if !errors.As(err, &pe) {
			return nil, []Diag{{File: file, Message: "not TOML: " + err.Error()}}
		}
		p := posAt(data, pe.Position.Start)
		message := strings.TrimSuffix(strings.Replace(pe.Message, "Key '"+pe.LastKey+"' has", "the key has", 1), ".")
		return nil, []Diag{{file, p.Line, p.Col, pe.LastKey, message}}
	}
	s := &Spec{File: file, pos: map[string]Pos{}, wrong: map[string]bool{}}
	root := read(&md, data, "", top, false)
	s.table("", root)
	return s.Checked()
}

// entry is one key of the file with its value: map[string]*entry for a table, else as the TOML library gives it.
type entry struct {
	name  string // with dots, as written
	value any
	pos   Pos
}

// probe refuses every value, because a refusal is how the TOML library tells where a value stands.
type probe struct{ value any }

var errRefused = errors.New("refused")

func (p *probe) UnmarshalTOML(value any) error {
	p.value = value
	return errRefused
}

// read finds the entries of a table; inline says that it was written in braces.
func read(md *toml.MetaData, data []byte, prefix string, table map[string]toml.Primitive, inline bool) map[string]*entry {
	entries := map[string]*entry{}
	for name, primitive := range table {
		var p probe
		var refusal toml.ParseError
		errors.As(md.PrimitiveDecode(primitive, &p), &refusal)
		e := &entry{name: prefix + name, value: p.value}
		at := refusal.Position
		e.pos = keyPos(data, at, p.value, inline)
		if _, ok := p.value.(map[string]any); ok {
			var members map[string]toml.Primitive
			if md.PrimitiveDecode(primitive, &members) == nil {
				braces := inline || at.Line > 0 && !opens(data, at.Start)
				sub := read(md, data, e.name+".", members, braces)
				if at.Line == 0 { // a table that exists only through dotted names
					for _, m := range sub {
						if e.pos == (Pos{}) || m.pos.before(e.pos) {
							e.pos = m.pos
						}
					}
				}
				e.value = sub
			}
		}
		entries[name] = e
	}
	return entries
}

// keyPos is where a key begins, from what the library records: the bracket of a table header, the key inside braces,
// else a place behind the equals sign, on the line that the key begins.
func keyPos(data []byte, at toml.Position, value any, inline bool) Pos {
	if at.Line == 0 {
		return Pos{}
	}
	_, table := value.(map[string]any)
	_, tables := value.([]map[string]any)
	if p := posAt(data, at.Start); inline || (table || tables) && opens(data, at.Start) {
		return p
	}
	line := data[bytes.LastIndexByte(data[:at.Start], '\n')+1:]
	return posAt(data, len(data)-len(bytes.TrimLeft(line, " \t")))
}

func opens(data []byte, at int) bool { return at < len(data) && data[at] == '[' }

// posAt is the place of an offset; the library's can lie just outside the file.
func posAt(data []byte, offset int) Pos {
	before := data[:min(max(offset, 0), len(data))]
	return Pos{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')}
}

func (p Pos) before(q Pos) bool { return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col }

// table takes the entries of one legal table ("" is the top of the file) into s.
func (s *Spec) table(path string, entries map[string]*entry) {
	prefix := path
	if path != "" {
		prefix += "."
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		if slices.Contains(legal(path), name) {
			s.entry(prefix+name, e)
			continue
		}
		i := slices.IndexFunc(legal(path), func(l string) bool { return strings.EqualFold(l, name) })
		if i < 0 {
			s.unknown(path, name, e)
			continue
		}
		right := legal(path)[i]
		s.fail(e, prefix+right, "keys are case-sensitive; write "+prefix+right)
		if _, twice := entries[right]; !twice {
			s.entry(prefix+right, e)
		}
	}
}

// entry takes one legal key or table into s.
func (s *Spec) entry(path string, e *entry) {
	k := lookup(path)
	members, isTable := e.value.(map[string]*entry)
	switch {
	case k != nil:
		s.set(k, e)
	case isTable:
		s.pos[path] = e.pos
		s.table(path, members)
	default:
		message := fmt.Sprintf("is %s where a table is expected; write [%s]", typeName(e.value), path)
		if _, ok := e.value.([]map[string]any); ok {
			message = fmt.Sprintf("is an array of tables; write [%s], once", path)
		}
		s.fail(e, path, message)
		for _, k := range keys {
			if strings.HasPrefix(k.path, path+".") {
				s.wrong[k.path] = true
			}
		}
	}
}

// set stores the value of a legal key.
func (s *Spec) set(k *key, e *entry) {
	switch field := k.field(s).(type) {
	case *string:
		if v, ok := e.value.(string); ok {
			*field, s.pos[k.path] = v, e.pos
			return
		}
	case *bool:
		if v, ok := e.value.(bool); ok {
			*field, s.pos[k.path] = v, e.pos
			return
		}
	case *int:
		v, ok := e.value.(int64)
		if rest := k.kind == share && e.value == "rest"; ok || rest {
			*field, s.pos[k.path] = int(v), e.pos
			if rest {
				delete(s.pos, k.path) // the same as leaving the key out
			}
			return
		}
	case *Extent:
		switch v := e.value.(type) {
		case int64:
			*field, s.pos[k.path] = Extent{Max: int(v)}, e.pos
			return
		case map[string]*entry:
			s.pos[k.path] = e.pos
			s.dynamic(k, field, e, v)
			return
		}
	}
	s.fail(e, k.path, fmt.Sprintf("is %s; write %s", typeName(e.value), k.kind.form()))
}

// dynamic stores { dynamic = true, max = number }.
func (s *Spec) dynamic(k *key, field *Extent, e *entry, members map[string]*entry) {
	names := []string{"dynamic", "max"}
	bad := false
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		if slices.Contains(names, name) {
			continue
		}
		bad = true
		if lower := strings.ToLower(name); slices.Contains(names, lower) {
			s.fail(m, k.path, "keys are case-sensitive; write "+k.path+"."+lower)
		} else {
			s.fail(m, k.path, "unknown key; "+nearestOf("legal key", name, names))
		}
	}
	on, hasOn := members["dynamic"]
	largest, hasMax := members["max"]
	if hasOn {
		if v, ok := on.value.(bool); !ok {
			s.fail(on, k.path, fmt.Sprintf("is %s; write true", typeName(on.value)))
		} else if !v {
			s.fail(on, k.path, fmt.Sprintf("false is what a number alone means; write %s = number", leaf(k.path)))
		}
	}
	if hasMax {
		if v, ok := largest.value.(int64); ok {
			*field, s.pos[k.path+".max"] = Extent{Dynamic: true, Max: int(v)}, largest.pos
		} else {
			s.fail(largest, k.path, fmt.Sprintf("is %s; write a whole number", typeName(largest.value)))
		}
	}
	if !bad && (!hasOn || !hasMax) {
		s.fail(e, k.path, "needs both dynamic and max; write { dynamic = true, max = number }")
	}
}

// unknown reports a key that nothing legal resembles but for a slip of the pen.
func (s *Spec) unknown(table, name string, e *entry) {
	what, prefix := "key", table+"."
	if table == "" {
		prefix = ""
	}
	if _, ok := e.value.(map[string]*entry); ok {
		what = "table"
	}
	for _, k := range keys { // in the wrong table
		if k.path != name && leaf(k.path) == name {
			s.fail(e, k.path, fmt.Sprintf("unknown %s here; nearest legal key is %s", what, k.path))
			return
		}
	}
	if lookup(name) != nil || slices.Contains(tables, name) { // behind a table header
		s.fail(e, name, fmt.Sprintf("unknown %s here; nearest legal key is %s, above the first table", what, name))
		return
	}
	near := Nearest(strings.ToLower(name), legal(table))
	s.fail(e, prefix+near, "unknown "+what+"; "+nearestOf("legal key", strings.ToLower(name), legal(table)))
	for _, k := range keys {
		if near != "" && strings.HasPrefix(k.path, prefix+near+".") {
			s.wrong[k.path] = true
		}
	}
}

// fail records a diagnostic at e that speaks of the legal key path.
func (s *Spec) fail(e *entry, path, message string) {
	s.diags = append(s.diags, Diag{s.File, e.pos.Line, e.pos.Col, e.name, message})
	s.wrong[path] = true
}

// nearestOf names the candidate closest to word, or all of them where none is close.
func nearestOf(what, word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return "nearest " + what + " is " + near
	}
	return what + "s are " + strings.Join(candidates, ", ")
}

func leaf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// typeName is the TOML type of a value, with its article.
func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case time.Time:
		return "a date or time"
	case map[string]*entry:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	}
	return "an array"
}
