package load_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/web/webtest"
)

// deflated is what permessage-deflate sends for n spaces.
func deflated(t *testing.T, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, spaces{}, n); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{0, 0, 0xff, 0xff})
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// compressedFrame is one text frame with the bit of permessage-deflate, masked
// with zeros as a client's must be.
func compressedFrame(payload []byte) []byte {
	frame := []byte{0xc1, 0xff}
	frame = binary.BigEndian.AppendUint64(frame, uint64(len(payload)))
	return append(append(frame, 0, 0, 0, 0), payload...)
}

// A small frame that unpacks to fifty megabytes closes its connection,
// and nobody notices it in the memory.
func TestDeflateBomb(t *testing.T) {
	racetest.Skip(t)
	server := strings.TrimPrefix(webtest.Open(t, nil).URL, "http://")
	payload := deflated(t, 48<<20)
	conn, err := net.Dial("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	request := "GET /play/socket HTTP/1.1\r\nHost: " + server + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 1<<10)
	n, err := conn.Read(head)
	if err != nil || !strings.Contains(string(head[:n]), "101 Switching") {
		t.Fatalf("%s, %v", head[:n], err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := conn.Write(compressedFrame(payload)); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	rest, _ := io.ReadAll(conn) // until the server closes
	runtime.ReadMemStats(&after)
	_ = conn.Close()
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("%d MB for a frame of %d KB", used>>20, len(payload)>>10)
	}
	if !bytes.Contains(rest, binary.BigEndian.AppendUint16(nil, websocket.CloseMessageTooBig)) {
		t.Errorf("closed with % x, want 1009", rest)
	}
}
