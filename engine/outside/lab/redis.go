package lab

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/phrase"
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
	Set(channels, patterns []string) error
	Take() []store.Message
	Close()
}

// backend is the Redis behind the gate. It is used by one goroutine at a time.
type backend interface {
	session() (session, error)
	inbox() (inbox, error)
	key(name string) trace.KeyState
	wholes(names []string) map[string]infer.Whole // of these keys, or of all where that costs little
	items() (list []store.Item, told bool)        // all that it holds, where that can be told and only commands change it
	ran() []journal.Entry                         // what scripts have run since the last call, where that is known
	knows(verb string) bool
	now() time.Duration // since the round began, by its own clock
	expiry() (time.Duration, bool)
	advance(d time.Duration)                      // moves its clock; nothing on the wall's
	reset(touched []string, from time.Time) error // begins a round on an empty Redis, at an instant
	keys(args []string) []string                  // that a command names which effects.Touches does not know, where reset needs them
	evict(name string)                            //
	flush()                                       // forgets all keys, in mid-round
	close()                                       //
	kind() (store string, wall bool)              // as traces and -json name it
	cluster() bool                                // it is one node of several
	lost() phrase.Wording                         // why it no longer answers, as a worker's doing; zero while it answers
}

// nodes are the Redis behind the gate, one or several, of one clock. It is used by one
// goroutine at a time.
type nodes []backend

func (n nodes) kind() (store string, wall bool) { return n[0].kind() }
func (n nodes) cluster() bool                   { return n[0].cluster() }
func (n nodes) knows(verb string) bool          { return n[0].knows(verb) }
func (n nodes) now() time.Duration              { return n[0].now() }

func (n nodes) expiry() (first time.Duration, some bool) {
	for _, b := range n {
		if left, is := b.expiry(); is && (!some || left < first) {
			first, some = left, true
		}
	}
	return first, some
}

func (n nodes) advance(d time.Duration) {
	for _, b := range n {
		b.advance(d)
	}
}

func (n nodes) keys(args []string) []string { return n[0].keys(args) }

func (n nodes) flush() {
	for _, b := range n {
		b.flush()
	}
}

func (n nodes) close() {
	for _, b := range n {
		b.close()
	}
}

func (n nodes) lost() phrase.Wording {
	for _, b := range n {
		if why := b.lost(); !why.IsZero() {
			return why
		}
	}
	return phrase.Wording{}
}

// reset begins a round on all of them, at one instant.
func (n nodes) reset(touched []string) error {
	from := time.Now()
	for _, b := range n {
		if err := b.reset(touched, from); err != nil {
			return err
		}
	}
	return nil
}

// Limits of one command's answer.
const (
	scriptFor = 20 * time.Second // of a script
	answerFor = 5 * time.Second  // of anything else that is asked of a Redis elsewhere
)

// mayNotEnd reports whether a command runs a script.
func mayNotEnd(args []string) bool {
	switch infer.Verb(args) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "EXEC":
		return true
	}
	return false
}

// embedded is the Redis of this process. After a script that does not end it is asked
// nothing any more, as a Redis that is in the middle of one.
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

func (b *embedded) keys([]string) []string { return nil }

type ownSession struct {
	b *embedded
	s *store.Conn
}

