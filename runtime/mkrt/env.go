package mkrt

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// FromEnv reads this rank's place from the environment of the launcher that started it; the first that is complete wins:
//
//	RANK, WORLD_SIZE, LOCAL_RANK                               torchrun, Kubernetes' PyTorchJob, or set by hand
//	SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID                  srun
//	OMPI_COMM_WORLD_RANK, .._SIZE, .._LOCAL_RANK               Open MPI's mpirun
//
// and without any of them the world is this process alone. A local rank that is not given equals the rank.
//
// More than one rank meet over TCP at MASTER_ADDR and MASTER_PORT. torchrun's own store listens at MASTER_PORT, so that
// ranks it started use the port after it; MKGEN_PORT overrides both. Under Slurm the defaults are the first node of the
// step and a port derived from the job's number, under Open MPI with all ranks on one host 127.0.0.1. MKGEN_SECRET must
// then hold the same secret, of at least 8 bytes, on all ranks.
//
// MKGEN_DEVICE=host runs on the CPU; otherwise the device is the GPU with the number of the local rank.
// MKGEN_TIMEOUT (a Go duration, such as 30s) is the deadline of waits on a peer.
func FromEnv() (Config, error) { return fromEnv(os.Getenv) }

// launcher names the variables that one launcher sets.
type launcher struct{ name, rank, world, local string }

var launchers = []launcher{
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
}

type getenv func(string) string

func fromEnv(get getenv) (Config, error) {
	cfg := Config{World: 1}
	local := 0
	var from launcher
	for _, l := range launchers {
		if (get(l.rank) == "") != (get(l.world) == "") && l == launchers[0] {
			return cfg, errorf(Invalid, "%s is set to %q and %s to %q: set both or neither", l.rank, get(l.rank), l.world, get(l.world))
		}
		if get(l.rank) == "" || get(l.world) == "" {
			continue
		}
		var err error
		if cfg.World, err = get.integer(l.world, 1, MaxWorld, ""); err != nil {
			return cfg, err
		}
		if cfg.Rank, err = get.integer(l.rank, 0, cfg.World-1, ""); err != nil {
			return cfg, err
		}
		if local, err = get.integer(l.local, 0, 1<<16, get(l.rank)); err != nil {
			return cfg, err
		}
		from = l
		break
	}
	switch kind := get("MKGEN_DEVICE"); kind {
	case "host":
		cfg.Kind = Host
	case "cuda", "":
		cfg.Kind, cfg.Device = CUDA, local
	default:
		return cfg, errorf(Invalid, "MKGEN_DEVICE is %q; it may be host or cuda", kind)
	}
	if text := get("MKGEN_TIMEOUT"); text != "" {
		timeout, err := time.ParseDuration(text)
		if err != nil || timeout <= 0 {
			return cfg, errorf(Invalid, "MKGEN_TIMEOUT is %q; it must be a positive duration such as 30s", text)
		}
		cfg.Timeout = timeout
	}
	if cfg.World == 1 {
		return cfg, nil
	}
	addr, err := get.address(from)
	if err != nil {
		return cfg, err
	}
	secret := get("MKGEN_SECRET")
	if len(secret) < 8 {
		return cfg, errorf(Invalid, "MKGEN_SECRET has %d bytes: ranks meet at %s and need the same secret, of at least 8 bytes, in that variable", len(secret), addr)
	}
	cfg.Exchange = TCP(cfg.Rank, cfg.World, addr, []byte(secret))
	return cfg, nil
}

// integer reads a variable; where it is not set, fallback stands for it.
func (get getenv) integer(name string, low, high int, fallback string) (int, error) {
	text := get(name)
	if text == "" {
		text = fallback
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high {
		return 0, errorf(Invalid, "%s is %q; it must be a whole number from %d to %d", name, text, low, high)
	}
	return v, nil
}

// address is where the ranks meet.
func (get getenv) address(from launcher) (string, error) {
	host, port := get("MASTER_ADDR"), ""
	if get("MASTER_PORT") != "" {
		n, err := get.integer("MASTER_PORT", 1, 65534, "")
		if err != nil {
			return "", err
		}
		if get("TORCHELASTIC_RUN_ID") != "" {
			n++
		}
		port = strconv.Itoa(n)
	}
	switch from.name {
	case "Slurm":
		if host == "" {
			host = firstNode(get("SLURM_STEP_NODELIST"), get("SLURM_JOB_NODELIST"))
		}
		if job, err := strconv.Atoi(get("SLURM_JOB_ID")); port == "" && err == nil {
			port = strconv.Itoa(20000 + job%10000) // below the range that Linux hands out to clients
		}
	case "Open MPI":
		if host == "" && get("OMPI_COMM_WORLD_LOCAL_SIZE") == get("OMPI_COMM_WORLD_SIZE") {
			host = "127.0.0.1"
		}
	}
	if get("MKGEN_PORT") != "" {
		n, err := get.integer("MKGEN_PORT", 1, 65535, "")
		if err != nil {
			return "", err
		}
		port = strconv.Itoa(n)
	}
	if host == "" || port == "" {
		return "", errorf(Invalid, "%s ranks must know where to meet: set MASTER_ADDR and MASTER_PORT to the host of rank 0 and a free port there (now %q and %q)", fmt.Sprint(get(from.world)), host, port)
	}
	return net.JoinHostPort(host, port), nil
}
