package site

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// nameLimit is how long a name server may take.
const nameLimit = 2 * time.Second

// maxReach is how many addresses a page offers.
const maxReach = 4

// Reach says how far a link made on r's page goes. If r asks for localhost and the server
// has no public URL, it knows no address that works beyond this machine: alone is true,
// and it offers the addresses of its network interfaces.
func (s *Site) Reach(r *http.Request) (alone bool, addresses []string) {
	if s.public != nil || !isLoopback(host(r)) {
		return false, nil
	}
	tcp, ok := s.listening.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return true, nil
	}
	scheme := "http://"
	if encrypted(r) {
		scheme = "https://"
	}
	for _, ip := range networkAddresses() {
		addresses = append(addresses, scheme+net.JoinHostPort(ip.String(), strconv.Itoa(tcp.Port)))
	}
	return true, addresses
}

// networkAddresses returns this machine's addresses in its networks, beginning
// with the one that leads out.
func networkAddresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // there is nothing to offer
	}
	out := outward(anywhere)
	var list []netip.Addr
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().IsGlobalUnicast() {
			list = append(list, ip.Unmap())
		}
	}
	rank := func(ip netip.Addr) int {
		switch {
		case ip == out:
			return 0
		case ip.Is4():
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(list, func(a, b netip.Addr) int { return cmp.Compare(rank(a), rank(b)) })
	return list[:min(len(list), maxReach)]
}

// anywhere is some other machine: an address in a network reserved for examples.
const anywhere = "192.0.2.1:9"

// outward returns the address with which this machine reaches another, the zero
// Addr if it cannot. Nothing is sent: the routing table knows.
func outward(to string) netip.Addr {
	ctx, cancel := context.WithTimeout(context.Background(), nameLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", to)
	if err != nil {
		return netip.Addr{}
	}
	defer func() { _ = conn.Close() }()
	from, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return netip.Addr{}
	}
	return from.AddrPort().Addr().Unmap()
}
