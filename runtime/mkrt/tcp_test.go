package mkrt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

var secret = []byte("a shared secret")

// freeAddr is an address that nobody listens at: the kernel chooses the port, and the loopback address is one that no other
// process asks for a port of, so that nobody takes it before rank 0 listens there.
func freeAddr(t *testing.T) string {
	t.Helper()
	own := rand.Uint32()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+own%254, own>>8%256, 1+own>>16%254))
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
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
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
	for _, world := range []int{1, 2, 5, MaxWorld} {
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

func TestTCPNamesAllWhoAreMissing(t *testing.T) {
	t.Parallel()
	ranks := tcpWorld(MaxWorld, freeAddr(t))
	for _, r := range []int{7, 8, 9, 10, 11, 12, 13, 14, 15, 30, 33, 34, 63} {
		ranks[r] = nil
	}
	_, errs := gather(within(t), ranks, 0)
	for r, err := range errs {
		if ranks[r] != nil && (!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "for ranks 7 to 15, 30, 33, 34 and 63")) {
			t.Errorf("rank %d: %v", r, err)
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

// What a rank said in one exchange gets nobody in when it is said again in the next.
func TestTCPReplay(t *testing.T) {
	t.Parallel()
	addr, relay := freeAddr(t), freeAddr(t)
	l, err := net.Listen("tcp", relay)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan []byte, 1)
	go func() { // between rank 1 and rank 0, writing down what rank 1 says
		defer l.Close()
		peer, err := l.Accept()
		if err != nil {
			return
		}
		server := dial(t, addr)
		go func() { io.Copy(peer, server); peer.Close() }()
		var heard bytes.Buffer
		io.Copy(io.MultiWriter(server, &heard), peer)
		said <- heard.Bytes()
	}()
	ranks := []Exchanger{TCP(0, 2, addr, secret), TCP(1, 2, relay, secret)}
	blobs, errs := gather(t.Context(), ranks, 0)
	checkGathered(t, blobs, errs, 0)
	heard := <-said

	rank0 := make(chan error, 1)
	go func() {
		_, err := ranks[0].AllGather(within(t), []byte("zero"))
		rank0 <- err
	}()
	c := dial(t, addr)
	c.Write(heard)
	answer, _ := io.ReadAll(c)
	if len(answer) > nonceSize+macSize {
		t.Errorf("rank 0 answered a replay with %d bytes", len(answer)-nonceSize-macSize)
	}
	if err := <-rank0; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "for rank 1") || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

// Someone who takes connections and never speaks does not keep a rank from finding rank 0 later.
func TestTCPMute(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	rank1 := make(chan error, 1)
	go func() {
		_, err := TCP(1, 2, addr, secret).AllGather(ctx, nil)
		rank1 <- err
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l.Close()
	if _, err := TCP(0, 2, addr, secret).AllGather(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := <-rank1; err != nil {
		t.Error(err)
	}
}

// Rank 0 outlasts someone who has its port for a moment.
func TestTCPPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	go func() {
		defer l.Close()
		for range 5 { // rank 1 asks again and again: rank 0 has had time to fail
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	blobs, errs := gather(ctx, tcpWorld(2, l.Addr().String()), 0)
	checkGathered(t, blobs, errs, 0)
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{
		"no rank": nil, "rank 3": {3}, "ranks 3 and 4": {3, 4}, "ranks 1, 3 and 4": {1, 3, 4}, "ranks 8 to 10": {8, 9, 10},
		"ranks 0 to 2, 4, 5 and 7 to 9": {0, 1, 2, 4, 5, 7, 8, 9},
	} {
		if got := rankList(ranks); got != want {
			t.Errorf("%v: %q, want %q", ranks, got, want)
		}
	}
}
