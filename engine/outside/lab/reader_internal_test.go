package lab

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/racetest"
)

// spoken is a connection on which a client has said something, and left.
type spoken struct {
	net.Conn
	io.Reader
}

func (s spoken) Read(p []byte) (int, error)    { return s.Reader.Read(p) }
func (spoken) SetReadDeadline(time.Time) error { return nil }

// Whatever a client sends, its commands have a name and arguments, or it is refused:
// nothing panics, and nothing takes memory for what has not come.
func FuzzReader(f *testing.F) {
	racetest.Skip(f)
	for _, wire := range []string{
		"*1\r\n$4\r\nPING\r\n", "PING\r\n", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n*1\r\n$4\r\nPING\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "*1\r\n$0\r\n\r\n",
		"\r\n\r\nPING\r\n", "SET \"a b\" 'c'\r\n", "*1\r\n$9223372036854775806\r\nx", "*99999\r\n$1\r\nx\r\n", "*1\r\n*1\r\n$4\r\nPING\r\n", "\x00\n", "\"\"\r\n",
		"ECHO\r\nBLPOP\r\nBLPOP k\r\nBLMPOP 0 2 k\r\nWAIT\r\nWAIT 1\r\nBLMOVE a\r\n",
		"XREAD BLOCK\r\nXREAD BLOCK 0\r\nXREAD BLOCK 0 STREAMS\r\nXREAD BLOCK 0 STREAMS a b $ $\r\nXREAD COUNT 1 BLOCK x STREAMS s\r\n",
		"XREADGROUP GROUP g c BLOCK 10 STREAMS s >\r\nEVAL\r\nEVAL x\r\nEVALSHA x -1\r\nEVAL x 9 k\r\nSET k v NX PX\r\nPUBLISH\r\nDEL\r\n",
	} {
		f.Add([]byte(wire))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := newReader(spoken{Reader: bytes.NewReader(wire)})
		for range len(wire) + 1 {
			args, err := r.read()
			if err != nil {
				return
			}
			if len(args) == 0 {
				t.Fatal("a command without a name")
			}
			// The footprint of a command must cope with any arguments.
			_, _, _, _, _ = infer.Verb(args), infer.Shown(args), brief(args), infer.Touches(args), passes(args)
			if infer.Mark(args) == "" && blocks(args) {
				g := &Gate{nodes: nodes{newEmbedded(false, time.Second)}, own: []session{nothing{}}}
				it := &item{c: &conn{}, args: args, blocking: true}
				g.begin(it)
				g.ready(it)
				g.nodes.close()
			}
		}
		t.Fatal("more commands than bytes")
	})
}

// nothing is a Redis that says nil to all.
type nothing struct{}

func (nothing) do([]string) ([]byte, error) { return []byte("$-1\r\n"), nil }
func (nothing) close()                      {}
