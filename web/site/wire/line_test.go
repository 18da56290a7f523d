package wire

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// writes counts what is written at once.
type writes struct {
	net.Conn

	texts []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.texts = append(w.texts, string(b))
	return len(b), nil
}

func (w *writes) SetWriteDeadline(time.Time) error { return nil }

func TestALineIsHeldUntilItIsLetGo(t *testing.T) {
	t.Parallel()
	below := &writes{}
	l := &line{Conn: below}
	l.hold()
	for _, text := range []string{"a", "b"} {
		if n, err := l.Write([]byte(text)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(below.texts) != 0 {
		t.Errorf("written while it was held: %q", below.texts)
	}
	if err := l.letGo(time.Second); err != nil || len(below.texts) != 2 {
		t.Errorf("let go: %q, %v", below.texts, err)
	}
	if _, err := l.Write([]byte("c")); err != nil || len(below.texts) != 3 {
		t.Errorf("after that: %q, %v", below.texts, err)
	}
}

// lineOver returns a line over TCP, and its other end.
func lineOver(t *testing.T) (*line, net.Conn) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = at.Close() }()
	other, err := net.Dial("tcp", at.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := at.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Close()
		_ = c.Close()
	})
	l := &line{}
	l.open(c)
	return l, other
}

// What a try leaves goes before all that is written later, and nothing of it
// twice.
func TestATryNeverWaits(t *testing.T) {
	t.Parallel()
	l, other := lineOver(t)
	var sent []byte
	tried := func(n int) (taken, left bool) {
		b := bytes.Repeat([]byte{byte(len(sent))}, n)
		if taken, left = l.try(b); taken {
			sent = append(sent, b...)
		}
		return taken, left
	}
	if err := l.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if taken, left := tried(10); !taken || left {
		t.Errorf("after a deadline has passed: taken %v, left %v", taken, left)
	}
	for left := false; !left; { // nobody reads
		var taken bool
		if taken, left = tried(100_003); !taken {
			t.Fatal("not taken though the line was free")
		}
	}
	if taken, left := tried(10); taken || left {
		t.Errorf("behind what is left: taken %v, left %v", taken, left)
	}
	if _, err := l.Write([]byte("later")); err != nil {
		t.Fatal(err)
	}
	sent = append(sent, "later"...)
	got, size := make(chan []byte), len(sent)+10
	go func() {
		b := make([]byte, size)
		_, _ = io.ReadFull(other, b)
		got <- b
	}()
	if err := l.letGo(time.Minute); err != nil {
		t.Fatal(err)
	}
	if taken, left := tried(10); !taken || left {
		t.Errorf("when all has gone: taken %v, left %v", taken, left)
	}
	if !bytes.Equal(<-got, sent) {
		t.Error("the other end has got something else")
	}
}

func TestATryDoesNotWaitForRoom(t *testing.T) {
	t.Parallel()
	l, _ := lineOver(t)
	for full := false; !full; { // nobody reads, and some room may come late
		if err := l.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := l.Write(make([]byte, 1<<20))
		full = err != nil && n == 0
		l.until = time.Unix(1, 0) // the next deadline is set, however soon it is
	}
	if taken, left := l.try([]byte("a")); !taken || !left {
		t.Errorf("without room: taken %v, left %v", taken, left)
	}
}

func TestATryIsNotForOneWhoWouldWait(t *testing.T) {
	t.Parallel()
	l, _ := lineOver(t)
	l.hold()
	if taken, _ := l.try([]byte("a")); taken {
		t.Error("taken while the line is held")
	}
	if err := l.letGo(time.Second); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	if taken, _ := l.try([]byte("a")); taken {
		t.Error("taken while somebody writes")
	}
	l.mu.Unlock()
	below, silent := &writes{}, &line{}
	silent.open(below)
	if taken, _ := silent.try([]byte("a")); taken || len(below.texts) > 0 {
		t.Error("taken by a connection that cannot say whether it would wait")
	}
}
