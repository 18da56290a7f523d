package site

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestParseAdvertise(t *testing.T) {
	for _, c := range []struct {
		text   string
		secure bool
		want   string
	}{
		{"10.0.0.5:8080", false, "http://10.0.0.5:8080"},
		{"10.0.0.5:8443", true, "https://10.0.0.5:8443"},
		{"[2001:db8::1]:8080", false, "http://[2001:db8::1]:8080"},
		{"http://relock-2.internal", true, "http://relock-2.internal"},
		{"https://relock-2.internal:444/", false, "https://relock-2.internal:444"},
	} {
		if u, err := ParseAdvertise(c.text, c.secure); err != nil || u.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.text, u, err, c.want)
		}
	}
	for _, text := range []string{"", "8080", ":8080", "relock-2", "relock-2:", "ftp://relock-2", "http://relock-2/path", "a b:80"} {
		if u, err := ParseAdvertise(text, false); !errors.Is(err, ErrAdvertise) {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}

func TestWhereAServerIsFoundThatDoesNotSay(t *testing.T) {
	everywhere := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8080}
	for _, c := range []struct {
		listening net.Addr
		redis     string
		secure    bool
		want      string
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "redis.example:6379", false, "http://127.0.0.1:8080"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 8080}, "redis.example:6379", true, "https://[2001:db8::1]:8080"},
		{everywhere, "127.0.0.1:6379", false, "http://127.0.0.1:8080"},
		{everywhere, "[::1]:6379", false, "http://[::1]:8080"},
		{everywhere, "/run/redis.sock", false, "http://127.0.0.1:8080"},
	} {
		if c.redis == "[::1]:6379" && !outward(c.redis).IsValid() {
			continue // this machine has no IPv6
		}
		if u := advertised(c.listening, c.redis, c.secure); u.String() != c.want {
			t.Errorf("listening on %v, Redis at %s: %v, want %s", c.listening, c.redis, u, c.want)
		}
	}
	if out := outward(anywhere); out.IsValid() {
		want := "http://" + netip.AddrPortFrom(out, 8080).String()
		if u := advertised(everywhere, anywhere, false); u.String() != want {
			t.Errorf("with a Redis elsewhere: %v, want %s", u, want)
		}
	}
	if u := advertised(nil, anywhere, false); u != nil {
		t.Errorf("a server that listens nowhere is at %v", u)
	}
}
