package store

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"sync"
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

// A connection can be asked for just when miniredis closes: it comes before, or not
// at all.
func TestAConnectionThatIsOpenedWhileItCloses(t *testing.T) {
	for range 50 {
		m := newMended(time.Unix(0, 0))
		var dials sync.WaitGroup
		for range 4 {
			dials.Go(func() {
				for {
					c, err := m.Dial()
					if errors.Is(err, net.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					_ = c.Close()
				}
			})
		}
		m.Close()
		dials.Wait()
		if m.Server() != nil {
			t.Fatal("it has started again")
		}
	}
}
