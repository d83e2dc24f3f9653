package mkrt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func env(pairs string) getenv {
	values := map[string]string{}
	for _, p := range strings.Fields(pairs) {
		k, v, _ := strings.Cut(p, "=")
		values[k] = v
	}
	return func(k string) string { return values[k] }
}

// slurmStep is what srun sets in the second step of a job, on the second of its nodes.
const slurmStep = "SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_NODEID=1 SLURM_JOB_ID=3 SLURM_STEP_ID=1" +
	" SLURM_STEP_NODELIST=rack1n[1-2] SLURM_JOB_NODELIST=rack0n[1-2],rack1n[1-2] SLURM_STEP_TASKS_PER_NODE=4(x2) SLURM_LAUNCH_NODE_IPADDR=10.0.0.1"

func TestFromEnv(t *testing.T) {
	const secret = " MKGEN_SECRET=0123456789"
	for _, c := range []struct {
		name, env           string
		rank, world, device int
		addr                string
	}{
		{"nothing", "", 0, 1, 0, ""},
		{"plain", "RANK=2 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=h MASTER_PORT=29500" + secret, 2, 4, 1, "h:29500"},
		{"no local rank", "RANK=2 WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=29500" + secret, 2, 4, 2, "h:29500"},
		{"torchrun", "RANK=2 WORLD_SIZE=4 LOCAL_RANK=2 MASTER_ADDR=h MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none" + secret, 2, 4, 2, "h:29501"},
		{"port", "RANK=2 WORLD_SIZE=4 LOCAL_RANK=2 MASTER_ADDR=h MASTER_PORT=29500 MKGEN_PORT=7 TORCHELASTIC_RUN_ID=none" + secret, 2, 4, 2, "h:7"},
		{"torchrun, two nodes", "RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 GROUP_RANK=1 MASTER_ADDR=h MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none" + secret, 9, 16, 1, "h:29501"},
		{"slurm", slurmStep + secret, 5, 8, 1, "rack1n1:" + jobPort("3.1")},
		{"slurm, master", slurmStep + " MASTER_ADDR=h MASTER_PORT=9" + secret, 5, 8, 1, "h:9"},
		{"slurm, world size exported", slurmStep + " WORLD_SIZE=8 MASTER_ADDR=h MASTER_PORT=9" + secret, 5, 8, 1, "h:9"},
		{"slurm, torchrun", slurmStep + " RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=h MASTER_PORT=9" + secret, 1, 2, 0, "h:9"},
		{"slurm, batch script", "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_JOB_ID=3 SLURM_TASKS_PER_NODE=2(x4)", 0, 1, 0, ""},
		{"open mpi", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=1316421633" + secret, 1, 2, 1, "127.0.0.1:" + jobPort("1316421633")},
		{"open mpi, two nodes", "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=7 MASTER_ADDR=h" + secret, 3, 4, 1, "h:" + jobPort("7")},
		{"open mpi in a slurm job", slurmStep + " OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=7" + secret, 3, 4, 1, "rack0n1:" + jobPort("7")},
		{"leader worker set", "LWS_WORKER_INDEX=1 LWS_GROUP_SIZE=2 LWS_LEADER_ADDRESS=m-0.m.default" + secret, 1, 2, 0, "m-0.m.default:" + jobPort("m-0.m.default")},
		{"leader worker set, torchrun", "LWS_WORKER_INDEX=1 LWS_GROUP_SIZE=2 LWS_LEADER_ADDRESS=m-0.m RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=m-0.m MASTER_PORT=9 TORCHELASTIC_RUN_ID=none" + secret, 5, 8, 1, "m-0.m:10"},
		{"indexed job", "JOB_COMPLETION_INDEX=1 WORLD_SIZE=2 MASTER_ADDR=j-0.s MASTER_PORT=9" + secret, 1, 2, 0, "j-0.s:9"},
		{"pytorch job", "RANK=63 WORLD_SIZE=64 MASTER_ADDR=j-master-0 MASTER_PORT=23456 PET_NNODES=64 PET_NODE_RANK=63" + secret, 63, 64, 63, "j-master-0:23456"},
	} {
		cfg, err := fromEnv(env(c.env))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if cfg.Rank != c.rank || cfg.World != c.world || cfg.Device != c.device || cfg.Kind != CUDA {
			t.Errorf("%s: %+v", c.name, cfg)
		}
		if x, _ := cfg.Exchange.(*tcp); x != nil && x.addr != c.addr || (x == nil) != (c.addr == "") {
			t.Errorf("%s: exchange %+v, want one at %q", c.name, x, c.addr)
		}
	}
	cfg, err := fromEnv(env("MKGEN_DEVICE=host MKGEN_TIMEOUT=3s LOCAL_RANK=5"))
	if err != nil || cfg.Kind != Host || cfg.Timeout != 3*time.Second || cfg.Device != 0 {
		t.Errorf("%+v, %v", cfg, err)
	}
	cfg, err = fromEnv(env(slurmStep + secret + " MKGEN_INTERFACE=ib0"))
	if x, _ := cfg.Exchange.(*tcp); err != nil || x.iface != "ib0" {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestFromEnvErrors(t *testing.T) {
	const place = " MASTER_ADDR=h MASTER_PORT=1"
	for env1, wants := range map[string][]string{
		"RANK=1":                                   {"RANK", "WORLD_SIZE"},
		"RANK=4 WORLD_SIZE=4" + place:              {"RANK", "0 to 3"},
		"RANK=x WORLD_SIZE=4" + place:              {"RANK", `"x"`},
		"RANK=0 WORLD_SIZE=65" + place:             {"WORLD_SIZE", "1 to 64"},
		"WORLD_SIZE=4" + place:                     {"RANK", "WORLD_SIZE"},
		"RANK=0 WORLD_SIZE=2 LOCAL_RANK=x" + place: {"LOCAL_RANK", `"x"`},
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=7" +
			" OMPI_MCA_orte_hnp_uri=7.0;tcp://10.0.0.1:9": {"4 ranks", "MASTER_ADDR"},
		"JOB_COMPLETION_INDEX=0 WORLD_SIZE=2 MKGEN_SECRET=0123456789":                 {"MASTER_ADDR", "MASTER_PORT"},
		"RANK=0 WORLD_SIZE=2 MKGEN_SECRET=0123456789":                                 {"MASTER_ADDR", "MASTER_PORT"},
		"RANK=0 WORLD_SIZE=2" + place:                                                 {"MKGEN_SECRET", "8 bytes"},
		"RANK=0 WORLD_SIZE=2 MKGEN_SECRET=short" + place:                              {"MKGEN_SECRET", "5 bytes"},
		"MKGEN_DEVICE=gpu":                                                            {"MKGEN_DEVICE", "gpu"},
		"MKGEN_TIMEOUT=3":                                                             {"MKGEN_TIMEOUT", "30s"},
		"RANK=0 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=99999 MKGEN_SECRET=0123456789": {"MASTER_PORT", "99999"},
	} {
		_, err := fromEnv(env(env1))
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", env1, err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not name %s", env1, err, want)
			}
		}
	}
}

