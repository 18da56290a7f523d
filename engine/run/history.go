package run

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// histories digest what each thread was told, and when: what it does next is a
// function of that.
type histories struct {
	now      func() time.Duration
	byThread map[string]*[16]byte
	buf      []byte
}

func newHistories(now func() time.Duration) *histories {
	return &histories{now: now, byThread: map[string]*[16]byte{}}
}

// note adds what a thread was told, which is of one kind.
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
	sum := sha256.Sum256(b)
	copy(digest[:], sum[:])
	h.buf = b
}

// The kinds of what a thread is told.
const (
	toldMove    = 'm' // it moves
	toldReply   = 'r' // of Redis
	toldMessage = 'p' // that was published
	toldOutcome = 'o' // of an attempt
	toldFault   = 'f' // by hand
	toldRead    = 'd' // of the resource
)

// appendValue writes a value so that its end and type can be told.
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

// append writes all digests, in the order of names.
func (h *histories) append(b []byte, names []string) []byte {
	for _, name := range names {
		if digest := h.byThread[name]; digest != nil {
			b = append(b, digest[:]...)
		} else {
			b = append(b, 0)
		}
	}
	return b
}
