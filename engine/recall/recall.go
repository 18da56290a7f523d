// Package recall is a Redis that answers from memory. A search meets the same
// few hundred transitions over and over: this state, this script, these
// arguments, at this instant. The package asks a real miniredis for each once,
// in that state, and remembers the answer with its journal and the state after
// it.
//
// The package knows Redis and the journal, and no locks.
package recall

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/journal"
	"relock/engine/store"
	"relock/engine/trace"
)

// Memory holds what one miniredis has answered. It is not safe for concurrent
// use: each worker has its own.
type Memory struct {
	server   Server
	states   map[string]*state
	moments  map[string]moment
	replicas map[string]*state
	scripts  map[string]string // text to digest

	asked, ran int
}

// ErrUnanswered is of a script of which the server cannot say what comes of it.
var ErrUnanswered = errors.New("recall: no answer")

// NewMemory returns an empty memory of a miniredis in this process. Close ends
// it.
func NewMemory() *Memory { return NewMemoryOf(newEmbedded()) }

// NewMemoryOf returns an empty memory of what a server answers. Close ends both.
func NewMemoryOf(s Server) *Memory {
	return &Memory{
		server: s,
		states: map[string]*state{}, moments: map[string]moment{}, replicas: map[string]*state{}, scripts: map[string]string{},
	}
}

// Close ends the server.
func (m *Memory) Close() error { return m.server.Close() }

// Asked returns how many scripts were sent to Memory's Redises, and how many of
// them a real miniredis ran.
func (m *Memory) Asked() (all, real int) { return m.asked, m.ran }

// state is the keys of a Redis. It never changes, and there is one of each
// content.
type state struct {
	items  []item // by name
	next   int64  // the earliest expiry, or never
	digest [16]byte
	shown  map[string]trace.KeyState // by name, without PTTL
	after  map[string]answer         // by call
}

// item is a key with the instant at which it expires.
type item struct {
	store.Item

	expiry int64 // milliseconds by Redis' clock, which may be set back before 0, or never
}

// never is when a key expires that has no expiry.
const never = math.MaxInt64

// answer is what a call came to.
type answer struct {
	told  any // a journal.Told, or what Redis sent
	err   error
	after *state
}

// moment is the outcome of calls in one content, whenever that was: its items and those
// of its answers have the time left instead of the expiry.
type moment map[string]later

// later is an answer that is the same at any instant, but for Record.Time.
type later struct {
	told  any
	err   error
	items []item
}

// moment returns the moment of a state at an instant.
func (m *Memory) moment(s *state, now int64) moment {
	var text []byte
	for _, i := range shifted(s.items, -now) {
		text = i.append(text)
	}
	known, ok := m.moments[string(text)]
	if !ok {
		known = moment{}
		m.moments[string(text)] = known
	}
	return known
}

// shifted returns items that expire so much later.
func shifted(items []item, by int64) []item {
	list := slices.Clone(items)
	for i := range list {
		if list[i].expiry != never {
			list[i].expiry += by
		}
	}
	return list
}

// at returns the answer at an instant.
func (l later) at(m *Memory, now int64) answer {
	a := answer{told: l.told, err: l.err, after: m.intern(shifted(l.items, now))}
	if told, ok := a.told.(journal.Told); ok {
		told.Record.Time = time.Duration(now) * time.Millisecond
		a.told = told
	}
	return a
}

// timeless reports whether an answer depends on the time left alone: nothing in
// the script asked for the time, or spoke of an instant.
func timeless(told any) bool {
	t, ok := told.(journal.Told)
	return ok && !slices.ContainsFunc(t.Record.Entries, func(e journal.Entry) bool {
		switch name := strings.ToUpper(e.Args[0]); name {
		case "TIME", "EXPIRETIME", "PEXPIRETIME", "EXPIREAT", "PEXPIREAT":
			return true
		case "SET", "GETEX":
			return slices.ContainsFunc(e.Args, func(arg string) bool {
				return strings.EqualFold(arg, "EXAT") || strings.EqualFold(arg, "PXAT")
			})
		default:
			return false
		}
	})
}

