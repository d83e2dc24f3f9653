package mkrt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// layout is the environment of each rank when hosts[h] lists the ranks on host h, as one launcher describes it.
func layout(launcher string, world int, hosts ...[]int) []string {
	counts := make([]string, len(hosts))
	for h := range hosts {
		counts[h] = fmt.Sprint(len(hosts[h]))
	}
	envs := make([]string, world)
	for h, ranks := range hosts {
		for local, rank := range ranks {
			switch launcher {
			case "torchrun":
				envs[rank] = fmt.Sprintf("RANK=%d WORLD_SIZE=%d LOCAL_RANK=%d LOCAL_WORLD_SIZE=%d GROUP_RANK=%d", rank, world, local, len(ranks), h)
			case "Open MPI":
				envs[rank] = fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=%d OMPI_COMM_WORLD_LOCAL_RANK=%d OMPI_COMM_WORLD_LOCAL_SIZE=%d", rank, world, local, len(ranks))
			case "Slurm":
				envs[rank] = fmt.Sprintf("SLURM_PROCID=%d SLURM_STEP_NUM_TASKS=%d SLURM_LOCALID=%d SLURM_NODEID=%d SLURM_STEP_TASKS_PER_NODE=%s", rank, world, local, h, strings.Join(counts, ","))
			case "LeaderWorkerSet":
				envs[rank] = fmt.Sprintf("LWS_WORKER_INDEX=%d LWS_GROUP_SIZE=%d", rank, world)
			}
			envs[rank] += " MASTER_ADDR=h MASTER_PORT=9 MKGEN_SECRET=0123456789"
		}
	}
	return envs
}

// settleAll returns what each rank says, and its device.
func settleAll(t *testing.T, envs []string, nodes int) (errs []error, devices []int) {
	t.Helper()
	for _, e := range envs {
		cfg, err := fromEnv(env(e))
		if err != nil {
			t.Fatal(err)
		}
		errs = append(errs, cfg.settle(Kernel{Name: "k", World: len(envs), Nodes: nodes}))
		devices = append(devices, cfg.Device)
	}
	return errs, devices
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name         string
		world, nodes int
		hosts        [][]int
		wrong        bool
	}{
		{"one host", 4, 1, [][]int{{0, 1, 2, 3}}, false},
		{"two nodes on two hosts", 4, 2, [][]int{{0, 1}, {2, 3}}, false},
		{"two nodes on one host", 4, 2, [][]int{{0, 1, 2, 3}}, false},
		{"hosts of two nodes and of one", 6, 3, [][]int{{0, 1, 2, 3}, {4, 5}}, false},
		{"hosts in another order", 4, 2, [][]int{{2, 3}, {0, 1}}, false},
		{"one GPU a node, anywhere", 4, 4, [][]int{{0, 2}, {1, 3}}, false},
		{"one node on two hosts", 4, 1, [][]int{{0, 1}, {2, 3}}, true},
		{"cyclic", 4, 2, [][]int{{0, 2}, {1, 3}}, true},
		{"filled unevenly", 4, 2, [][]int{{0, 1, 2}, {3}}, true},
		{"filled unevenly, cyclic", 4, 2, [][]int{{0, 2, 3}, {1}}, true},
		{"a node too few", 8, 2, [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, true},
		{"halves swapped", 8, 2, [][]int{{0, 1, 6, 7}, {2, 3, 4, 5}}, true},
	} {
		for _, l := range launchers[:3] {
			errs, _ := settleAll(t, layout(l.name, c.world, c.hosts...), c.nodes)
			err := errors.Join(errs...)
			if (err != nil) != c.wrong {
				t.Errorf("%s, %s: %v", c.name, l.name, err)
			}
			if err == nil {
				continue
			}
			start := l.start(c.world, c.nodes, c.world/c.nodes)
			if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), start) || !strings.Contains(err.Error(), l.name) {
				t.Errorf("%s, %s: %v does not say how to start: %s", c.name, l.name, err, start)
			}
		}
	}
	errs, _ := settleAll(t, layout("Slurm", 4, []int{0, 2}, []int{1, 3}), 2)
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "ranks 0 and 1 must be on one host") ||
		!strings.Contains(errs[1].Error(), "rank 1 is number 0 of 2") {
		t.Error(errs)
	}
}

func TestLayoutOfPods(t *testing.T) {
	envs := layout("LeaderWorkerSet", 4, []int{0, 1, 2, 3})
	errs, devices := settleAll(t, envs, 4)
	if err := errors.Join(errs...); err != nil || fmt.Sprint(devices) != "[0 0 0 0]" {
		t.Error(err, devices)
	}
	errs, _ = settleAll(t, envs, 2)
	for _, err := range errs {
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "torchrun --no-python --nnodes=2 --nproc-per-node=2") {
			t.Error(err)
		}
	}
}

// Ranks that know their rank alone, as those of a PyTorchJob do, use the GPU with their number on their node.
func TestDeviceWithoutLocalRank(t *testing.T) {
	for nodes, want := range map[int]string{1: "[0 1 2 3]", 2: "[0 1 0 1]", 4: "[0 0 0 0]"} {
		var envs []string
		for rank := range 4 {
			envs = append(envs, fmt.Sprintf("RANK=%d WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=9 MKGEN_SECRET=0123456789", rank))
		}
		errs, devices := settleAll(t, envs, nodes)
		if err := errors.Join(errs...); err != nil || fmt.Sprint(devices) != want {
			t.Errorf("%d nodes: %v, %v", nodes, devices, err)
		}
	}
	// LOCAL_RANK set by hand is a device, and says nothing of hosts.
	errs, devices := settleAll(t, []string{
		"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=h MASTER_PORT=9 MKGEN_SECRET=0123456789",
		"RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=h MASTER_PORT=9 MKGEN_SECRET=0123456789",
	}, 1)
	if err := errors.Join(errs...); err != nil || fmt.Sprint(devices) != "[0 0]" {
		t.Error(devices, err)
	}
}
