package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// histories digest what each thread heard, and when: its next act is a function of that.
// If there are twins, a history says "my own" for the id of its thread, and is the same
// for either twin.
type histories struct {
	now      func() time.Duration
	byThread map[string]*[16]byte
	buf      []byte

	twins map[string][]byte // by thread: its id, in Redis too
	named map[string]bool   // twins whose own history has another's id in it, and these others
}

// newHistories returns the histories of threads that have heard nothing.
func (r *Run) newHistories(now func() time.Duration) *histories {
	h := &histories{now: now, byThread: map[string]*[16]byte{}, twins: map[string][]byte{}, named: map[string]bool{}}
	if r.o.Twins != nil {
		for _, t := range r.threads {
			h.twins[t.spec.Name] = []byte(t.owner)
		}
	}
	return h
}

// my stands for the id of a history's own thread: a placeholder of an id's length.
var my = []byte(strings.Repeat("~", 32))

// note adds something that a thread heard, of one kind.
func (h *histories) note(thread string, kind byte, what ...any) {
	digest := h.byThread[thread]
	if digest == nil {
		digest = &[16]byte{}
		h.byThread[thread] = digest
	}
	b := h.buf[:0]
	b = append(b, digest[:]...)
	b = append(b, kind)
	b = binary.AppendVarint(b, int64(h.now()))
	for _, w := range what {
		b = appendValue(b, w)
	}
	for name, id := range h.twins {
		switch {
		case !bytes.Contains(b[len(digest):], id):
		case name == thread:
			b = append(b[:len(digest):len(digest)], bytes.ReplaceAll(b[len(digest):], id, my)...)
		default:
			h.named[thread], h.named[name] = true, true
		}
	}
	sum := sha256.Sum256(b)
	copy(digest[:], sum[:])
	h.buf = b
}

// The kinds of things that a thread hears.
const (
	toldMove    = 'm' // it moves
	toldReply   = 'r' // of Redis
	toldMessage = 'p' // that was published
	toldOutcome = 'o' // of an attempt
	toldFault   = 'f' // by hand
	toldRead    = 'd' // of the resource
)

// appendValue writes a value so that readers can tell its end and type.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		if v {
			return append(b, 't')
		}
		return append(b, 'f')
	case int:
		return binary.AppendVarint(append(b, 'i'), int64(v))
	case int64:
		return binary.AppendVarint(append(b, 'i'), v)
	case string:
		b = binary.AppendUvarint(append(b, 's'), uint64(len(v)))
		return append(b, v...)
	case []any:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
		for _, one := range v {
			b = appendValue(b, one)
		}
		return b
	case error:
		return appendValue(append(b, 'e'), v.Error())
	default:
		return appendValue(append(b, 'v'), fmt.Sprint(v))
	}
}

// of is a thread's history, digested.
func (h *histories) of(name string) string {
	digest := h.byThread[name]
	if digest == nil {
		return "\x00"
	}
	return string(digest[:])
}
