// Package stream keeps rooms in Redis, for as many servers as share it. They
// do not know each other: any of them takes any member of any room, and one
// of them leads the room, by the fenced lock that this project teaches
// (package relock/engine/lock).
//
// What Redis has of a room is in one slot of a cluster:
//
//	relock:room:{CODE}:head        the state of the log: see append.lua
//	relock:room:{CODE}:log         the entries, a stream; an entry's ID is its seq
//	relock:room:{CODE}:inbox       undecided requests, a stream
//	relock:room:{CODE}:lead        the lock; its #{server} is the leader
//	relock:room:{CODE}:lead:token  the last fencing token
//
// The rooms that somebody has made are in relock:rooms:of:{State.By}, a sorted
// set of codes.
//
// One script appends: it checks the fencing token and the seq, adds the entries,
// takes the requests that they answer out of the inbox, and publishes them. So a
// request is decided exactly once, even if a server is killed, and a server that has stood
// still for longer than its lease cannot write.
//
// Messages are for speed, only the streams count. A server that missed a message
// reads the log; one that finds another entry there than the one it had taken
// knows that Redis has lost the end of its data. It needs Redis 6.2 or newer.
package stream

import (
	"context"
	"crypto/rand"
	_ "embed" // the scripts
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/web/board"
)

var (
	//go:embed create.lua
	createSource string
	//go:embed claim.lua
	claimSource string
	//go:embed append.lua
	appendSource string
	//go:embed send.lua
	sendSource string
	//go:embed beat.lua
	beatSource string

	createScript = redis.NewScript(createSource)
	claimScript  = redis.NewScript(claimSource)
	appendScript = redis.NewScript(appendSource)
	sendScript   = redis.NewScript(sendSource)
	beatScript   = redis.NewScript(beatSource)
)

// Times and sizes.
const (
	// DefaultBeat is how often a server says that it is alive. After five beats without a
	// word it counts as gone.
	DefaultBeat = time.Second
	// DefaultRest is how long a server keeps a room at hand in which nobody
	// is by it any more.
	DefaultRest = time.Minute
	// DefaultLease is how long a room is led after the last word of the server
	// that led it.
	DefaultLease = 2 * time.Second

	kept      = board.HostsAbsent + time.Hour // a room after its last word
	unentered = board.HostsCome + time.Minute // one in which nothing has been said
	tokenKept = kept + time.Hour              // longer: a room whose tokens begin again could not be led
	termLimit = 7 * 24 * time.Hour            // of a term; then somebody leads again

	callLimit    = time.Second     // of a command
	sendLimit    = 3 * time.Second // of a request, for all attempts
	restAfter    = 200 * time.Millisecond
	mostRequests = 10_000   // that wait in an inbox
	mostBytes    = 64 << 10 // of entries in a message
)

// Options of a Journal. The zero value is ready to use.
type Options struct {
	Log   *slog.Logger  // nil for none
	Lease time.Duration // of who leads a room; 0 means DefaultLease
	Beat  time.Duration // 0 means DefaultBeat
	Rest  time.Duration // 0 means DefaultRest
}

// Journal is a [board.Journal] on Redis.
type Journal struct {
	redis   redis.UniversalClient
	server  string
	log     *slog.Logger
	lease   time.Duration
	rest    time.Duration
	locker  *lock.Locker
	ears    *ears
	servers servers
	stop    context.CancelFunc
	work    sync.WaitGroup
}

var _ board.Journal = (*Journal)(nil)