// intern returns the one state with these items.
func (m *Memory) intern(items []item) *state {
	var text []byte
	for _, i := range items {
		text = i.append(text)
	}
	if s, ok := m.states[string(text)]; ok {
		return s
	}
	s := &state{items: items, digest: digestOf(items), next: never, shown: make(map[string]trace.KeyState, len(items)), after: map[string]answer{}}
	for _, i := range items {
		s.next = min(s.next, i.expiry)
		k := trace.KeyState{Type: i.Type, Fields: i.Hash, PTTL: trace.NoExpiry}
		switch i.Type {
		case trace.TypeString:
			k.Value = &i.Text
		case trace.TypeList:
			k.Length = int64(len(i.List))
		case trace.TypeSet:
			k.Fields = make(map[string]string, len(i.List))
			for _, m := range i.List {
				k.Fields[m] = ""
			}
		case trace.TypeZSet:
			k.Fields = make(map[string]string, len(i.Set))
			for _, z := range i.Set {
				k.Fields[z.Member] = trace.Score(z.Score)
			}
		}
		s.shown[i.Name] = k
	}
	m.states[string(text)] = s
	return s
}

// digestOf digests a state's keys.
func digestOf(items []item) (digest [16]byte) {
	var text []byte
	for _, i := range items {
		text = i.append(text)
	}
	sum := sha256.Sum256(text)
	copy(digest[:], sum[:])
	return digest
}

// renamed returns items with every text in them as rename has it, in the order in
// which a state has them.
func renamed(items []item, rename func(string) string) []item {
	list := slices.Clone(items)
	for i := range list {
		it := &list[i]
		it.Name, it.Text = rename(it.Name), rename(it.Text)
		if it.Hash != nil {
			hash := make(map[string]string, len(it.Hash))
			for field, value := range it.Hash {
				hash[rename(field)] = rename(value)
			}
			it.Hash = hash
		}
		it.List, it.Set = slices.Clone(it.List), slices.Clone(it.Set)
		for n, element := range it.List {
			it.List[n] = rename(element)
		}
		if it.Type == trace.TypeSet {
			slices.Sort(it.List)
		}
		for n := range it.Set {
			it.Set[n].Member = rename(it.Set[n].Member)
		}
		slices.SortFunc(it.Set, func(a, b store.Scored) int { return cmp.Compare(a.Member, b.Member) })
	}
	slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// append writes all that a command could find.
func (i item) append(b []byte) []byte {
	b = appendText(b, i.Name)
	b = appendText(b, i.Type)
	b = strconv.AppendInt(b, i.expiry, 10)
	b = appendText(b, i.Text)
	for _, f := range sortedKeys(i.Hash) {
		b = appendText(appendText(b, f), i.Hash[f])
	}
	for _, e := range i.List {
		b = appendText(b, e)
	}
	for _, s := range i.Set {
		b = appendText(b, s.Member)
		b = strconv.AppendFloat(b, s.Score, 'g', -1, 64)
	}
	return append(b, 0)
}

func sortedKeys(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// appendText writes s so that readers can tell its end.
func appendText(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}

// read returns the state in which a miniredis is at now.
func (m *Memory) read(e *store.Embedded, now int64) (*state, error) {
	contents, err := e.Contents()
	if err != nil {
		return nil, err
	}
	return m.intern(itemsAt(contents, now)), nil
}

// itemsAt are the contents of a Redis whose clock is at now.
func itemsAt(contents []store.Item, now int64) []item {
	items := make([]item, len(contents))
	for i, c := range contents {
		items[i].Item, items[i].expiry = c, never
		if c.TTL > 0 {
			items[i].expiry = now + c.TTL.Milliseconds()
			items[i].TTL = 0
		}
	}
	return items
}

// ask has the server run a script in a state.
func (m *Memory) ask(ctx context.Context, s *state, now int64, channels []string, sha string, keys []string, args []any) (answer, error) {
	items := make([]store.Item, len(s.items))
	for i, it := range s.items {
		items[i] = it.Item
		if it.expiry != never {
			items[i].TTL = time.Duration(it.expiry-now) * time.Millisecond
		}
	}
	came, err := m.server.Run(ctx, Call{Script: sha, Keys: keys, Args: args, Now: time.UnixMilli(now), Items: items, Channels: channels})
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	a := answer{told: came.Reply, err: came.Err, after: m.intern(itemsAt(came.Items, now))}
	if came.Err == nil {
		if record, reply, err := journal.Decode(came.Reply); err == nil {
			a.told = journal.Told{Record: record, Reply: reply}
		}
	}
	m.ran++
	return a, nil
}

// load has the server take a script, and returns its digest.
func (m *Memory) load(ctx context.Context, text string) (string, error) {
	if sha, ok := m.scripts[text]; ok {
		return sha, nil
	}
	sha, err := m.server.Load(ctx, text)
	if err != nil {
		return "", fmt.Errorf("recall: load a script: %w", err)
	}
	m.scripts[text] = sha
	return sha, nil
}
