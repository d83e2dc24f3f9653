package mkrt

import (
	"hash/fnv"
	"net"
	"os"
	"strconv"
	"time"
)

// FromEnv reads this rank's place from the environment of the launcher that started it; the first that is complete wins:
//
//	RANK, WORLD_SIZE, LOCAL_RANK                               torchrun, Kubeflow's PyTorchJob, or set by hand
//	OMPI_COMM_WORLD_RANK, .._SIZE, .._LOCAL_RANK               Open MPI's mpirun, also Kubeflow's MPIJob
//	SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID          srun
//	LWS_WORKER_INDEX, LWS_GROUP_SIZE                           Kubernetes' LeaderWorkerSet, one rank a pod
//	JOB_COMPLETION_INDEX, WORLD_SIZE                           Kubernetes' indexed Job or JobSet, one rank a pod
//
// and without any of them the world is this process alone. Pods of several ranks start them with torchrun.
//
// More than one rank meet over TCP at MASTER_ADDR and MASTER_PORT, or, where they are not set: under Slurm at the first
// node of the step, in a LeaderWorkerSet at its leader, under Open MPI at 127.0.0.1 if all ranks are on one host, else at
// the first node of the Slurm job around it (mpirun itself does not tell where rank 0 is: mpirun -x MASTER_ADDR); at a
// port derived from what identifies the job. torchrun's own store listens at MASTER_PORT, so that ranks it started use the
// port after it; MKGEN_PORT overrides all. MKGEN_SECRET must then hold the same secret, of at least 8 bytes, on all ranks:
// random ones, such as of openssl rand -hex 16, cannot be guessed from a conversation overheard. MKGEN_INTERFACE is the
// network interface to use; see TCP.
//
// Join compares how many ranks the launcher put on each host, and which, with the nodes of its kernels.
//
// MKGEN_DEVICE=host runs on the CPU; otherwise the device is the GPU with the number of the local rank. Where that is not
// told, Join takes the rank's number among the ranks of its node. MKGEN_TIMEOUT (a Go duration, such as 30s) is the
// deadline of waits on a peer.
func FromEnv() (Config, error) { return fromEnv(os.Getenv) }

type getenv func(string) string

func fromEnv(get getenv) (Config, error) {
	cfg := Config{World: 1}
	from, err := cfg.setPlace(get)
	if err != nil {
		return cfg, err
	}
	switch kind := get("MKGEN_DEVICE"); kind {
	case "host":
		cfg.Kind = Host
	case "cuda", "":
		cfg.Kind, cfg.Device = CUDA, cfg.place.device(cfg.Rank)
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
	cfg.Exchange = &tcp{cfg.Rank, cfg.World, addr, []byte(secret), get(interfaceVariable)}
	return cfg, nil
}

func (get getenv) integer(name string, low, high int) (int, error) {
	text := get(name)
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high {
		return 0, errorf(Invalid, "%s is %q; it must be a whole number from %d to %d", name, text, low, high)
	}
	return v, nil
}

// address is where the ranks meet.
func (get getenv) address(from *launcher) (string, error) {
	host, port := get("MASTER_ADDR"), ""
	if get("MASTER_PORT") != "" {
		n, err := get.integer("MASTER_PORT", 1, 65534)
		if err != nil {
			return "", err
		}
		if get("TORCHELASTIC_RUN_ID") != "" {
			n++
		}
		port = strconv.Itoa(n)
	}
	if from.meet != nil {
		atHost, job := from.meet(get)
		if host == "" {
			host = atHost
		}
		if port == "" && job != "" {
			port = jobPort(job)
		}
	}
	if get("MKGEN_PORT") != "" {
		n, err := get.integer("MKGEN_PORT", 1, 65535)
		if err != nil {
			return "", err
		}
		port = strconv.Itoa(n)
	}
	if host == "" || port == "" {
		return "", errorf(Invalid, "%s ranks (%s) must know where to meet: set MASTER_ADDR and MASTER_PORT to the host of rank 0 and a free port there (now %q and %q)", get(from.world), from.world, host, port)
	}
	return net.JoinHostPort(host, port), nil
}

// jobPort is a port that the ranks of one job agree on and other jobs hardly use; below the range that Linux hands out to
// clients.
func jobPort(job string) string {
	h := fnv.New32a()
	h.Write([]byte(job))
	return strconv.Itoa(20000 + int(h.Sum32()%10000))
}
