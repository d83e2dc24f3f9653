package mkrt

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// A connection of an exchange. Both sides prove that they know the secret before anything else is read:
//
//	client -> server  magic, client nonce
//	server -> client  server nonce, HMAC(secret, "server", both nonces)
//
// and every frame that follows carries an HMAC under a key made of the secret and both nonces, over its direction, its
// number, its kind and its body. So replays, frames out of order and other programs are refused. Bodies are not
// encrypted: they hold addresses and file-descriptor names, no secrets.
type wire struct {
	net.Conn
	key            []byte
	out, in        byte // direction
	sent, received uint64
}

const (
	magic     = "mkgen x1"
	nonceSize = 32
	macSize   = sha256.Size
)

// Kinds of frames.
const (
	frameHello  = 'H' // client: rank uint32, world uint32, blob
	frameWait   = 'W' // server: ranks missing, one byte each
	frameResult = 'R' // server: for each rank a length uint32 and a blob
	frameError  = 'E' // server: what does not fit, a sentence
	frameGiveUp = 'G' // server: whom it waited for in vain, a sentence
)

// errSecret means that the other side answered, and does not know the secret.
var errSecret = errors.New("wrong secret")

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func dialWire(c net.Conn, secret []byte) (*wire, error) {
	ours := make([]byte, nonceSize)
	rand.Read(ours)
	if _, err := c.Write(append([]byte(magic), ours...)); err != nil {
		return nil, err
	}
	answer := make([]byte, nonceSize+macSize)
	if _, err := io.ReadFull(c, answer); err != nil {
		return nil, err
	}
	theirs, proof := answer[:nonceSize], answer[nonceSize:]
	if !hmac.Equal(proof, mac(secret, []byte("server"), ours, theirs)) {
		return nil, errSecret
	}
	return &wire{Conn: c, key: mac(secret, []byte("frames"), ours, theirs), out: 'c', in: 's'}, nil
}

func acceptWire(c net.Conn, secret []byte) (*wire, error) {
	hello := make([]byte, len(magic)+nonceSize)
	if _, err := io.ReadFull(c, hello); err != nil {
		return nil, err
	}
	if string(hello[:len(magic)]) != magic {
		return nil, errors.New("not a mkgen rank")
	}
	theirs, ours := hello[len(magic):], make([]byte, nonceSize)
	rand.Read(ours)
	if _, err := c.Write(append(ours[:nonceSize:nonceSize], mac(secret, []byte("server"), theirs, ours)...)); err != nil {
		return nil, err
	}
	return &wire{Conn: c, key: mac(secret, []byte("frames"), theirs, ours), out: 's', in: 'c'}, nil
}

func (w *wire) mac(direction byte, number uint64, head, body []byte) []byte {
	prefix := binary.BigEndian.AppendUint64([]byte{direction}, number)
	return mac(w.key, prefix, head, body)
}

// send writes one frame: kind, length uint32, body, HMAC.
func (w *wire) send(kind byte, body []byte) error {
	frame := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	proof := w.mac(w.out, w.sent, frame, body)
	w.sent++
	_, err := w.Write(append(append(frame, body...), proof...))
	return err
}

// receive reads one frame of at most limit bytes.
func (w *wire) receive(limit int) (kind byte, body []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(w, head); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if uint64(length) > uint64(limit) {
		return 0, nil, fmt.Errorf("a message of %d bytes, where %d are allowed", length, limit)
	}
	body = make([]byte, int(length)+macSize)
	if _, err := io.ReadFull(w, body); err != nil {
		return 0, nil, err
	}
	body, proof := body[:length], body[length:]
	if !hmac.Equal(proof, w.mac(w.in, w.received, head, body)) {
		return 0, nil, errSecret
	}
	w.received++
	return head[0], body, nil
}
