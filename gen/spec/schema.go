package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Schema is the JSON schema (2020-12) of a spec, for editors, made from the table of keys. Rules that need more than one
// key are not in it.
func Schema() []byte {
	top := object("A kernel for mkgen.")
	top.Schema = "https://json-schema.org/draft/2020-12/schema"
	for i := range keys {
		k := &keys[i]
		parent, name := top, k.path
		if table, member, ok := strings.Cut(k.path, "."); ok {
			name, parent = member, top.Properties[table]
			if parent == nil {
				parent = object("")
				top.Properties[table] = parent
			}
			if k.required && !slices.Contains(top.Required, table) {
				top.Required = append(top.Required, table)
			}
		}
		parent.Properties[name] = k.schema()
		if k.required {
			parent.Required = append(parent.Required, name)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(top); err != nil {
		panic(err) // plain strings and numbers
	}
	return b.Bytes()
}

// node is the part of the JSON schema language used here.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	Description string           `json:"description,omitempty"`
	Type        string           `json:"type,omitempty"`
	Const       any              `json:"const,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Pattern     string           `json:"pattern,omitempty"`
	MaxLength   int              `json:"maxLength,omitempty"`
	Minimum     *int             `json:"minimum,omitempty"`
	Maximum     *int             `json:"maximum,omitempty"`
	MultipleOf  int              `json:"multipleOf,omitempty"`
	Default     any              `json:"default,omitempty"`
	OneOf       []*node          `json:"oneOf,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"` // printed in alphabetical order
	Required    []string         `json:"required,omitempty"`
	Additional  *bool            `json:"additionalProperties,omitempty"`
}

func object(description string) *node {
	return &node{Description: description, Type: "object", Properties: map[string]*node{}, Additional: new(bool)}
}

func (k *key) schema() *node {
	if k.kind == text {
		n := &node{Description: k.doc, Type: "string", Enum: k.choices, Default: k.fallback}
		if k.path == "name" {
			n.Pattern, n.MaxLength = nameForm.String(), nameLength
		}
		return n
	}
	if k.kind == truth {
		return &node{Description: k.doc, Type: "boolean", Default: false}
	}
	count := &node{Type: "integer", Minimum: &k.min, Maximum: &k.max, Default: k.fallback}
	if k.step > 1 {
		count.MultipleOf = k.step
	}
	switch k.kind {
	case extent:
		dynamic := object("")
		dynamic.Properties["dynamic"] = &node{Type: "boolean", Const: true}
		dynamic.Properties["max"] = count
		dynamic.Required = []string{"dynamic", "max"}
		return &node{Description: k.doc, OneOf: []*node{count, dynamic}}
	case share:
		return &node{Description: k.doc, OneOf: []*node{count, {Const: "rest"}}, Default: "rest"}
	}
	count.Description = k.doc
	return count
}
