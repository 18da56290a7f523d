package lab

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
	"relock/engine/store"
	"relock/engine/trace"
)

// session is one client's connection to the Redis behind the gate.
type session interface {
	do(args []string) ([]byte, error)
	close()
}

// inbox collects the messages of a subscriber.
type inbox interface {
	Set(channels, patterns []string)
	Take() []store.Message
	Close()
}

// backend is the Redis behind the gate. It is used by one goroutine at a time.
type backend interface {
	session() (session, error)
	inbox() inbox
	key(name string) trace.KeyState
	knows(verb string) bool
	now() time.Duration // since the round began, by its own clock
	expiry() (time.Duration, bool)
	advance(d time.Duration)         // moves its clock; nothing on the wall's
	reset(touched []string) error    // begins a round on an empty Redis
	evict(name string)               //
	flush()                          // forgets all keys, in mid-round
	close()                          //
	kind() (store string, wall bool) // as traces and -json name it
	lost() string                    // why it answers no more, as what a worker does to it; "" while it answers
}

// Limits of one command's answer.
const (
	scriptFor = 20 * time.Second // of a script
	answerFor = 5 * time.Second  // of anything else that is asked of a Redis elsewhere
)

// mayNotEnd reports whether a command runs a script.
func mayNotEnd(args []string) bool {
	switch verb(args) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "EXEC":
		return true
	}
	return false
}

// embedded is the Redis of this process. In the middle of a script that does not end
// it is asked nothing any more: it would not answer.
type embedded struct {
	e     *store.Embedded
	base  time.Time
	at    time.Duration
	wall  bool
	began time.Time
	limit time.Duration // of a script
	hung  bool
	name  string // of the key that was asked for last
	seen  trace.KeyState
}

func newEmbedded(wall bool, limit time.Duration) *embedded {
	b := &embedded{wall: wall, base: time.Now().Truncate(time.Millisecond), began: time.Now(), limit: min(limit, scriptFor)}
	if wall {
		b.e = store.NewEmbedded(time.Time{})
	} else {
		b.e = store.NewEmbedded(b.base)
	}
	return b
}

type ownSession struct {
	b *embedded
	s *store.Session
}

// do answers BUSY as Redis does that is in the middle of a script.
func (s ownSession) do(args []string) ([]byte, error) {
	if s.b.hung {
		return failure("BUSY Redis is busy running a script that does not end. Start the lab again."), nil
	}
	if !mayNotEnd(args) {
		return s.s.Do(args), nil
	}
	raw, err := s.s.DoWithin(s.b.limit, args)
	if err != nil {
		s.b.hung = true
		return nil, fmt.Errorf("lab: %w", err)
	}
	return raw, nil
}

func (s ownSession) close() {}

// ownInbox is a subscription on the Redis of this process.
type ownInbox struct {
	b *embedded
	i *store.Inbox // nil of one that has come too late
}

func (i ownInbox) Set(channels, patterns []string) {
	if !i.b.hung {
		i.i.Set(channels, patterns)
	}
}

func (i ownInbox) Take() []store.Message {
	if i.b.hung {
		return nil
	}
	return i.i.Take()
}

func (i ownInbox) Close() {
	if !i.b.hung {
		i.i.Close()
	}
}

func (b *embedded) session() (session, error) { return ownSession{b, b.e.NewSession()}, nil }
func (b *embedded) knows(v string) bool       { return b.e.Knows(v) }
func (b *embedded) kind() (string, bool)      { return trace.StoreEmbedded, b.wall }

func (b *embedded) lost() string {
	if b.hung {
		return "runs a script that does not end"
	}
	return ""
}

func (b *embedded) inbox() inbox {
	if b.hung {
		return ownInbox{b: b}
	}
	return ownInbox{b, b.e.NewInbox()}
}

func (b *embedded) key(name string) trace.KeyState {
	switch {
	case !b.hung:
		b.name, b.seen = name, b.e.Key(name)
	case name != b.name:
		return trace.Absent()
	}
	return b.seen
}

func (b *embedded) evict(name string) {
	if !b.hung {
		b.e.Evict(name)
	}
}

func (b *embedded) close() {
	if !b.hung {
		_ = b.e.Close()
	}
}

func (b *embedded) expiry() (time.Duration, bool) {
	if b.hung {
		return 0, false
	}
	return b.e.NextExpiry()
}

