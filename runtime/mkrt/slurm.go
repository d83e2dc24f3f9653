package mkrt

import "strings"

// firstNode is the first host of the first list that is not empty. Lists look like "gpu[07-09,12],login1"; Slurm puts
// rank 0 on the first host.
func firstNode(lists ...string) string {
	for _, list := range lists {
		if list == "" {
			continue
		}
		end := strings.IndexAny(list, ",[")
		if end < 0 {
			return list
		}
		if list[end] == ',' {
			return list[:end]
		}
		prefix, rest := list[:end], list[end+1:]
		number := rest[:strings.IndexAny(rest+"]", "],-")]
		suffix := ""
		if _, after, found := strings.Cut(rest, "]"); found {
			suffix = after[:strings.IndexAny(after+",", ",[")]
		}
		return prefix + number + suffix
	}
	return ""
}
