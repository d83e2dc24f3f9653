package mkrt

import (
	"net"
	"strings"
)

// interfaceVariable names the network interface that ranks use: here to meet, in libmkrt for what runs between nodes.
const interfaceVariable = "MKGEN_INTERFACE"

// interfaceIPs returns the addresses of a network interface as dial and listen take them, v4 first. Link-local ones are
// left out: no name resolves to them.
func interfaceIPs(name string) ([]net.IP, error) {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, errorf(Invalid, "%s is %q, and there is no such network interface here: %s", interfaceVariable, name, interfaceNames())
	}
	addrs, err := iface.Addrs()
	if err != nil {
		return nil, errorf(System, "the addresses of network interface %s (%s) cannot be read: %v", name, interfaceVariable, err)
	}
	var v4, v6 []net.IP
	for _, a := range addrs {
		ip, _, err := net.ParseCIDR(a.String())
		switch {
		case err != nil || ip.IsLinkLocalUnicast():
		case ip.To4() != nil:
			v4 = append(v4, ip)
		default:
			v6 = append(v6, ip)
		}
	}
	if len(v4)+len(v6) == 0 {
		return nil, errorf(Invalid, "network interface %s, which %s names, has no address: %s", name, interfaceVariable, interfaceNames())
	}
	return append(v4, v6...), nil
}

// interfaceNames lists what MKGEN_INTERFACE could be.
func interfaceNames() string {
	all, _ := net.Interfaces()
	var names []string
	for _, i := range all {
		if addrs, _ := i.Addrs(); i.Flags&net.FlagUp != 0 && len(addrs) > 0 {
			names = append(names, i.Name)
		}
	}
	return "this machine has " + strings.Join(names, ", ")
}

// listenAddrs are the addresses at which rank 0 listens for peers that know it as addr: a loopback address itself; else
// those of the named interface, or without one all: host names often resolve to an address that peers cannot reach.
func listenAddrs(addr, iface string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errorf(Invalid, "ranks cannot meet at %q: it must be host:port", addr)
	}
	if loopback(host) {
		return []string{addr}, nil
	}
	if iface == "" {
		return []string{":" + port}, nil
	}
	ips, err := interfaceIPs(iface)
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(host)
	var list, texts []string
	for _, own := range ips {
		if own.Equal(ip) {
			return []string{addr}, nil
		}
		list, texts = append(list, net.JoinHostPort(own.String(), port)), append(texts, own.String())
	}
	if ip != nil {
		return nil, errorf(Invalid, "ranks are to meet at %s, which is no address of %s, the network interface that %s names on rank 0: set MASTER_ADDR to %s on all ranks", addr, iface, interfaceVariable, strings.Join(texts, " or "))
	}
	return list, nil
}

// dialAddrs are the addresses from which peers connect to addr; nil is any.
func dialAddrs(addr, iface string) ([]net.Addr, error) {
	if host, _, err := net.SplitHostPort(addr); err != nil || iface == "" || loopback(host) {
		return []net.Addr{nil}, nil
	}
	ips, err := interfaceIPs(iface)
	if err != nil {
		return nil, err
	}
	var list []net.Addr
	for _, ip := range ips {
		list = append(list, &net.TCPAddr{IP: ip})
	}
	return list, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
