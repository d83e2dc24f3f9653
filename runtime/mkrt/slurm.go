package mkrt

import (
	"strconv"
	"strings"
)

// slurm: rank 0 is on the first node of its step. (SLURM_LAUNCH_NODE_IPADDR is where srun itself runs.) Steps of one job
// may run at the same time.
func slurm(get getenv) (host, job string) {
	if job = get("SLURM_JOB_ID"); job != "" {
		job += "." + get("SLURM_STEP_ID")
	}
	if list := get("SLURM_STEP_NODELIST"); list != "" {
		return firstNode(list), job
	}
	return firstNode(get("SLURM_JOB_NODELIST")), job
}

// slurmTasks is the number of tasks on this rank's node, from a list of counts by node such as "4(x2),3"; 0 if it is not
// told.
func slurmTasks(get getenv) int {
	node, err := strconv.Atoi(get("SLURM_NODEID"))
	if err != nil || node < 0 {
		return 0
	}
	for _, group := range strings.Split(get("SLURM_STEP_TASKS_PER_NODE"), ",") {
		tasks, times, repeated := strings.Cut(strings.TrimSuffix(group, ")"), "(x")
		n, err := strconv.Atoi(tasks)
		nodes := 1
		if err == nil && repeated {
			nodes, err = strconv.Atoi(times)
		}
		if err != nil {
			return 0
		}
		if node < nodes {
			return n
		}
		node -= nodes
	}
	return 0
}

// firstNode is the first host of a list such as "gpu[07-09,12],login1" or "rack[0-1]n[1-8]".
func firstNode(list string) string {
	var name strings.Builder
	for rest := list; rest != ""; {
		end := strings.IndexAny(rest, ",[")
		if end < 0 {
			end = len(rest)
		}
		name.WriteString(rest[:end])
		if end == len(rest) || rest[end] == ',' {
			break
		}
		number, after, _ := strings.Cut(rest[end+1:], "]")
		name.WriteString(number[:strings.IndexAny(number+"-", ",-")])
		rest = after
	}
	return name.String()
}
