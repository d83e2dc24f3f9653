package mkrt

import "fmt"

// launcher is what one launcher sets in the environment of the ranks that it starts.
type launcher struct {
	name               string
	rank, world, local string                                 // variables; local "": one rank a host
	onHost             func(get getenv) int                   // ranks on this rank's host; 0: not told
	meet               func(get getenv) (host, job string)    // rank 0's host, and what identifies the job; nil: not told
	start              func(world, nodes, perNode int) string // a command line for so many ranks
}

// launchers in the order in which they are looked for: those that run inside others first. mpirun in a Slurm job starts
// its daemons by srun, so that several ranks of Open MPI see the SLURM_PROCID of one daemon.
var launchers = []*launcher{
	{
		name: "torchrun", rank: "RANK", world: "WORLD_SIZE", local: "LOCAL_RANK",
		onHost: func(get getenv) int { return get.count("LOCAL_WORLD_SIZE") },
		start:  torchrun,
	},
	{
		name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", world: "OMPI_COMM_WORLD_SIZE", local: "OMPI_COMM_WORLD_LOCAL_RANK",
		onHost: func(get getenv) int { return get.count("OMPI_COMM_WORLD_LOCAL_SIZE") },
		meet:   openMPI,
		start: func(world, nodes, perNode int) string {
			return fmt.Sprintf("mpirun -n %d --map-by ppr:%d:node", world, perNode)
		},
	},
	{
		// SLURM_NTASKS is set in batch scripts too, which are no rank; this variable only by srun.
		name: "Slurm", rank: "SLURM_PROCID", world: "SLURM_STEP_NUM_TASKS", local: "SLURM_LOCALID",
		onHost: slurmTasks,
		meet:   slurm,
		start: func(world, nodes, perNode int) string {
			return fmt.Sprintf("srun --nodes=%d --ntasks-per-node=%d --distribution=block", nodes, perNode)
		},
	},
	{
		name: "LeaderWorkerSet", rank: "LWS_WORKER_INDEX", world: "LWS_GROUP_SIZE",
		onHost: func(getenv) int { return 1 },
		meet:   func(get getenv) (host, job string) { return get("LWS_LEADER_ADDRESS"), get("LWS_LEADER_ADDRESS") },
		start:  torchrun,
	},
	{
		name: "indexed Job", rank: "JOB_COMPLETION_INDEX", world: "WORLD_SIZE",
		onHost: func(getenv) int { return 1 },
		start:  torchrun,
	},
}

func torchrun(world, nodes, perNode int) string {
	return fmt.Sprintf("torchrun --no-python --nnodes=%d --nproc-per-node=%d", nodes, perNode)
}

// openMPI: what mpirun sets names its own host (in an MPIJob a pod without ranks), not that of rank 0.
func openMPI(get getenv) (host, job string) {
	if get("OMPI_COMM_WORLD_LOCAL_SIZE") == get("OMPI_COMM_WORLD_SIZE") {
		return "127.0.0.1", get("PMIX_NAMESPACE")
	}
	return firstNode(get("SLURM_JOB_NODELIST")), get("PMIX_NAMESPACE")
}

// count reads a number that is not needed: 0 if it is not there.
func (get getenv) count(name string) int {
	n, err := get.integer(name, 1, MaxWorld)
	if err != nil {
		return 0
	}
	return n
}

// setPlace finds rank, world and place; the launcher is nil for a process alone.
func (cfg *Config) setPlace(get getenv) (*launcher, error) {
	for _, l := range launchers {
		if get(l.rank) == "" || get(l.world) == "" {
			continue
		}
		var err error
		if cfg.World, err = get.integer(l.world, 1, MaxWorld); err != nil {
			return nil, err
		}
		if cfg.Rank, err = get.integer(l.rank, 0, cfg.World-1); err != nil {
			return nil, err
		}
		cfg.place = place{launcher: l, onHost: l.onHost(get)}
		if l.local != "" && get(l.local) == "" {
			cfg.place.localUnknown = true
		} else if l.local != "" {
			cfg.place.local, err = get.integer(l.local, 0, 1<<16)
		}
		return l, err
	}
	if get("RANK") != "" || get("WORLD_SIZE") != "" {
		return nil, errorf(Invalid, "RANK is set to %q and WORLD_SIZE to %q: set both or neither", get("RANK"), get("WORLD_SIZE"))
	}
	return nil, nil
}
