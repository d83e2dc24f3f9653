package mkrt

import (
	"errors"
	"io"
	"net"
	"testing"
)

// between returns both ends of a connection that have proved themselves, and what the client side writes is seen by tap
// first, which returns what arrives instead.
func between(t *testing.T, tap func(frame []byte) []byte) (client, server *wire) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	done := make(chan error, 1)
	go func() (err error) {
		defer func() { done <- err }()
		server, err = acceptWire(b, secret)
		return err
	}()
	client, err := dialWire(a, secret)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	client.Conn = tapped{a, tap}
	return client, server
}

type tapped struct {
	net.Conn
	tap func([]byte) []byte
}

func (c tapped) Write(frame []byte) (int, error) {
	if frame = c.tap(frame); frame == nil {
		return 0, nil
	}
	return c.Conn.Write(frame)
}

// What is changed, repeated, out of order or turned back on its way is refused.
func TestWireRefuses(t *testing.T) {
	var last []byte
	for name, tap := range map[string]func(frame []byte) []byte{
		"body":     func(f []byte) []byte { f[6] ^= 1; return f },
		"kind":     func(f []byte) []byte { f[0] = frameError; return f },
		"proof":    func(f []byte) []byte { f[len(f)-1] ^= 1; return f },
		"repeated": func(f []byte) []byte { return append(f, f...) },
	} {
		t.Run(name, func(t *testing.T) {
			client, server := between(t, tap)
			go client.send(frameHello, []byte("hello"))
			_, body, err := server.receive(100)
			if name == "repeated" {
				if err != nil || string(body) != "hello" {
					t.Fatal(string(body), err)
				}
				_, _, err = server.receive(100)
			}
			if !errors.Is(err, errSecret) {
				t.Error(err)
			}
		})
	}
	t.Run("turned back", func(t *testing.T) {
		client, server := between(t, func(f []byte) []byte { last = f; return nil })
		client.send(frameHello, []byte("hello"))
		go server.Write(last)
		if _, _, err := client.receive(100); !errors.Is(err, errSecret) {
			t.Error(err)
		}
	})
	t.Run("another connection", func(t *testing.T) {
		client, _ := between(t, func(f []byte) []byte { last = f; return nil })
		client.send(frameHello, []byte("hello"))
		other, server := between(t, func(f []byte) []byte { return f })
		go other.Write(last)
		if _, _, err := server.receive(100); !errors.Is(err, errSecret) {
			t.Error(err)
		}
	})
}

// A head that announces too much is refused before any of it is read.
func TestWireLimit(t *testing.T) {
	client, server := between(t, func(f []byte) []byte { return f })
	go client.send(frameHello, make([]byte, 101))
	if _, _, err := server.receive(100); err == nil || errors.Is(err, errSecret) || errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