func (b *embedded) now() time.Duration {
	if b.wall {
		return time.Since(b.began)
	}
	return b.at
}

func (b *embedded) advance(d time.Duration) {
	if !b.wall && !b.hung {
		b.at += d
		b.e.SetTime(b.base.Add(b.at))
	}
}

// flush empties it; its scripts stay.
func (b *embedded) flush() {
	if !b.hung {
		b.e.NewSession().Do([]string{"FLUSHALL"})
	}
}

// reset also sets its clock to the wall's: some clients send instants of theirs.
func (b *embedded) reset([]string) error {
	if b.hung {
		return fmt.Errorf("lab: begin a round: %w", store.ErrEndless)
	}
	b.flush()
	b.base, b.at, b.began = time.Now().Truncate(time.Millisecond), 0, time.Now()
	if !b.wall {
		b.e.SetTime(b.base)
	}
	return nil
}

// external is a Redis elsewhere. Its clock is the wall's, and of its keys only those
// are forgotten that a client of the gate has named.
type external struct {
	x     *store.External
	o     *redis.Options
	began time.Time
	limit time.Duration // of an answer
	why   string        // it has not answered in time
}

// newExternal fails where the URL is of a cluster or of a sentinel: the gate stands
// before one server, and a client of a cluster would ask for its other nodes.
func newExternal(x *store.External, url string, limit time.Duration) (*external, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("lab: -redis: %w; allowed: one server, redis:// or rediss://", store.ErrURL)
	}
	return &external{x: x, o: o, began: time.Now(), limit: limit}, nil
}

func (b *external) lost() string { return b.why }

// within is how long a question of the lab's own may take.
func (b *external) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), min(b.limit, answerFor))
}

type wireSession struct {
	b   *external
	c   net.Conn
	r   *bufio.Reader
	err error // why it answers no more
}

func (b *external) session() (session, error) {
	d := net.Dialer{Timeout: store.ConnectTimeout}
	network := b.o.Network
	if network == "" {
		network = "tcp"
	}
	c, err := d.DialContext(context.Background(), network, b.o.Addr)
	if err != nil {
		return nil, fmt.Errorf("lab: %w: %w", store.ErrUnreachable, err)
	}
	if b.o.TLSConfig != nil {
		c = tls.Client(c, b.o.TLSConfig)
	}
	s := &wireSession{b: b, c: c, r: bufio.NewReader(c)}
	var first [][]string
	switch {
	case b.o.Username != "":
		first = append(first, []string{"AUTH", b.o.Username, b.o.Password})
	case b.o.Password != "":
		first = append(first, []string{"AUTH", b.o.Password})
	}
	if b.o.DB != 0 {
		first = append(first, []string{"SELECT", strconv.Itoa(b.o.DB)})
	}
	for _, args := range first {
		raw, err := s.do(args)
		if _, failed := value(raw); err == nil && failed != "" {
			err = fmt.Errorf("lab: %s: %s", args[0], failed)
		}
		if err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *wireSession) do(args []string) ([]byte, error) {
	out := head('*', len(args))
	for _, a := range args {
		out = append(out, bulk(a)...)
	}
	if s.err != nil {
		return nil, s.err
	}
	limit := min(s.b.limit, answerFor)
	if mayNotEnd(args) {
		limit = min(s.b.limit, scriptFor)
	}
	_ = s.c.SetDeadline(time.Now().Add(limit))
	_, err := s.c.Write(out)
	var raw []byte
	if err == nil {
		raw, err = frame(s.r)
	}
	if err == nil {
		s.b.why = ""
		return raw, nil
	}
	_ = s.c.Close() // what comes now would be taken for the next answer
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.b.why = fmt.Sprintf("waits for Redis: for %s no answer has come to %s", limit, verb(args))
	}
	s.err = fmt.Errorf("lab: ask Redis: %w", err)
	return nil, s.err
}

func (s *wireSession) close() { _ = s.c.Close() }

// wireInbox is a subscription on a Redis elsewhere. What was published is there a
// moment later, and nothing says when.
type wireInbox struct {
	p *redis.PubSub
}

const messageAfter = 5 * time.Millisecond

func (b *external) inbox() inbox { return wireInbox{b.x.Client().Subscribe(context.Background())} }

