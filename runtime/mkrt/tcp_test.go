package mkrt

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

var secret = []byte("a shared secret")

// freeAddr is a loopback address that nobody listens at.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func tcpWorld(world int, addr string) []Exchanger {
	ranks := make([]Exchanger, world)
	for r := range ranks {
		ranks[r] = TCP(r, world, addr, secret)
	}
	return ranks
}

// within bounds a test whose end is a time-out; how long it takes is not asserted.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestTCP(t *testing.T) {
	for _, world := range []int{1, 2, 5, 8} {
		ranks := tcpWorld(world, freeAddr(t))
		for n := range 3 {
			blobs, errs := gather(t.Context(), ranks, n)
			checkGathered(t, blobs, errs, n)
		}
	}
}

func TestTCPNamesWhoIsMissing(t *testing.T) {
	t.Parallel()
	ranks := tcpWorld(4, freeAddr(t))
	ranks[2] = nil
	_, errs := gather(within(t), ranks, 0)
	for _, r := range []int{0, 1, 3} {
		if !errors.Is(errs[r], context.DeadlineExceeded) || !strings.Contains(errs[r].Error(), "for rank 2") {
			t.Errorf("rank %d: %v", r, errs[r])
		}
	}
}

func TestTCPWithoutRank0(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	_, err := TCP(1, 2, addr, secret).AllGather(within(t), nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rank 0 at "+addr) {
		t.Error(err)
	}
}

func TestTCPWrongSecret(t *testing.T) {
	t.Parallel()
	ranks := tcpWorld(3, freeAddr(t))
	ranks[1].(*tcp).secret = []byte("another secret")
	_, errs := gather(within(t), ranks, 0)
	if !errors.Is(errs[1], ErrMismatch) || !strings.Contains(errs[1].Error(), "MKGEN_SECRET") {
		t.Errorf("rank 1: %v", errs[1])
	}
	for _, r := range []int{0, 2} {
		if errs[r] == nil || !strings.Contains(errs[r].Error(), "for rank 1") {
			t.Errorf("rank %d: %v", r, errs[r])
		}
	}
	if !strings.Contains(errs[0].Error(), "refused") {
		t.Errorf("rank 0 does not tell of the refused connection: %v", errs[0])
	}
}

// A peer that skips the check of rank 0's proof and goes on without the secret is not taken in.
func TestTCPForgedGreeting(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	rank0 := make(chan error, 1)
	go func() {
		_, err := TCP(0, 2, addr, secret).AllGather(within(t), []byte("zero"))
		rank0 <- err
	}()
	c := dial(t, addr)
	w, err := dialWire(c, secret) // learns nothing that a stranger would not see
	if err != nil {
		t.Fatal(err)
	}
	w.key = []byte("a guess")
	w.send(frameHello, []byte{0, 0, 0, 1, 0, 0, 0, 2, 'x'})
	if _, _, err := w.receive(MaxBlob); err == nil {
		t.Error("rank 0 answered a forged greeting")
	}
	if err := <-rank0; err == nil || !strings.Contains(err.Error(), "rank 1") {
		t.Error(err)
	}
}

// A message longer than the limit is refused by its head alone, and the exchange goes on without it.
func TestTCPOversized(t *testing.T) {
	addr := freeAddr(t)
	type result struct {
		blobs [][]byte
		err   error
	}
	rank0 := make(chan result, 1)
	go func() {
		blobs, err := TCP(0, 2, addr, secret).AllGather(t.Context(), []byte("zero"))
		rank0 <- result{blobs, err}
	}()
	c := dial(t, addr)
	if _, err := dialWire(c, secret); err != nil {
		t.Fatal(err)
	}
	c.Write(binary.BigEndian.AppendUint32([]byte{frameHello}, 1<<30))
	if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err) // rank 0 hangs up; the test would time out if it waited for the body
	}
	if _, err := TCP(1, 2, addr, secret).AllGather(t.Context(), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if r := <-rank0; r.err != nil || string(r.blobs[1]) != "one" {
		t.Fatal(r)
	}
}

func TestTCPStrangers(t *testing.T) {
	addr := freeAddr(t)
	rank0 := make(chan error, 1)
	go func() {
		_, err := TCP(0, 2, addr, secret).AllGather(t.Context(), nil)
		rank0 <- err
	}()
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nUser-Agent: y\r\n\r\n", "", magic} {
		c := dial(t, addr)
		io.WriteString(c, text)
		c.Close()
	}
	if _, err := TCP(1, 2, addr, secret).AllGather(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-rank0; err != nil {
		t.Fatal(err)
	}
}

func TestTCPWorldsDiffer(t *testing.T) {
	t.Parallel()
	ranks := tcpWorld(3, freeAddr(t))
	ranks[2].(*tcp).world = 4
	_, errs := gather(within(t), ranks, 0)
	for r, err := range errs {
		if r == 1 && err != nil && strings.Contains(err.Error(), "found no rank 0") {
			continue // it came after rank 0 had ended the exchange
		}
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "world of 4") || !strings.Contains(err.Error(), "world of 3") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestTCPRankTwice(t *testing.T) {
	addr := freeAddr(t)
	ranks := []Exchanger{TCP(0, 3, addr, secret), TCP(1, 3, addr, secret), TCP(1, 3, addr, secret)}
	_, errs := gather(t.Context(), ranks, 0)
	for r, err := range errs {
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "rank 1 is there twice") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestTCPShortSecret(t *testing.T) {
	if _, err := TCP(0, 2, "127.0.0.1:1", []byte("short")).AllGather(t.Context(), nil); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestListenAddr(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "localhost:80": "localhost:80", "[::1]:80": "[::1]:80", "gpu7:80": ":80", "10.0.0.1:80": ":80",
	} {
		if got := listenAddr(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
