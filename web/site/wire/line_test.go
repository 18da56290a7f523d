package wire

import (
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
