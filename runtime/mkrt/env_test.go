package mkrt

import (
	"errors"
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
		{"slurm", "SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_LOCALID=3 SLURM_JOB_ID=41234 SLURM_STEP_NODELIST=gpu[07-09,12]" + secret, 3, 8, 3, "gpu07:21234"},
		{"slurm, master", "SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_LOCALID=3 SLURM_JOB_ID=41234 MASTER_ADDR=h MASTER_PORT=9" + secret, 3, 8, 3, "h:9"},
		{"slurm, torchrun", "SLURM_PROCID=0 SLURM_NTASKS=1 RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=9" + secret, 1, 2, 1, "h:9"},
		{"open mpi", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 MASTER_PORT=9" + secret, 1, 2, 1, "127.0.0.1:9"},
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
}

func TestFromEnvErrors(t *testing.T) {
	const place = " MASTER_ADDR=h MASTER_PORT=1"
	for env1, wants := range map[string][]string{
		"RANK=1":                                         {"RANK", "WORLD_SIZE"},
		"RANK=4 WORLD_SIZE=4" + place:                    {"RANK", "0 to 3"},
		"RANK=x WORLD_SIZE=4" + place:                    {"RANK", `"x"`},
		"RANK=0 WORLD_SIZE=9" + place:                    {"WORLD_SIZE", "1 to 8"},
		"RANK=0 WORLD_SIZE=2 MKGEN_SECRET=0123456789":    {"MASTER_ADDR", "MASTER_PORT"},
		"RANK=0 WORLD_SIZE=2" + place:                    {"MKGEN_SECRET", "8 bytes"},
		"RANK=0 WORLD_SIZE=2 MKGEN_SECRET=short" + place: {"MKGEN_SECRET", "5 bytes"},
		"MKGEN_DEVICE=gpu":                               {"MKGEN_DEVICE", "gpu"},
		"MKGEN_TIMEOUT=3":                                {"MKGEN_TIMEOUT", "30s"},
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
	} {
		if got := firstNode("", list); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}