// do answers BUSY as Redis does that is in the middle of a script.
func (s ownSession) do(args []string) ([]byte, error) {
	if s.b.hung {
		return resp.Failure("BUSY Redis is busy running a script that does not end. Start the lab again."), nil
	}
	if !mayNotEnd(args) {
		return s.s.Do(args), nil
	}
	raw, err := s.s.DoWithin(context.Background(), s.b.limit, args)
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

func (i ownInbox) Set(channels, patterns []string) error {
	if !i.b.hung {
		i.i.Set(channels, patterns)
	}
	return nil
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

func (b *embedded) session() (session, error) { return ownSession{b, b.e.NewConn()}, nil }
func (b *embedded) knows(v string) bool       { return b.e.Knows(v) }
func (b *embedded) kind() (string, bool)      { return trace.StoreEmbedded, b.wall }

func (b *embedded) lost() phrase.Wording {
	if b.hung {
		return phrase.Say("runs a script that does not end")
	}
	return phrase.Wording{}
}

func (b *embedded) cluster() bool { return false }

func (b *embedded) inbox() (inbox, error) {
	if b.hung {
		return ownInbox{b: b}, nil
	}
	return ownInbox{b, b.e.NewInbox()}, nil
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

func (b *embedded) wholes([]string) map[string]infer.Whole {
	if b.hung {
		return nil
	}
	all := map[string]infer.Whole{}
	for _, name := range b.e.Names() {
		k := b.e.Key(name)
		all[name] = infer.WholeOf(k, infer.Listed(k.Type, name, func(args []string) []byte { return b.e.NewConn().Do(args) }))
	}
	return all
}

func (b *embedded) items() ([]store.Item, bool) {
	if b.wall || b.hung {
		return nil, false
	}
	list, err := b.e.Contents()
	return list, err == nil
}

func (b *embedded) ran() []journal.Entry {
	if b.hung {
		return nil
	}
	var list []journal.Entry
	for _, one := range b.e.Ran() {
		v, failed := resp.Value(one.Raw)
		list = append(list, journal.Entry{Args: one.Args, Reply: v, Err: failed})
	}
	return list
}

func (b *embedded) evict(name string) {
	if !b.hung {
		b.e.Evict(name)
	}
}

func (b *embedded) close() { _ = b.e.Close() }

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
		b.e.NewConn().Do([]string{"FLUSHALL"})
	}
}

// reset also sets its clock to the wall's: some clients send instants by their own clock.
func (b *embedded) reset(_ []string, from time.Time) error {
	if b.hung {
		return fmt.Errorf("lab: begin a round: %w", store.ErrEndless)
	}
	b.flush()
	b.from(from)
	return nil
}

// from has it begin at an instant.
func (b *embedded) from(t time.Time) {
	b.base, b.at, b.began = t.Truncate(time.Millisecond), 0, t
	if !b.wall {
		b.e.SetTime(b.base)
	}
}

// external is a Redis elsewhere: one server, also where a sentinel names it, or of a
// cluster the node that has the lock's key. Its clock is the wall's, and of its keys only
// those are forgotten that a client of the gate has named.
type external struct {
	x     *store.External
	lock  string         // the lock's key, of a cluster
	o     *redis.Options // of the server
	began time.Time
	limit time.Duration  // of an answer
	why   phrase.Wording // it has not answered in time
	plain bool           // no field of a hash can expire
}

// newExternal fails where no server has the lock's key, which only of a cluster needs to
// be known.
func newExternal(x *store.External, key string, limit time.Duration) (*external, error) {
	b := &external{x: x, lock: key, began: time.Now(), limit: limit}
	if err := b.find(); err != nil {
		return nil, err
	}
	return b, nil
}

// find asks which server it is now: another one after a fail-over.
func (b *external) find() error {
	ctx, cancel := b.within()
	defer cancel()
	o, err := b.x.Server(ctx, b.lock)
	if err != nil {
		return fmt.Errorf("lab: -redis: %w", err)
	}
	b.o = o
	return nil
}

func (b *external) cluster() bool { return b.x.Cluster() }

func (b *external) lost() phrase.Wording { return b.why }

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
	c, err := d.DialContext(context.Background(), network, b.o.Addr) // within ConnectTimeout
	if err != nil {
		return nil, fmt.Errorf("lab: %w", &store.Unreachable{At: b.o.Addr, Cause: err})
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
		if _, failed := resp.Value(raw); err == nil && failed != "" {
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
	if err := s.send(args); err != nil {
		return nil, err
	}
	return s.answer(args)
}

// send sends commands; the time for the answer to each begins with answer.
func (s *wireSession) send(commands ...[]string) error {
	if s.err != nil {
		return s.err
	}
	var out []byte
	for _, args := range commands {
		out = append(out, resp.Head('*', len(args))...)
		for _, a := range args {
			out = append(out, resp.Bulk(a)...)
		}
	}
	limit := s.limit(commands[0])
	_ = s.c.SetDeadline(time.Now().Add(limit))
	if _, err := s.c.Write(out); err != nil {
		return s.failed(err, limit, commands[0])
	}
	return nil
}

// answer reads the next answer.
func (s *wireSession) answer(args []string) ([]byte, error) {
	limit := s.limit(args)
	_ = s.c.SetDeadline(time.Now().Add(limit))
	raw, err := resp.Read(s.r)
	if err != nil {
		return nil, s.failed(err, limit, args)
	}
	s.b.why = phrase.Wording{}
	return raw, nil
}

func (s *wireSession) limit(args []string) time.Duration {
	if mayNotEnd(args) {
		return min(s.b.limit, scriptFor)
	}
	return min(s.b.limit, answerFor)
}

// failed ends the connection: the next bytes would pass for the next answer.
func (s *wireSession) failed(err error, limit time.Duration, args []string) error {
	_ = s.c.Close()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.b.why = phrase.Say("waits for Redis: for %s no answer has come to %s", limit, infer.Verb(args))
	}
	s.err = fmt.Errorf("lab: ask Redis: %w", err)
	return s.err
}

func (s *wireSession) close() { _ = s.c.Close() }

// wireInbox is a subscription on a Redis elsewhere. A published message has come once a
// later PING is answered: both are on the same connection.
type wireInbox struct {
	b    *external
	s    *wireSession
	list []store.Message
}

func (b *external) inbox() (inbox, error) {
	s, err := b.session()
	if err != nil {
		return nil, err
	}
	return &wireInbox{b: b, s: s.(*wireSession)}, nil
}

// Set fails if Redis does not confirm in time that it listens.
func (i *wireInbox) Set(channels, patterns []string) error {
	commands := [][]string{{"UNSUBSCRIBE"}, {"PUNSUBSCRIBE"}}
	if len(channels) > 0 {
		commands = append(commands, append([]string{"SUBSCRIBE"}, channels...))
	}
	if len(patterns) > 0 {
		commands = append(commands, append([]string{"PSUBSCRIBE"}, patterns...))
	}
	return i.await(commands...)
}

// await sends commands, and reads what comes until Redis has answered all of them.
func (i *wireInbox) await(commands ...[]string) error {
	const mark = "relock"
	ping := []string{"PING", mark}
	err := i.s.send(append(commands, ping)...)
	for err == nil {
		var raw []byte
		if raw, err = i.s.answer(ping); err != nil {
			break
		}
		v, failed := resp.Value(raw)
		list, _ := v.([]any)
		words := make([]string, len(list))
		for n, one := range list {
			words[n], _ = one.(string)
		}
		switch {
		case failed != "":
			return fmt.Errorf("lab: subscribe: %s", failed)
		case v == mark, len(words) == 2 && words[0] == "pong" && words[1] == mark:
			return nil
		case len(words) == 3 && words[0] == "message":
			i.list = append(i.list, store.Message{Channel: words[1], Text: words[2]})
		case len(words) == 4 && words[0] == "pmessage":
			i.list = append(i.list, store.Message{Pattern: words[1], Channel: words[2], Text: words[3]})
		}
	}
	return err
}

// Take returns the published messages; if Redis does not answer, those that have come
// so far.
func (i *wireInbox) Take() []store.Message {
	_ = i.await() // lost says why
	list := i.list
	i.list = nil
	return list
}

func (i *wireInbox) Close() { i.s.close() }

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
		if k.PTTL == trace.NoExpiry && len(k.Fields) > 0 {
			k.PTTL = b.lastField(ctx, name, k.Fields)
		}
	case trace.TypeSet:
		k.Fields = map[string]string{}
		for _, m := range c.SMembers(ctx, name).Val() {
			k.Fields[m] = ""
		}
	case trace.TypeZSet:
		k.Fields = map[string]string{}
		for _, z := range c.ZRangeWithScores(ctx, name, 0, -1).Val() {
			k.Fields[fmt.Sprint(z.Member)] = trace.Score(z.Score)
		}
	case trace.TypeList:
		k.Length = c.LLen(ctx, name).Val()
	case trace.TypeString:
		v := c.Get(ctx, name).Val()
		k.Value = &v
	}
	return k
}