func (i wireInbox) Set(channels, patterns []string) {
	ctx, cancel := context.WithTimeout(context.Background(), answerFor)
	defer cancel()
	_ = i.p.Unsubscribe(ctx)
	_ = i.p.PUnsubscribe(ctx)
	if len(channels) > 0 {
		_ = i.p.Subscribe(ctx, channels...)
	}
	if len(patterns) > 0 {
		_ = i.p.PSubscribe(ctx, patterns...)
	}
}

func (i wireInbox) Take() []store.Message {
	var list []store.Message
	for {
		m, err := i.p.ReceiveTimeout(context.Background(), messageAfter)
		if err != nil {
			return list
		}
		if m, ok := m.(*redis.Message); ok {
			list = append(list, store.Message{Pattern: m.Pattern, Channel: m.Channel, Text: m.Payload})
		}
	}
}

func (i wireInbox) Close() { _ = i.p.Close() }

func (b *external) key(name string) trace.KeyState {
	ctx, cancel := b.within()
	defer cancel()
	c := b.x.Client()
	k := trace.Absent()
	k.Type = c.Type(ctx, name).Val()
	if k.Type == trace.TypeNone || k.Type == "" {
		return trace.Absent()
	}
	k.PTTL = trace.NoExpiry
	if ttl := c.PTTL(ctx, name).Val(); ttl > 0 {
		k.PTTL = ttl.Milliseconds()
	}
	switch k.Type {
	case trace.TypeHash:
		k.Fields = c.HGetAll(ctx, name).Val()
	case trace.TypeString:
		v := c.Get(ctx, name).Val()
		k.Value = &v
	}
	return k
}

func (b *external) knows(string) bool             { return true }
func (b *external) now() time.Duration            { return time.Since(b.began) }
func (b *external) expiry() (time.Duration, bool) { return 0, false }
func (b *external) advance(time.Duration)         {}
func (b *external) flush()                        {}
func (b *external) close()                        {}
func (b *external) kind() (string, bool)          { return trace.StoreExternal, true }

func (b *external) evict(name string) {
	ctx, cancel := b.within()
	defer cancel()
	b.x.Client().Del(ctx, name)
}

// reset deletes what was touched: others may use this Redis, too.
func (b *external) reset(touched []string) error {
	b.began = time.Now()
	if len(touched) == 0 {
		return nil
	}
	ctx, cancel := b.within()
	defer cancel()
	if err := b.x.Client().Del(ctx, touched...).Err(); err != nil {
		return fmt.Errorf("lab: begin a round: %w", err)
	}
	return nil
}

// run runs a command; watched, a script reports its own commands, with the key
// that it was given first as it was right after each.
func run(s session, args []string, text string, watched bool) (raw []byte, inner []journal.Entry, err error) {
	if text != "" { // a script of which the text is known needs not be cached
		args = append([]string{"EVAL"}, append([]string{text}, args[2:]...)...)
	}
	if !watched || text == "" {
		raw, err = s.do(args)
		return raw, nil, err
	}
	asked := slices.Clone(args)
	asked[1] = journal.Wrap(text)
	if raw, err = s.do(asked); err != nil {
		return nil, nil, err
	}
	v, failed := value(raw)
	if failed != "" { // it is no Lua, say
		return raw, nil, nil
	}
	record, reply, err := journal.Decode(v)
	if err != nil {
		return nil, nil, fmt.Errorf("lab: a script's journal: %w", err)
	}
	for i, e := range record.Entries {
		if e.Line == 0 {
			record.Entries[i].Line = returned(text, e.Args[0])
		}
	}
	if reply.Err != "" {
		return failure(reply.Err), record.Entries, nil
	}
	parts, err := elements(raw)
	if err != nil || len(parts) < 3 {
		return nil, nil, errNotList
	}
	boxed, err := elements(parts[2])
	if err != nil {
		return nil, nil, err
	}
	if len(boxed) == 0 {
		return []byte("$-1\r\n"), record.Entries, nil
	}
	return boxed[0], record.Entries, nil
}

// returned returns the line at which a script returns what a command answers, where
// there is one such line; else 0. To Lua that is a tail call, which leaves no line.
func returned(text, verb string) int {
	of, err := regexp.Compile(`(?i)return\s+redis\s*\.\s*p?call\s*\(\s*["']` + regexp.QuoteMeta(verb) + `["']`)
	if err != nil {
		return 0
	}
	at := of.FindAllStringIndex(text, 2)
	if len(at) != 1 {
		return 0
	}
	return 1 + strings.Count(text[:at[0][0]], "\n")
}
