package recall

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/journal"
	"relock/engine/phrase"
	"relock/engine/store"
)

// Second is a Redis that is asked what the embedded one was asked, each question once,
// and whose answers are compared. It is safe for concurrent use. A nil one asks nothing.
type Second struct {
	mu     sync.Mutex
	redis  *store.Beside
	asked  map[string]bool
	knows  map[string]bool
	same   int
	differ *difference
}

// difference is a script that a Redis answers otherwise.
type difference struct {
	Text       string // the script
	Keys       []string
	Args       []any
	State      string // before
	Here, Real string // what came of it
}

// NewSecond starts a redis-server. It fails with store.ErrNoServer.
func NewSecond(ctx context.Context) (*Second, error) {
	b, err := store.StartBeside(ctx)
	if err != nil {
		return nil, err
	}
	return &Second{redis: b, asked: map[string]bool{}, knows: map[string]bool{}}, nil
}

// Checked is what a second Redis has answered. The zero value is of one that was not asked.
type Checked struct {
	On            string         // its version: "7.0.15"
	Same, Differs phrase.Wording // that all answers were the same, or what was not, a sentence
}

// Says is what it has answered since it was last called. The scripts are those that it may
// have been asked, by name.
func (s *Second) Says(scripts map[string]string) Checked {
	if s == nil {
		return Checked{}
	}
	n, d := s.take()
	on := s.redis.Version()
	switch {
	case d == nil && n == 0:
		return Checked{}
	case d == nil:
		return Checked{On: on, Same: phrase.Say("Checked on Redis %[1]s: %[2]d answers of scripts are the same there.", on, n)}
	}
	name := ""
	for one, source := range scripts {
		if journal.Wrap(source) == d.Text {
			name = one
		}
	}
	return Checked{On: on, Differs: phrase.Say("Redis %[1]s answers %[2]s otherwise. In the state %[3]s, with the keys %[4]s and the arguments %[5]s: here %[6]s; there %[7]s.",
		on, name, d.State, fmt.Sprintf("%q", d.Keys), fmt.Sprintf("%q", d.Args), d.Here, d.Real)}
}

// take returns how many answers were the same since it was last called, and the first
// that was not, or nil.
func (s *Second) take() (same int, differ *difference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same, differ = s.same, s.differ
	s.same, s.differ = 0, nil
	clear(s.asked)
	return same, differ
}

// Close ends the server.
func (s *Second) Close() error {
	if s == nil {
		return nil
	}
	return s.redis.Close()
}

type secondKey struct{}

// WithSecond returns a context in which a second Redis is asked, too.
func WithSecond(ctx context.Context, s *Second) context.Context {
	return context.WithValue(ctx, secondKey{}, s)
}

// Checked has the context's second Redis asked, too, what m asks its server.
func (m *Memory) Checked(ctx context.Context) *Memory {
	if s, ok := ctx.Value(secondKey{}).(*Second); ok {
		m.server = &checked{Server: m.server, by: s, texts: map[string]string{}}
	}
	return m
}

type checked struct {
	Server

	by    *Second
	texts map[string]string // by digest
}

// Load implements Server.
func (c *checked) Load(ctx context.Context, text string) (string, error) {
	sha, err := c.Server.Load(ctx, text)
	if err == nil {
		c.texts[sha] = text
	}
	return sha, err
}

// Run implements Server.
func (c *checked) Run(ctx context.Context, call Call) (Outcome, error) {
	out, err := c.Server.Run(ctx, call)
	if text, ok := c.texts[call.Script]; ok && err == nil && c.by.New(call) {
		c.by.Compare(ctx, text, call, out)
	}
	return out, err
}

// tries is how often a Redis is asked whose answer differs: its clock goes on meanwhile.
const tries = 3

// New reports whether it was not asked a call, and is to be.
func (s *Second) New(c Call) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.differ == nil && !s.asked[c.question()]
}

func (c Call) question() string {
	return fmt.Sprintf("%q %q %q %v", c.Script, c.Keys, c.Args, store.Shown(c.Items))
}

// Compare asks for the answer to a call of a script with a text, which journals what it does,
// unless it depends on what the Redis has not: who listens, what time it is, or a command of a
// later Redis.
func (s *Second) Compare(ctx context.Context, text string, c Call, here Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	question := c.question()
	if s.differ != nil || s.asked[question] || !s.asks(ctx, c, here) {
		return
	}
	s.asked[question] = true
	var there Outcome
	busy := false
	for range tries {
		var err error
		began := time.Now()
		if there.Reply, there.Err, there.Items, err = s.redis.Ask(ctx, c.Items, text, c.Keys, c.Args); err != nil {
			return // it says nothing, and so nothing is said of it
		}
		if nearMS.alike(here, there) {
			s.same++
			return
		}
		busy = busy || (nearMS+tolerance(time.Since(began).Milliseconds())).alike(here, there)
	}
	if busy { // only its clock went on meanwhile: nothing is said of it
		return
	}
	s.differ = &difference{Text: text, Keys: c.Keys, Args: c.Args, State: store.Shown(c.Items), Here: here.shown(), Real: there.shown()}
}

