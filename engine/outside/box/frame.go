package box

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"relock/engine/store"
	"relock/engine/trace"
)

// A frame is the length of its body in four bytes, the highest first, and the
// body: numbers and texts one after the other, without names. A reader takes memory for
// the bytes that have come, not for the length announced.

var (
	errFrame = errors.New("that is no frame")
	errLarge = errors.New("a frame is too large")
)

func writeFrame(w io.Writer, body []byte) error {
	if len(body) > maxFrame {
		return errLarge
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err := w.Write(append(frame, body...))
	return err
}

// readFrame reads one into buf, if that is large enough.
func readFrame(r io.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, errLarge
	}
	buf = slices.Grow(buf[:0], int(n))[:n] // at most maxFrame
	_, err := io.ReadFull(r, buf)
	return buf, err
}

// writer appends to a body.
type writer []byte

func (w *writer) number(n int64) { *w = binary.AppendVarint(*w, n) }
func (w *writer) text(s string)  { w.number(int64(len(s))); *w = append(*w, s...) }
func (w *writer) texts(list []string) {
	w.number(int64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) lines(list Lines) {
	w.number(int64(len(list)))
	for _, l := range list {
		w.number(int64(l))
	}
}

func (w *writer) items(list []store.Item) {
	w.number(int64(len(list)))
	for _, i := range list {
		w.text(i.Name)
		w.text(i.Type)
		w.text(i.Text)
		w.number(int64(len(i.Hash)))
		for _, field := range slices.Sorted(maps.Keys(i.Hash)) {
			w.text(field)
			w.text(i.Hash[field])
		}
		w.texts(i.List)
		w.number(int64(len(i.Set)))
		for _, s := range i.Set {
			w.text(s.Member)
			*w = binary.BigEndian.AppendUint64(*w, math.Float64bits(s.Score))
		}
		w.number(int64(i.TTL))
	}
}

// Kinds of a value.
const (
	kindNil = iota
	kindNumber
	kindText
	kindList
)

func (w *writer) value(v any) {
	switch v := v.(type) {
	case int64:
		w.number(kindNumber)
		w.number(v)
	case string:
		w.number(kindText)
		w.text(v)
	case []any:
		w.number(kindList)
		w.number(int64(len(v)))
		for _, one := range v {
			w.value(one)
		}
	default:
		w.number(kindNil)
	}
}

// reader reads a body. After the first mistake all that it returns is empty.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) fail() {
	r.rest, r.bad = nil, true
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads how many follow, of which each takes a byte or more.
func (r *reader) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) texts() []string {
	var list []string
	for range r.count() {
		list = append(list, r.text())
	}
	return list
}

func (r *reader) lines() Lines {
	var list Lines
	for range r.count() {
		list = append(list, int(r.number()))
	}
	return list
}

func (r *reader) float() float64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	return f
}

func (r *reader) items() []store.Item {
	var list []store.Item
	for range r.count() {
		i := store.Item{Name: r.text(), Type: r.text(), Text: r.text()}
		if n := r.count(); n > 0 {
			i.Hash = make(map[string]string, min(n, 64))
			for range n {
				field := r.text()
				i.Hash[field] = r.text()
			}
		}
		i.List = r.texts()
		for range r.count() {
			s := store.Scored{Member: r.text()}
			s.Score = r.float()
			i.Set = append(i.Set, s)
		}
		i.TTL = time.Duration(r.number())
		if r.bad {
			return nil
		}
		list = append(list, i)
	}
	return list
}

// maxDeep is how many lists in lists a reply has at most.
const maxDeep = 100

func (r *reader) value(deep int) any {
	switch r.number() {
	case kindNil:
		return nil
	case kindNumber:
		return r.number()
	case kindText:
		return r.text()
	case kindList:
		if deep == maxDeep {
			r.fail()
			return nil
		}
		list := []any{}
		for range r.count() {
			list = append(list, r.value(deep+1))
		}
		return list
	default:
		r.fail()
		return nil
	}
}

// end fails if there was a mistake, or something is left.
func (r *reader) end() error {
	if r.bad || len(r.rest) > 0 {
		return errFrame
	}
	return nil
}

// The questions that a child answers.
const (
	askRun   = iota
	askCheck // whether a text compiles
)

func (q *Question) encode(what int64) []byte {
	var w writer
	w.number(what)
	w.text(q.Script)
	w.texts(q.Keys)
	w.texts(q.Args)
	w.number(q.Now.UnixMilli())
	w.items(q.Items)
	w.texts(q.Channels)
	return w
}

func decodeQuestion(body []byte) (what int64, q Question, err error) {
	r := reader{rest: body}
	what = r.number()
	q.Script, q.Keys, q.Args = r.text(), r.texts(), r.texts()
	q.Now = time.UnixMilli(r.number())
	q.Items, q.Channels = r.items(), r.texts()
	if err := r.end(); err != nil {
		return 0, Question{}, fmt.Errorf("box: a question: %w", err)
	}
	return what, q, nil
}

// types are the types of a [store.Item].
var types = []string{trace.TypeString, trace.TypeHash, trace.TypeList, trace.TypeZSet, trace.TypeSet}

// faults are the kinds of a Fault by their number in a frame, less one.
var faults = []error{ErrSyntax, ErrEndless, ErrTooLarge, ErrContents, ErrSteps}

func encodeFault(f *Fault) []byte {
	var w writer
	w.number(int64(slices.Index(faults, f.Kind) + 1))
	w.lines(f.Lines)
	w.text(f.What)
	return w
}

func (a *Answer) encode() []byte {
	var w writer
	w.number(0)
	w.value(a.Reply)
	w.text(a.Err)
	w.lines(a.Lines)
	w.items(a.Items)
	return w
}

// decodeAnswer reads what a child says, which may be anything: an answer, a
// *Fault, or nonsense.
func decodeAnswer(body []byte) (Answer, error) {
	r := reader{rest: body}
	kind := r.number()
	if kind != 0 {
		f := &Fault{Lines: r.lines(), What: r.text()}
		if err := r.end(); err != nil || kind < 0 || kind > int64(len(faults)) {
			return Answer{}, errFrame
		}
		f.Kind = faults[kind-1]
		return Answer{}, f
	}
	a := Answer{Reply: r.value(0), Err: r.text(), Lines: r.lines(), Items: r.items()}
	for n, i := range a.Items {
		r.bad = r.bad || n > 0 && i.Name <= a.Items[n-1].Name || !slices.Contains(types, i.Type)
	}
	if err := r.end(); err != nil {
		return Answer{}, err
	}
	return a, nil
}
