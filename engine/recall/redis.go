package recall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
	"relock/engine/store"
	"relock/engine/trace"
)

// Redis is one Redis that answers from a Memory. It has the methods of
// [store.Embedded], and is a [journal.Scripter]. It is not safe for concurrent
// use.
type Redis struct {
	m        *Memory
	at       *state
	now      int64 // milliseconds by its own clock
	cached   map[string]bool
	writes   []store.Write
	channels []string // one for each who listens, sorted
	born     int      // fail-overs so far
	buf      []byte
}

var _ journal.Scripter = (*Redis)(nil)

// NewRedis returns an empty Redis with its clock at now.
func (m *Memory) NewRedis(now time.Time) *Redis {
	return &Redis{m: m, at: m.intern(nil), now: now.UnixMilli(), cached: map[string]bool{}}
}

// Holding returns a Redis with its clock at now that has these items.
func (m *Memory) Holding(now time.Time, items []store.Item) *Redis {
	r := m.NewRedis(now)
	r.at = m.intern(itemsAt(items, r.now))
	return r
}

// Copy returns a Redis with the same keys that goes its own way.
func (r *Redis) Copy() *Redis {
	c := *r
	c.cached, c.writes, c.channels, c.buf = maps.Clone(r.cached), nil, slices.Clone(r.channels), nil
	return &c
}

// NextExpiry is store.Embedded.NextExpiry.
func (r *Redis) NextExpiry() (left time.Duration, any bool) {
	if r.at.next == never {
		return 0, false
	}
	return time.Duration(r.at.next-r.now) * time.Millisecond, true
}

// ScriptLoad implements journal.Scripter.
func (r *Redis) ScriptLoad(ctx context.Context, text string) *redis.StringCmd {
	cmd := redis.NewStringCmd(ctx)
	sha, err := r.m.load(ctx, text)
	if err != nil {
		cmd.SetErr(err)
		return cmd
	}
	r.cached[sha] = true
	cmd.SetVal(sha)
	return cmd
}

// Eval implements journal.Scripter.
func (r *Redis) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	sha, err := r.m.load(ctx, text)
	if err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	r.cached[sha] = true
	return r.EvalSha(ctx, sha, keys, args...)
}

// EvalSha implements journal.Scripter.
func (r *Redis) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	if err := ctx.Err(); err != nil {
		cmd.SetErr(err)
		return cmd
	}
	if !r.cached[sha] {
		cmd.SetErr(unknownScript{})
		return cmd
	}
	r.m.asked++
	a, err := r.answer(ctx, sha, keys, args)
	if err != nil {
		cmd.SetErr(err)
		return cmd
	}
	r.at = a.after
	if a.err != nil {
		cmd.SetErr(a.err)
		return cmd
	}
	cmd.SetVal(a.told)
	return cmd
}

// answer is what a script comes to: as it did in this state at this instant, or
// with as much time left, or as the miniredis says.
func (r *Redis) answer(ctx context.Context, sha string, keys []string, args []any) (answer, error) {
	r.buf = r.call(r.buf[:0], sha, keys, args)
	instant := len(r.buf)
	r.buf = strconv.AppendInt(r.buf, r.now, 10)
	if a, ok := r.at.after[string(r.buf)]; ok {
		return a, nil
	}
	moment := r.m.moment(r.at, r.now)
	l, ok := moment[string(r.buf[:instant])]
	a := answer{}
	if ok {
		a = l.at(r.m, r.now)
	} else {
		var err error
		if a, err = r.m.ask(ctx, r.at, r.now, r.channels, sha, keys, args); err != nil {
			return a, err
		}
		if timeless(a.told) {
			moment[string(r.buf[:instant])] = later{a.told, a.err, shifted(a.after.items, -r.now)}
		}
	}
	r.at.after[string(r.buf)] = a
	return a, nil
}

// call writes all on which a script's answer depends, but the state and the
// instant.
func (r *Redis) call(b []byte, sha string, keys []string, args []any) []byte {
	b = append(b, sha...)
	for _, c := range r.channels {
		b = appendText(b, c)
	}
	b = append(b, ' ')
	for _, k := range keys {
		b = appendText(b, k)
	}
	b = append(b, ' ')
	for _, a := range args {
		switch a := a.(type) {
		case string:
			b = appendText(b, a)
		case int64:
			b = append(strconv.AppendInt(b, a, 10), ',')
		default:
			b = appendText(b, fmt.Sprint(a))
		}
	}
	return append(b, ' ')
}

// SetTime is store.Embedded.SetTime.
func (r *Redis) SetTime(now time.Time) {
	r.now = now.UnixMilli()
	if r.at.next > r.now {
		return
	}
	r.at = r.m.intern(slices.DeleteFunc(slices.Clone(r.at.items), func(i item) bool { return i.expiry <= r.now }))
}

// Key is store.Embedded.Key.
func (r *Redis) Key(name string) trace.KeyState {
	k, ok := r.at.shown[name]
	if !ok {
		return trace.Absent()
	}
	for i := range r.at.items {
		if it := &r.at.items[i]; it.Name == name && it.expiry != never {
			k.PTTL = it.expiry - r.now
		}
	}
	return k
}