// asks reports whether a Redis can be asked.
func (s *Second) asks(ctx context.Context, c Call, here Outcome) bool {
	for _, i := range slices.Concat(c.Items, here.Items) {
		if len(i.Lives) > 0 {
			return false
		}
	}
	record, _, err := journal.Decode(here.Reply)
	if here.Err != nil || err != nil {
		return true
	}
	if !timeless(journal.Told{Record: record}) {
		return false
	}
	for _, e := range record.Entries {
		verb := strings.ToUpper(e.Args[0])
		known, ok := s.knows[verb]
		if !ok {
			known = s.redis.Knows(ctx, verb)
			s.knows[verb] = known
		}
		if !known || verb == "PUBLISH" && len(c.Channels) > 0 {
			return false
		}
	}
	return true
}

// tolerance is how far two times left may be from each other, in ms.
type tolerance int64

const nearMS tolerance = 1

// alike reports whether two outcomes are the same. Of an error its code counts, and a hash and
// a set have no order.
func (t tolerance) alike(a, b Outcome) bool {
	if (a.Err == nil) != (b.Err == nil) || a.Err != nil && code(a.Err.Error()) != code(b.Err.Error()) {
		return false
	}
	if !slices.EqualFunc(a.Items, b.Items, t.sameItem) {
		return false
	}
	one, said, err := journal.Decode(a.Reply)
	other, saidThere, failed := journal.Decode(b.Reply)
	if err != nil || failed != nil {
		return (err == nil) == (failed == nil) && t.near(a.Reply, b.Reply, true)
	}
	timed := false
	return slices.EqualFunc(one.Entries, other.Entries, func(x, y journal.Entry) bool {
		verb := strings.ToUpper(x.Args[0])
		asks := verb == "TTL" || verb == "PTTL"
		same := slices.EqualFunc(x.Args, y.Args, func(a, b string) bool { return a == b || timed }) && code(x.Err) == code(y.Err)
		timed = timed || asks
		return same && (t.near(x.Reply, y.Reply, asks) || unordered(verb) && slices.Equal(parts(x.Reply), parts(y.Reply)))
	}) && code(said.Err) == code(saidThere.Err) && t.near(said.Value, saidThere.Value, timed)
}

// sameItem reports whether two keys are alike.
func (t tolerance) sameItem(a, b store.Item) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Text == b.Text && maps.Equal(a.Hash, b.Hash) && slices.Equal(a.List, b.List) && slices.Equal(a.Set, b.Set) &&
		(a.TTL > 0) == (b.TTL > 0) && (a.TTL-b.TTL).Abs() <= time.Duration(t)*time.Millisecond
}

// near reports whether two replies are the same; numbers may be near if they are times.
func (t tolerance) near(a, b any, times bool) bool {
	if x, ok := a.([]any); ok {
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(a, b any) bool { return t.near(a, b, times) })
	}
	x, ok := a.(int64)
	y, too := b.(int64)
	if ok && too && times {
		return math.Abs(float64(x)-float64(y)) <= float64(t)
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

func unordered(verb string) bool {
	return verb == "HGETALL" || verb == "HKEYS" || verb == "HVALS" || verb == "SMEMBERS"
}

// parts are a list's members in an order of their own.
func parts(reply any) []string {
	list, _ := reply.([]any)
	texts := make([]string, len(list))
	for n, one := range list {
		texts[n] = fmt.Sprint(one)
	}
	slices.Sort(texts)
	return texts
}

// code is what an error begins with.
func code(text string) string {
	first, _, _ := strings.Cut(text, " ")
	return first
}

// shown is an outcome in a line.
func (o Outcome) shown() string {
	answer := fmt.Sprint(o.Reply)
	if record, reply, err := journal.Decode(o.Reply); err == nil {
		answer = fmt.Sprint(reply.Value)
		if reply.Err != "" {
			answer = reply.Err
		}
		for _, e := range record.Entries {
			answer += fmt.Sprintf("; %s: %v%s", strings.Join(e.Args, " "), e.Reply, e.Err)
		}
	}
	if o.Err != nil {
		answer = o.Err.Error()
	}
	return answer + "; " + store.Shown(o.Items)
}