// lastField is how many milliseconds are left of a hash whose fields all expire by
// themselves; trace.NoExpiry for others, and if Redis, before 7.4, has no such fields.
func (b *external) lastField(ctx context.Context, name string, fields map[string]string) int64 {
	if b.plain {
		return trace.NoExpiry
	}
	left, err := b.x.Client().HPTTL(ctx, name, slices.Collect(maps.Keys(fields))...).Result()
	if err != nil || len(left) == 0 {
		b.plain = strings.Contains(fmt.Sprint(err), "unknown command")
		return trace.NoExpiry
	}
	if slices.Min(left) < 0 {
		return trace.NoExpiry
	}
	return slices.Max(left)
}

// keys are those that a command names which the lab does not know.
func (b *external) keys(args []string) []string {
	ctx, cancel := b.within()
	defer cancel()
	ask := []any{"COMMAND", "GETKEYS"}
	for _, a := range args {
		ask = append(ask, a)
	}
	names, _ := b.x.Client().Do(ctx, ask...).StringSlice() // none, or no such command
	return names
}

func (b *external) wholes(names []string) map[string]infer.Whole {
	all := map[string]infer.Whole{}
	for _, name := range names {
		k := b.key(name)
		if !k.Exists() {
			continue
		}
		all[name] = infer.WholeOf(k, infer.Listed(k.Type, name, b.asks))
	}
	return all
}

// asks is what a list of texts is answered with, for infer.Listed.
func (b *external) asks(args []string) []byte {
	s, err := b.session()
	if err != nil {
		return nil
	}
	defer s.close()
	raw, _ := s.do(args)
	return raw
}

func (b *external) ran() []journal.Entry          { return nil }
func (b *external) items() ([]store.Item, bool)   { return nil, false }
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
func (b *external) reset(touched []string, from time.Time) error {
	if b.x.Sentinel() {
		if err := b.find(); err != nil {
			return err
		}
	}
	b.began = from
	if len(touched) == 0 {
		return nil
	}
	ctx, cancel := b.within()
	defer cancel()
	_, err := b.x.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range touched { // one by one: a cluster takes no others
			p.Del(ctx, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("lab: begin a round: %w", err)
	}
	return nil
}
