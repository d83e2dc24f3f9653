package mkrt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// maxHandshakes bounds the connections that are proving themselves at one time.
const maxHandshakes = 4 * MaxWorld

// arrival is a connection that proved itself and said who it is, or why it was turned away.
type arrival struct {
	*wire
	rank, world int
	blob        []byte
	refused     error
}

// serve is rank 0's part: it collects a blob from every rank and sends all of them to all.
func (t *tcp) serve(ctx context.Context, blob []byte) ([][]byte, error) {
	listeners, err := t.listen(ctx)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	arrivals := make(chan arrival)
	slots := make(chan struct{}, maxHandshakes)
	for _, l := range listeners {
		go t.accept(l, slots, arrivals, ended)
	}
	m := &meeting{tcp: t, peers: make([]*wire, t.world), blobs: make([][]byte, t.world)}
	m.blobs[0] = blob
	err = m.collect(ctx, arrivals)
	closeAll(listeners) // before any peer can start its next exchange
	close(ended)
	m.finish(err)
	if err != nil {
		return nil, err
	}
	return m.blobs, nil
}

func (t *tcp) listen(ctx context.Context) (listeners []net.Listener, err error) {
	addrs, err := listenAddrs(t.addr, t.iface)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		l, err := listenSoon(ctx, addr)
		if err != nil {
			closeAll(listeners)
			return nil, errorf(System, "rank 0 cannot listen for its peers at %s (%s): %v; MKGEN_PORT, the same on all ranks, sets another port", t.addr, addr, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// listenSoon listens once the port is free. A port out of the range that the system hands out to clients, as torchrun's
// are, may be a client's for a moment.
func listenSoon(ctx context.Context, addr string) (net.Listener, error) {
	for end := time.Now().Add(handshakeTime); ; {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return l, err
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

func (t *tcp) accept(listener net.Listener, slots chan struct{}, arrivals chan<- arrival, ended <-chan struct{}) {
	for {
		slots <- struct{}{} // frees up within handshakeTime
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, or a connection that is gone already
			time.Sleep(retryEvery)
			<-slots
			continue
		}
		go func() {
			a := t.greet(conn)
			<-slots
			if a.refused != nil {
				conn.Close()
			}
			select {
			case arrivals <- a:
			case <-ended:
				conn.Close()
			}
		}()
	}
}

func (t *tcp) greet(conn net.Conn) (a arrival) {
	conn.SetDeadline(time.Now().Add(handshakeTime))
	w, err := acceptWire(conn, t.secret)
	if err != nil {
		return arrival{refused: err}
	}
	kind, body, err := w.receive(8 + MaxBlob)
	switch {
	case err == io.EOF:
		err = errors.New("it hung up on reading this rank's proof, as ranks with another MKGEN_SECRET do")
	case err == nil && (kind != frameHello || len(body) < 8):
		err = errors.New("not a greeting")
	}
	if err != nil {
		return arrival{refused: err}
	}
	return arrival{wire: w, rank: int(binary.BigEndian.Uint32(body)), world: int(binary.BigEndian.Uint32(body[4:])), blob: body[8:]}
}

// meeting is one exchange as rank 0 sees it.
type meeting struct {
	*tcp
	peers   []*wire // by rank, nil until it arrives; peers[0] stays nil
	blobs   [][]byte
	refused int
	last    error  // why the last connection was refused
	gaveUp  string // whom it waited for in vain
}

func (m *meeting) missing() (ranks []int) {
	for rank := 1; rank < m.world; rank++ {
		if m.peers[rank] == nil {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

func (m *meeting) collect(ctx context.Context, arrivals <-chan arrival) error {
	for len(m.missing()) > 0 {
		select {
		case a := <-arrivals:
			if err := m.admit(a); err != nil {
				return err
			}
		case <-ctx.Done():
			return m.giveUp(context.Cause(ctx))
		}
	}
	return nil
}

// admit takes an arrival in. Strangers change nothing; a peer that knows the secret and does not fit ends the exchange.
func (m *meeting) admit(a arrival) error {
	switch {
	case a.refused != nil:
		m.refused, m.last = m.refused+1, a.refused
		return nil
	case a.world != m.world:
		return m.dismiss(a, "rank %d at %s was started in a world of %d, rank 0 in a world of %d", a.rank, a.RemoteAddr(), a.world, m.world)
	case a.rank < 1 || a.rank >= m.world:
		return m.dismiss(a, "%s calls itself rank %d, and rank 0 of %d listens: every process needs a rank of its own below the world size", a.RemoteAddr(), a.rank, m.world)
	case m.peers[a.rank] != nil:
		return m.dismiss(a, "rank %d is there twice, at %s and at %s: every process needs a rank of its own", a.rank, m.peers[a.rank].RemoteAddr(), a.RemoteAddr())
	}
	m.peers[a.rank], m.blobs[a.rank] = a.wire, a.blob
	var missing []byte
	for _, rank := range m.missing() {
		missing = append(missing, byte(rank))
	}
	m.tell(frameWait, missing)
	return nil
}

func (m *meeting) dismiss(a arrival, format string, args ...any) error {
	err := errorf(Mismatch, format, args...)
	a.SetDeadline(time.Now().Add(handshakeTime))
	a.send(frameError, []byte(err.Error()))
	a.Close()
	return err
}

func (m *meeting) giveUp(cause error) error {
	strangers := ""
	if m.refused > 0 {
		strangers = fmt.Sprintf("; connections refused: %d, the last one since: %v", m.refused, m.last)
	}
	m.gaveUp = fmt.Sprintf("rank 0 gave up waiting at %s%s for %s of %d%s", m.addr, m.through(), rankList(m.missing()), m.world, strangers)
	return fmt.Errorf("%s: %w", m.gaveUp, cause)
}

// tell sends a frame to every peer that is there, to all at once: one that has stopped reading delays nobody else. A peer
// that is gone notices by itself.
func (m *meeting) tell(kind byte, body []byte) {
	var sent sync.WaitGroup
	for _, peer := range m.peers {
		if peer != nil {
			sent.Go(func() {
				peer.SetDeadline(time.Now().Add(handshakeTime))
				peer.send(kind, body)
			})
		}
	}
	sent.Wait()
}

// finish sends the outcome and parts.
func (m *meeting) finish(err error) {
	switch {
	case m.gaveUp != "":
		m.tell(frameGiveUp, []byte(m.gaveUp))
	case err != nil:
		m.tell(frameError, []byte(err.Error()))
	default:
		m.tell(frameResult, m.pack(m.blobs))
	}
	for _, peer := range m.peers {
		if peer != nil {
			peer.Close()
		}
	}
}