// Wrote is store.Embedded.Wrote.
func (r *Redis) Wrote(commands [][]string) {
	if len(commands) > 0 {
		r.writes = append(r.writes, store.Write{At: time.UnixMilli(r.now).UTC(), Commands: commands})
	}
}

// HasWrites is store.Embedded.HasWrites.
func (r *Redis) HasWrites() bool { return len(r.writes) > 0 }

// Empty is store.Embedded.Empty.
func (r *Redis) Empty() bool { return len(r.at.items) == 0 }

// HasExpiry is store.Embedded.HasExpiry.
func (r *Redis) HasExpiry() bool { return r.at.next != never }

// HasScripts is store.Embedded.HasScripts.
func (r *Redis) HasScripts(_ context.Context, digests []string) (bool, error) {
	return slices.ContainsFunc(digests, func(sha string) bool { return r.cached[sha] }), nil
}

// Evict is store.Embedded.Evict.
func (r *Redis) Evict(name string) bool {
	left := slices.DeleteFunc(slices.Clone(r.at.items), func(i item) bool { return i.Name == name })
	there := len(left) < len(r.at.items)
	r.at = r.m.intern(left)
	if there {
		r.Wrote([][]string{{"DEL", name}})
	}
	return there
}

// Restart is store.Embedded.Restart.
func (r *Redis) Restart(ctx context.Context, keep bool) error {
	if !keep {
		r.at, r.writes = r.m.intern(nil), nil
	}
	return r.FlushScripts(ctx)
}

// FlushScripts is store.Embedded.FlushScripts.
func (r *Redis) FlushScripts(context.Context) error {
	clear(r.cached)
	return nil
}

// Jump is store.Embedded.Jump.
func (r *Redis) Jump(now time.Time) { r.SetTime(now) }

// Restore is store.Embedded.Restore.
func (r *Redis) Restore(ctx context.Context, lose time.Duration) error {
	onDisk := time.UnixMilli(r.now).Add(-lose)
	r.writes = slices.DeleteFunc(slices.Clone(r.writes), func(w store.Write) bool { return w.At.After(onDisk) })
	var err error
	if r.at, err = r.written(ctx); err != nil {
		return err
	}
	return r.FlushScripts(ctx)
}

// FailOver is store.Embedded.FailOver.
func (r *Redis) FailOver(ctx context.Context, behind int) error {
	r.writes = r.writes[:max(len(r.writes)-behind, 0):max(len(r.writes)-behind, 0)]
	replica, err := r.written(ctx)
	if err != nil {
		return err
	}
	r.at, r.channels = replica, nil
	r.born++
	clear(r.cached)
	return nil
}

// Split is store.Embedded.Split.
func (r *Redis) Split(ctx context.Context) (*Redis, error) {
	old := *r
	old.cached, old.writes, old.channels, old.buf = maps.Clone(r.cached), slices.Clone(r.writes), slices.Clone(r.channels), nil
	if err := r.FailOver(ctx, 0); err != nil {
		return nil, err
	}
	return &old, nil
}

// written is what its writes have left by now.
func (r *Redis) written(ctx context.Context) (*state, error) {
	name := string(r.history(strconv.AppendInt(nil, r.now, 10), func(text string) string { return text }))
	if known, ok := r.m.replicas[name]; ok {
		return known, nil
	}
	e, err := store.Replicate(ctx, time.UnixMilli(r.now), slices.Clone(r.writes))
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	left, err := r.m.read(e, r.now)
	if closed := e.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	r.m.replicas[name] = left
	return left, nil
}

// Close does nothing: the Memory is closed.
func (r *Redis) Close() error { return nil }

// Listen counts one more who listens at a channel, until the function that it
// returns is called.
func (r *Redis) Listen(channel string) (done func()) {
	at, _ := slices.BinarySearch(r.channels, channel)
	r.channels = slices.Insert(r.channels, at, channel)
	born := r.born
	return func() {
		if at, ok := slices.BinarySearch(r.channels, channel); ok && born == r.born {
			r.channels = slices.Delete(r.channels, at, at+1)
		}
	}
}

// AppendState writes all on which its answers depend, but its clock. With its
// writes it tells what a fail-over would come to as well. Every text in it is
// written as rename has it; nil leaves it as it is.
func (r *Redis) AppendState(b []byte, writes bool, rename func(string) string) []byte {
	digest, channels := r.at.digest, r.channels
	if rename == nil {
		rename = func(text string) string { return text }
	} else {
		digest = digestOf(renamed(r.at.items, rename))
		channels = slices.Clone(channels)
		for i, c := range channels {
			channels[i] = rename(c)
		}
		slices.Sort(channels)
	}
	b = append(b, digest[:]...)
	b = append(b, strings.Join(channels, ",")...)
	b = append(b, ' ')
	b = append(b, strings.Join(slices.Sorted(maps.Keys(r.cached)), "")...)
	if writes {
		b = r.history(b, rename)
	}
	return b
}

// history writes the writes, every text in them as rename has it.
func (r *Redis) history(b []byte, rename func(string) string) []byte {
	for _, w := range r.writes {
		b = append(strconv.AppendInt(append(b, '|'), w.At.UnixMilli(), 10), '|')
		for _, c := range w.Commands {
			for _, arg := range c {
				b = appendText(b, rename(arg))
			}
			b = append(b, ';')
		}
	}
	return b
}
