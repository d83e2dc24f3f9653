package gpu

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/mkgen/mkgen/runtime/mkrt"
)

// place is where worlds run.
type place struct {
	Kind    mkrt.DeviceKind
	GPUs    int
	Timeout time.Duration
}

// device spreads ranks evenly, neighbours together.
func (p place) device(rank, world int) int {
	if p.GPUs == 0 {
		return 0
	}
	return rank * min(p.GPUs, world) / world
}

func (p place) config(rank, world int) mkrt.Config {
	return mkrt.Config{Rank: rank, World: world, Kind: p.Kind, Device: p.device(rank, world), Timeout: p.Timeout}
}

// threads runs a task with the ranks as goroutines of this process. The result is each rank's outcomes.
func (p place) threads(t Task, world int) [][]Outcome {
	outcomes := make([][]Outcome, world)
	var wait sync.WaitGroup
	for rank, exchange := range mkrt.Threads(world) {
		cfg := p.config(rank, world)
		cfg.Exchange = exchange
		wait.Go(func() { outcomes[rank] = t.run(cfg) })
	}
	wait.Wait()
	return outcomes
}

// childTask is the variable that makes a process a rank of a task instead of the whole program.
const childTask = "MKGEN_TEST_TASK"

// processes runs a task with each rank as a process, started like those of a launcher that sets RANK and MASTER_ADDR.
func (p place) processes(t Task, world int) [][]Outcome {
	outcomes := make([][]Outcome, world)
	port, err := freePort()
	task, _ := json.Marshal(t)
	secret := rand.Text()
	var wait sync.WaitGroup
	for rank := range world {
		wait.Go(func() {
			var stdout, stderr bytes.Buffer
			if err == nil {
				child := exec.Command("/proc/self/exe")
				child.Env = append(os.Environ(),
					fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", world), fmt.Sprintf("LOCAL_RANK=%d", p.device(rank, world)),
					"MASTER_ADDR=127.0.0.1", fmt.Sprintf("MASTER_PORT=%d", port), "MKGEN_SECRET="+secret,
					"MKGEN_DEVICE="+p.Kind.String(), "MKGEN_TIMEOUT="+p.Timeout.String(), childTask+"="+string(task))
				child.Stdout, child.Stderr = &stdout, &stderr
				if err := child.Run(); err == nil && json.Unmarshal(stdout.Bytes(), &outcomes[rank]) == nil && len(outcomes[rank]) == len(t.Ms) {
					return
				} else if err != nil {
					fmt.Fprintln(&stderr, err)
				}
			} else {
				fmt.Fprintln(&stderr, err)
			}
			outcomes[rank] = nil
			for _, m := range t.Ms {
				outcomes[rank] = append(outcomes[rank], Outcome{M: m, Error: "the process failed: " + stderr.String()})
			}
		})
	}
	wait.Wait()
	return outcomes
}

// child is the whole program of a process that is one rank.
func child(task string) error {
	var t Task
	if err := json.Unmarshal([]byte(task), &t); err != nil {
		return err
	}
	cfg, err := mkrt.FromEnv()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t.run(cfg))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
