// Package templates holds the text of what gen/cuda renders: for each kernel <kernel>.cu.tmpl and <kernel>.h.tmpl, and
// partials: parts.tmpl for several kernels, <kernel>_<part>.tmpl for the roles of one. Delimiters are <% and %>, since {{ is C++. The data is
// gen/cuda.Data: all fields of plan.Plan, and RuntimeHash.
package templates

import "embed"

// FS holds the templates.
//
//go:embed *.tmpl
var FS embed.FS
