package mkrt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// TCP returns the exchanger of a rank that is a process of its own. Rank 0 listens on addr ("host:port") for the length
// of each exchange and the others connect to it. On a loopback address it listens there only, otherwise at the addresses
// of the network interface that MKGEN_INTERFACE names in this process' environment, from which the others also connect;
// without that variable on all interfaces. All ranks need the same secret, of at least 8 bytes; both sides of a connection
// prove that they know it. Nothing is encrypted.
//
// An exchange lasts as long as its context allows: an error after that names the ranks that are missing, on every rank
// that reached rank 0.
func TCP(rank, world int, addr string, secret []byte) Exchanger {
	return &tcp{rank, world, addr, secret, os.Getenv(interfaceVariable)}
}

type tcp struct {
	rank, world int
	addr        string
	secret      []byte
	iface       string // network interface, or ""
}

func (t *tcp) AllGather(ctx context.Context, blob []byte) ([][]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := checkBlob(t.rank, blob); err != nil {
		return nil, err
	}
	if t.rank == 0 {
		return t.serve(ctx, blob)
	}
	return t.ask(ctx, blob)
}

func (t *tcp) check() error {
	if t.world < 1 || t.world > MaxWorld || t.rank < 0 || t.rank >= t.world {
		return errorf(Invalid, "rank %d of %d: a world has 1 to %d ranks, numbered from 0", t.rank, t.world, MaxWorld)
	}
	if len(t.secret) < 8 {
		return errorf(Invalid, "the shared secret has %d bytes; give all ranks the same one, of at least 8", len(t.secret))
	}
	return nil
}

// resultLimit bounds the body of a result frame.
func (t *tcp) resultLimit() int { return t.world * (4 + MaxBlob) }

// handshakeTime bounds how long a connection may take to prove itself. Peers send at once.
const handshakeTime = 10 * time.Second

// retryEvery is how often a rank asks for a rank 0 that does not listen yet.
const retryEvery = 50 * time.Millisecond

// ask is the part of ranks other than 0.
func (t *tcp) ask(ctx context.Context, blob []byte) ([][]byte, error) {
	from, err := dialAddrs(t.addr, t.iface)
	if err != nil {
		return nil, err
	}
	for {
		blobs, reached, err := t.attempt(ctx, from, blob)
		switch {
		case err == nil:
			return blobs, nil
		case errors.Is(err, errSecret):
			return nil, errorf(Mismatch, "rank %d: whoever listens at %s does not know the shared secret: set the same MKGEN_SECRET on all ranks", t.rank, t.addr)
		case reached:
			return nil, err
		}
		select { // rank 0 has not started listening, or was closing the exchange before this one
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("rank %d found no rank 0 at %s%s (%v): %w", t.rank, t.addr, t.through(), err, context.Cause(ctx))
		}
	}
}

// through is an addition to messages about addresses.
func (t *tcp) through() string {
	if t.iface == "" {
		return ""
	}
	return fmt.Sprintf(" through %s, which %s names", t.iface, interfaceVariable)
}

// dial connects from the first of the addresses that gets through; nil is any. An attempt is short, since names may
// resolve to another address after a while: of a pod that is ready by then.
func (t *tcp) dial(ctx context.Context, from []net.Addr) (conn net.Conn, err error) {
	for _, own := range from {
		d := net.Dialer{Timeout: handshakeTime, LocalAddr: own}
		if conn, err = d.DialContext(ctx, "tcp", t.addr); err == nil {
			break
		}
	}
	return conn, err
}

// attempt makes one connection. reached tells that rank 0 has taken this rank in, so that trying again is no use.
func (t *tcp) attempt(ctx context.Context, from []net.Addr, blob []byte) (blobs [][]byte, reached bool, err error) {
	conn, err := t.dial(ctx, from)
	if err != nil {
		return nil, false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	timely := time.AfterFunc(handshakeTime, func() { conn.Close() }) // whoever listens there may never say a word
	w, err := dialWire(conn, t.secret)
	if !timely.Stop() {
		err = fmt.Errorf("it took the connection and said nothing for %v", handshakeTime)
	}
	if err != nil {
		return nil, false, err
	}
	hello := binary.BigEndian.AppendUint32(nil, uint32(t.rank))
	hello = binary.BigEndian.AppendUint32(hello, uint32(t.world))
	if err := w.send(frameHello, append(hello, blob...)); err != nil {
		return nil, false, err
	}
	missing := "others"
	for {
		kind, body, err := w.receive(t.resultLimit())
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, true, fmt.Errorf("rank %d gave up waiting for %s, with rank 0 at %s: %w", t.rank, missing, t.addr, context.Cause(ctx))
		case err != nil && reached:
			return nil, true, errorf(System, "rank %d lost rank 0 at %s during an exchange: %v", t.rank, t.addr, err)
		case err != nil:
			return nil, false, err
		}
		reached = true
		switch kind {
		case frameWait:
			missing = rankList(ints(body))
		case frameError:
			return nil, true, errorf(Mismatch, "%s", body)
		case frameGiveUp:
			return nil, true, fmt.Errorf("%s: %w", body, context.DeadlineExceeded)
		case frameResult:
			blobs, err := t.unpack(body)
			return blobs, true, err
		}
	}
}

func (t *tcp) pack(blobs [][]byte) (body []byte) {
	for _, b := range blobs {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(b))), b...)
	}
	return body
}

func (t *tcp) unpack(body []byte) ([][]byte, error) {
	blobs := make([][]byte, t.world)
	for i := range blobs {
		if len(body) < 4 || uint64(len(body)-4) < uint64(binary.BigEndian.Uint32(body)) {
			return nil, errorf(System, "rank %d got a result from %s that is cut short", t.rank, t.addr)
		}
		n := int(binary.BigEndian.Uint32(body))
		blobs[i], body = body[4:4+n:4+n], body[4+n:]
	}
	return blobs, nil
}

func ints(body []byte) []int {
	list := make([]int, len(body))
	for i, b := range body {
		list[i] = int(b)
	}
	return list
}
