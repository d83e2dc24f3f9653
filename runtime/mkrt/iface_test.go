package mkrt

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestListenAddrs(t *testing.T) {
	lo, err := interfaceIPs("lo")
	if err != nil || lo[0].String() != "127.0.0.1" {
		t.Fatal(lo, err)
	}
	var all []string
	for _, ip := range lo {
		all = append(all, net.JoinHostPort(ip.String(), "80"))
	}
	for _, c := range []struct {
		addr, iface string
		want        []string
	}{
		{"127.0.0.1:80", "", []string{"127.0.0.1:80"}},
		{"localhost:80", "", []string{"localhost:80"}},
		{"[::1]:80", "", []string{"[::1]:80"}},
		{"gpu7:80", "", []string{":80"}},
		{"10.0.0.1:80", "", []string{":80"}},
		{"gpu7:80", "lo", all},
		{"127.0.0.1:80", "no-such", []string{"127.0.0.1:80"}},
	} {
		if got, err := listenAddrs(c.addr, c.iface); err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s through %q: %v %v, want %v", c.addr, c.iface, got, err, c.want)
		}
	}
	if _, err := listenAddrs("10.255.255.1:80", "lo"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "set MASTER_ADDR to 127.0.0.1") {
		t.Error(err)
	}
	if _, err := listenAddrs("gpu7", ""); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// Both sides say at once that there is no such interface, and which there are.
func TestTCPNoSuchInterface(t *testing.T) {
	for rank := range 2 {
		x := &tcp{rank, 2, "gpu7:1", secret, "no-such"}
		_, err := x.AllGather(t.Context(), nil)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `MKGEN_INTERFACE is "no-such"`) || !strings.Contains(err.Error(), "lo") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func TestTCPInterfaceFromEnvironment(t *testing.T) {
	t.Setenv("MKGEN_INTERFACE", "no-such")
	if _, err := TCP(1, 2, "gpu7:1", secret).AllGather(t.Context(), nil); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}
