package store

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// A command can come in just before miniredis closes: it is told so.
func TestACommandThatComesWhileItCloses(t *testing.T) {
	m := newMended(time.Unix(0, 0))
	var out bytes.Buffer
	client := server.NewPeer(bufio.NewWriter(&out))
	if m.hook(client, "SET", "k", "v", "NX", "PX", "5"); out.Len() > 0 {
		t.Fatalf("it answers %q before it is flushed", out.String())
	}
	client.Flush()
	if out.String() != "+OK\r\n" {
		t.Fatalf("SET is answered with %q", out.String())
	}
	out.Reset()
	m.Close()
	if !m.hook(client, "SET", "k", "v", "NX", "PX", "5") {
		t.Error("the hook leaves the command to a server that is gone")
	}
	client.Flush()
	if want := "-" + closing + "\r\n"; out.String() != want {
		t.Errorf("SET is answered with %q, not %q", out.String(), want)
	}
}
