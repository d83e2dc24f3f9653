package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Checked returns a copy of s in which every default is filled in and every key that breaks a rule is as if left out,
// and all that was wrong, in file order. What Load returns is checked; the copy of a checked spec says the same again.
// In a spec made by hand, a zero is a key left out.
func (s *Spec) Checked() (*Spec, []Diag) {
	c := *s
	c.pos, c.wrong, c.diags = maps.Clone(s.pos), maps.Clone(s.wrong), slices.Clone(s.diags)
	if c.wrong == nil {
		c.wrong = map[string]bool{}
	}
	for i := range keys {
		k := &keys[i]
		message := c.check(k)
		if message == "" {
			continue
		}
		at := k.path
		if s.Has(at + ".max") {
			at += ".max"
		}
		c.diags = append(c.diags, s.Diag(at, message))
		c.wrong[k.path] = true
		delete(c.pos, k.path)
	}
	Sort(c.diags)
	return &c, slices.Clone(c.diags)
}

// check fills in the default of a key or says what is wrong with its value, which it then clears.
func (s *Spec) check(k *key) string {
	wrong := s.wrong[k.path] && !s.Has(k.path)
	switch field := k.field(s).(type) {
	case *string:
		if *field == "" && !s.Has(k.path) {
			if fallback, ok := k.fallback.(string); ok {
				*field = fallback
			}
			return k.missing(wrong)
		}
		message := k.checkString(*field)
		if message != "" {
			*field, _ = k.fallback.(string)
		}
		return message
	case *int:
		if *field == 0 && !s.Has(k.path) {
			if fallback, ok := k.fallback.(int); ok {
				*field = fallback
			}
			return k.missing(wrong)
		}
		message := k.checkNumber(*field)
		if message != "" {
			*field, _ = k.fallback.(int)
		}
		return message
	case *bool:
		return ""
	case *Extent:
		if *field == (Extent{}) && !s.Has(k.path) {
			return k.missing(wrong)
		}
		message := k.checkNumber(field.Max)
		if message != "" {
			*field = Extent{}
		}
		return message
	}
	panic("unreachable")
}

func (k *key) missing(excused bool) string {
	if !k.required || excused {
		return ""
	}
	return "missing; write " + leaf(k.path) + " = " + k.kind.form()
}

func (k *key) checkString(v string) string {
	switch {
	case k.path == "name":
		return checkName(v)
	case len(k.choices) == 0 || slices.Contains(k.choices, v):
		return ""
	case slices.Contains(k.planned, v):
		return fmt.Sprintf("%q is not generated yet; legal values are %s", v, strings.Join(k.choices, ", "))
	}
	return fmt.Sprintf("unknown value %q; %s", v, nearestOf("legal value", v, slices.Concat(k.choices, k.planned)))
}

func (k *key) checkNumber(v int) string {
	near := min(max(v, k.min), k.max)
	near -= (near - k.min) % k.step
	if over := v - near; over > k.step/2 && near+k.step <= k.max {
		near += k.step
	}
	switch {
	case v < k.min || v > k.max:
		return fmt.Sprintf("%d is out of range; nearest legal value is %d", v, near)
	case v != near:
		return fmt.Sprintf("%d is not a multiple of %d; nearest legal value is %d", v, k.step, near)
	}
	return ""
}