func TestFirstNode(t *testing.T) {
	for list, want := range map[string]string{
		"": "", "a": "a", "a,b": "a", "gpu[07-09,12],b": "gpu07", "gpu[3]": "gpu3", "n[1,2]-ib": "n1-ib", "n[1-2]-ib,m": "n1-ib",
		"rack[0-1]n[1-8],x": "rack0n1", "r[1]n[2]x[3,4]y,z": "r1n2x3y",
	} {
		if got := firstNode(list); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func TestSlurmTasks(t *testing.T) {
	for list, want := range map[string][]int{
		"4": {4, 0}, "2(x3)": {2, 2, 2, 0}, "3,1": {3, 1, 0}, "4(x2),3,1(x2)": {4, 4, 3, 1, 1, 0}, "": {0}, "x": {0}, "4(x": {0}, "4(xy)": {0},
	} {
		for node, n := range want {
			if got := slurmTasks(env(fmt.Sprintf("SLURM_NODEID=%d SLURM_STEP_TASKS_PER_NODE=%s", node, list))); got != n {
				t.Errorf("%s: %d tasks on node %d, want %d", list, got, node, n)
			}
		}
	}
	if got := slurmTasks(env("SLURM_STEP_TASKS_PER_NODE=4(x2)")); got != 0 {
		t.Errorf("%d tasks on an unknown node", got)
	}
}

func TestJobPort(t *testing.T) {
	ports := map[string]string{}
	for _, job := range []string{"3.0", "3.1", "4.0", "4.1"} {
		port := jobPort(job)
		if port < "20000" || port > "29999" || ports[port] != "" {
			t.Errorf("port %s of job %s, taken by %q", port, job, ports[port])
		}
		ports[port] = job
	}
}
