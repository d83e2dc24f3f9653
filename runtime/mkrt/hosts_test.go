package mkrt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	hostAddr  = "10.78.0.1:4711"
	otherAddr = "10.77.0.1:4711"
)

// The largest world on two hosts, which are network namespaces with two links between them: everything keeps to the one
// that MKGEN_INTERFACE names.
func TestTCPHosts(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		t.Skip("making network namespaces takes root and ip (iproute2)")
	}
	a, b := fmt.Sprintf("mkrt-a-%d", os.Getpid()), fmt.Sprintf("mkrt-b-%d", os.Getpid())
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	for _, host := range []string{a, b} {
		ip("netns add " + host)
		t.Cleanup(func() { ip("netns del " + host) })
		ip("-n " + host + " link set lo up")
	}
	for link, subnet := range map[string]string{"data0": "10.78.0", "net0": "10.77.0"} {
		ip(fmt.Sprintf("link add %s netns %s type veth peer name %s netns %s", link, a, link, b))
		for i, host := range []string{a, b} {
			ip(fmt.Sprintf("-n %s addr add %s.%d/24 dev %s", host, subnet, i+1, link))
			ip(fmt.Sprintf("-n %s link set %s up", host, link))
		}
	}
	// What is not bound to data0 comes from the address of net0.
	ip("-n " + b + " route add 10.78.0.1/32 dev data0 src 10.77.0.2")

	var wait sync.WaitGroup
	for i, host := range []string{a, b} {
		wait.Go(func() {
			c := exec.CommandContext(t.Context(), "ip", "netns", "exec", host, os.Args[0], "-test.run=^TestHost$", "-test.v")
			c.Env = append(os.Environ(), "MKGEN_INTERFACE=data0", fmt.Sprint("MKRT_TEST_HOST=", i))
			if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestHost") {
				t.Errorf("host %d: %v\n%s", i, err, out)
			}
		})
	}
	wait.Wait()
}

// One of the two hosts.
func TestHost(t *testing.T) {
	var first int
	switch os.Getenv("MKRT_TEST_HOST") {
	case "0":
	case "1":
		first = MaxWorld / 2
	default:
		t.Skip("a part of TestTCPHosts")
	}
	ranks := make([]Exchanger, MaxWorld)
	late := make(chan struct{}) // closed when the last rank may come: until then rank 0 listens
	for r := first; r < first+MaxWorld/2; r++ {
		ranks[r] = TCP(r, MaxWorld, hostAddr, secret)
	}
	if first == 0 {
		close(late)
	} else {
		go func() {
			defer close(late)
			probe(t)
		}()
		ranks[MaxWorld-1] = after{late, ranks[MaxWorld-1]}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	blobs, errs := gather(ctx, ranks, 0)
	for r := first; r < first+MaxWorld/2; r++ {
		if errs[r] != nil || len(blobs[r]) != MaxWorld {
			t.Fatalf("rank %d: %d blobs, %v", r, len(blobs[r]), errs[r])
		}
		for peer, blob := range blobs[r] {
			if want := fmt.Sprintf("rank %d round 0", peer); string(blob) != want {
				t.Errorf("rank %d got %q, want %q", r, blob, want)
			}
		}
	}
	<-late
}

// after is an exchanger that waits first.
type after struct {
	what <-chan struct{}
	Exchanger
}

func (a after) AllGather(ctx context.Context, blob []byte) ([][]byte, error) {
	<-a.what
	return a.Exchanger.AllGather(ctx, blob)
}

// probe looks at rank 0 while it listens.
func probe(t *testing.T) {
	x := TCP(1, MaxWorld, hostAddr, secret).(*tcp)
	from, err := dialAddrs(x.addr, x.iface)
	if err != nil {
		t.Error(err)
		return
	}
	for t.Context().Err() == nil {
		c, err := x.dial(t.Context(), from)
		if err != nil {
			continue // not there yet
		}
		defer c.Close()
		if host, _, _ := net.SplitHostPort(c.LocalAddr().String()); host != "10.78.0.2" {
			t.Errorf("connected from %s", host)
		}
		if c, err := net.Dial("tcp", otherAddr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("rank 0 listens at %s too: %v, %v", otherAddr, c, err)
		}
		return
	}
}