// New returns the journal on a Redis, which it does not close. It fails with
// lock.ErrOptions.
func New(client redis.UniversalClient, o Options) (*Journal, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Beat == 0 {
		o.Beat = DefaultBeat
	}
	if o.Rest == 0 {
		o.Rest = DefaultRest
	}
	server := rand.Text()[:12]
	locker, err := lock.New(client, lock.Options{Protocol: lock.Fenced, Lease: o.Lease, MaxAge: termLimit, Limit: callLimit, TokenTTL: tokenKept, ID: server})
	if err != nil {
		return nil, fmt.Errorf("board: the lock of rooms: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	j := &Journal{
		redis: client, server: server, log: o.Log, lease: o.Lease, rest: o.Rest, locker: locker,
		ears: newEars(ctx, client), servers: servers{beat: o.Beat}, stop: stop,
	}
	j.work.Go(j.ears.hear)
	j.work.Go(func() { j.beat(ctx) })
	return j, nil
}

// Close implements board.Journal. The other servers learn at once that this one has
// ended.
func (j *Journal) Close() {
	j.locker.Close()
	j.stop()
	j.ears.close()
	j.work.Wait()
}

// Server implements board.Journal.
func (j *Journal) Server() string { return j.server }

// Rest implements board.Journal.
func (j *Journal) Rest() time.Duration { return j.rest }

// keys are the keys and channels of a room.
type keys struct {
	code                          string
	head, log, inbox, lock, token string
	news, requests                string // channels: the log has grown or the room is free to be led; the inbox has
}

func keysOf(code string) keys {
	base := "relock:room:{" + code + "}:"
	lock := base + "lead"
	return keys{
		code: code, head: base + "head", log: base + "log", inbox: base + "inbox", lock: lock, token: protocol.TokenKey(lock),
		news: base + "news", requests: base + "orders",
	}
}

// Create implements board.Journal.
func (j *Journal) Create(ctx context.Context, code string, first board.Entry) error {
	text, err := json.Marshal(first)
	if err != nil {
		return fmt.Errorf("board: %w", err)
	}
	k := keysOf(code)
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	made, err := createScript.Run(ctx, j.redis, []string{k.head, k.log, k.token}, text, first.Seq, unentered.Milliseconds(), tokenKept.Milliseconds()).Int()
	switch {
	case err != nil:
		return fmt.Errorf("board: create the log: %w", err)
	case made == 0:
		return board.ErrTaken
	}
	if first.Whole == nil || first.Whole.By == "" {
		return nil
	}
	by := madeKey(first.Whole.By)
	_, err = j.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, by, redis.Z{Score: float64(first.At), Member: code})
		p.PExpire(ctx, by, kept)
		return nil
	})
	if err != nil {
		return fmt.Errorf("board: count the room: %w", err)
	}
	return nil
}

// madeKey is the key of a maker's rooms: a sorted set of codes by when they were
// made.
func madeKey(by string) string { return "relock:rooms:of:" + by }

// Made implements board.Journal.
func (j *Journal) Made(ctx context.Context, by string) (codes []string, err error) {
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	all, err := j.redis.ZRange(ctx, madeKey(by), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	there := make([]*redis.IntCmd, len(all))
	_, err = j.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, code := range all {
			there[i] = p.Exists(ctx, keysOf(code).head)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	var gone []any
	for i, code := range all {
		if there[i].Val() > 0 {
			codes = append(codes, code)
		} else {
			gone = append(gone, code)
		}
	}
	if len(gone) > 0 {
		_ = j.redis.ZRem(ctx, madeKey(by), gone...).Err() // where it fails they are looked at again
	}
	return codes, nil
}

// Exists implements board.Journal.
func (j *Journal) Exists(ctx context.Context, code string) (bool, error) {
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	n, err := j.redis.Exists(ctx, keysOf(code).head).Result()
	if err != nil {
		return false, fmt.Errorf("board: %w", err)
	}
	return n > 0, nil
}

// Send implements board.Journal. A request without an answer is sent again.
func (j *Journal) Send(ctx context.Context, code string, o board.Request) error {
	text, err := json.Marshal(o) //nolint:gosec // its secrets are proofs
	if err != nil {
		return fmt.Errorf("board: %w", err)
	}
	k := keysOf(code)
	ctx, done := context.WithTimeout(ctx, sendLimit)
	defer done()
	for {
		sent, err := j.run(ctx, sendScript, []string{k.head, k.inbox}, text, mostRequests, kept.Milliseconds(), k.requests)
		switch {
		case err != nil && (answered(err) || pause(ctx) != nil):
			return fmt.Errorf("board: send a request: %w", err)
		case err != nil:
			continue
		case sent == 0:
			return board.ErrBusy
		case sent < 0:
			return board.ErrNoRoom
		}
		j.ears.ring(k.news) // news is expected
		return nil
	}
}

// Delete implements board.Journal. The token counter stays until it expires: a
// server may be about to lead.
func (j *Journal) Delete(ctx context.Context, code string) error {
	k := keysOf(code)
	if err := j.redis.Del(ctx, k.head, k.log, k.inbox).Err(); err != nil {
		return fmt.Errorf("board: delete the log: %w", err)
	}
	_ = j.redis.Publish(ctx, k.news, "").Err() // where it fails they find out when they look
	return nil
}

// run runs a script that returns a number.
func (j *Journal) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (int, error) {
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	n, err := script.Run(ctx, j.redis, keys, args...).Int()
	if err != nil {
		return 0, fmt.Errorf("board: %w", err)
	}
	return n, nil
}

// answered reports whether an error is Redis' own answer, so that sending the
// command again would not help.
func answered(err error) bool {
	var own redis.Error
	return errors.As(err, &own)
}

// pause waits a little before something is tried again. It fails when ctx ends.
func pause(ctx context.Context) error {
	timer := time.NewTimer(jittered(restAfter))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// jittered returns up to twice as much, so that not all come at once.
func jittered(d time.Duration) time.Duration { return d + mathrand.N(d) }
