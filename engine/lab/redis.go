package lab

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
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
}

// embedded is the Redis of this process.
type embedded struct {
	e     *store.Embedded
	base  time.Time
	at    time.Duration
	wall  bool
	began time.Time
}

func newEmbedded(wall bool) *embedded {
	b := &embedded{wall: wall, base: time.Now().Truncate(time.Millisecond), began: time.Now()}
	if wall {
		b.e = store.NewEmbedded(time.Time{})
	} else {
		b.e = store.NewEmbedded(b.base)
	}
	return b
}

type ownSession struct{ s *store.Session }

func (s ownSession) do(args []string) ([]byte, error) { return s.s.Do(args), nil }
func (s ownSession) close()                           {}

func (b *embedded) session() (session, error)      { return ownSession{b.e.NewSession()}, nil }
func (b *embedded) inbox() inbox                   { return b.e.NewInbox() }
func (b *embedded) key(name string) trace.KeyState { return b.e.Key(name) }
func (b *embedded) knows(v string) bool            { return b.e.Knows(v) }
func (b *embedded) evict(name string)              { b.e.Evict(name) }
func (b *embedded) close()                         { _ = b.e.Close() }
func (b *embedded) kind() (string, bool)           { return trace.StoreEmbedded, b.wall }
func (b *embedded) expiry() (time.Duration, bool)  { return b.e.NextExpiry() }

func (b *embedded) now() time.Duration {
	if b.wall {
		return time.Since(b.began)
	}
	return b.at
}

func (b *embedded) advance(d time.Duration) {
	if !b.wall {
		b.at += d
		b.e.SetTime(b.base.Add(b.at))
	}
}

// flush empties it; its scripts stay.
func (b *embedded) flush() {
	s := b.e.NewSession()
	s.Do([]string{"FLUSHALL"})
}

// reset also sets its clock to the wall's: some clients send instants of theirs.
func (b *embedded) reset([]string) error {
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
}

// newExternal fails where the URL is of a cluster or of a sentinel: the gate stands
// before one server, and a client of a cluster would ask for its other nodes.
func newExternal(x *store.External, url string) (*external, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("lab: -redis: %w; allowed: one server, redis:// or rediss://", store.ErrURL)
	}
	return &external{x: x, o: o, began: time.Now()}, nil
}

type wireSession struct {
	c net.Conn
	r *bufio.Reader
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
	s := &wireSession{c, bufio.NewReader(c)}
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
	if _, err := s.c.Write(out); err != nil {
		return nil, fmt.Errorf("lab: ask Redis: %w", err)
	}
	return frame(s.r)
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
	ctx := context.Background()
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
	ctx, c := context.Background(), b.x.Client()
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
func (b *external) evict(name string)             { b.x.Client().Del(context.Background(), name) }
func (b *external) flush()                        {}
func (b *external) close()                        {}
func (b *external) kind() (string, bool)          { return trace.StoreExternal, true }

// reset deletes what was touched: others may use this Redis, too.
func (b *external) reset(touched []string) error {
	b.began = time.Now()
	if len(touched) == 0 {
		return nil
	}
	if err := b.x.Client().Del(context.Background(), touched...).Err(); err != nil {
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
