// Package peers lets the servers that share a Redis find each other, and hand
// on requests for what only one of them has. Each has a name, and every few
// seconds writes its address under it. It must not know what the requests ask
// for.
package peers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // where servers find each other

	"relock/engine/phrase"
)

// Keys on Redis. Those of one server have a hash tag, so that a cluster has them
// on one node.
const (
	secretKey = "relock:peers:secret" //nolint:gosec // its name
	aliveKey  = "relock:peers:{%s}:alive"
	serverKey = "relock:peers:{%s}" // what it says of itself, or ended
)

// ended replaces the address of a server that was stopped.
const ended = "ended"

// Times.
const (
	beat       = 3 * time.Second
	lease      = 10 * time.Second // after the last beat a server that does not answer counts as ended
	remember   = 24 * time.Hour   // that there was a server
	fresh      = time.Second      // for so long nobody asks again where a server is
	redisLimit = 2 * time.Second  // to answer
)

// maxKnown is how many servers are remembered.
const maxKnown = 1000

// Errors of Pass.
var (
	ErrUnknown = errors.New("peers: no such server is remembered")
	ErrGone    = phrase.New("the server that has it has ended")
	ErrSilent  = phrase.New("the server that has it does not answer right now")
	ErrAway    = phrase.New("the Redis through which the servers of this site find each other does not answer right now; try again in a moment")
)

// Config configures Peers.
type Config struct {
	Client redis.UniversalClient
	// Address is the URL at which others reach this server, say http://10.0.0.5:8080; ""
	// for none: then nobody finds anything here from elsewhere.
	Address string
	// Pin returns the SHA-256 of the certificate that this server shows, in
	// hexadecimal; nil where it shows one that others can verify, or none.
	Pin func() (string, error)
	Log *slog.Logger
}

// Peers is this server among those that share its Redis. It is safe for
// concurrent use. A nil *Peers is a server alone.
type Peers struct {
	config Config
	name   string
	passes *http.Transport
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	times  times

	mu      sync.Mutex
	closed  bool
	going   sync.WaitGroup // beats and websockets that are handed on; added to under mu
	passing map[*passing]struct{}
	secret  string        // "" until Redis has told it
	steady  time.Time     // since when Redis has answered and lost nothing, zero if it does not
	ahead   time.Duration // how much later it is by the clock of Redis, which all go by
	known   map[string]known
}

type times struct {
	beat, lease time.Duration
	now         func() time.Time // this server's own clock
}

// server is what a server says of itself.
type server struct {
	Address string `json:"address"`
	Pin     string `json:"pin,omitempty"`
}

// known is what this server knows of another.
type known struct {
	server

	alive bool // it has beaten within its lease
	asked time.Time
}

// Join makes this server one of those that share a Redis, until Close. A Redis
// that does not answer is asked again and again.
func Join(c Config) *Peers { return join(c, times{beat, lease, time.Now}) }

func join(c Config, t times) *Peers {
	ctx, stop := context.WithCancel(context.Background())
	p := &Peers{config: c, name: rand.Text()[:nameLength], ctx: ctx, stop: stop, times: t, known: map[string]known{}, passing: map[*passing]struct{}{}}
	p.passes = p.transport()
	failing := p.told(false, p.beat(ctx))
	p.going.Go(func() {
		next := time.NewTicker(t.beat)
		defer next.Stop()
		for {
			select {
			case <-next.C:
				failing = p.told(failing, p.beat(ctx))
				p.leave(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// Close says that this server has ended, closes the websockets that it hands
// on, and returns when all of it has ended.
func (p *Peers) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	p.stop()
	for _, one := range p.under() {
		if one.socket {
			one.end()
		}
	}
	p.going.Wait()
	p.passes.CloseIdleConnections()
	if first {
		ctx, cancel := context.WithTimeout(context.Background(), redisLimit)
		defer cancel()
		_ = p.config.Client.Set(ctx, fmt.Sprintf(serverKey, p.name), ended, remember).Err() // else its lease says so
	}
}

const nameLength = 10

var nameForm = regexp.MustCompile(`^[A-Z2-7]{10}$`)

// NewID returns a new id that cannot be guessed and says that this server has
// what it names; "" on a server alone.
func (p *Peers) NewID() string {
	if p == nil {
		return ""
	}
	return p.name + "-" + rand.Text()
}

// Elsewhere returns the name of the server that has what id names, if it is
// another one.
func (p *Peers) Elsewhere(id string) (name string, ok bool) {
	name, _, found := strings.Cut(id, "-")
	return name, p != nil && found && name != p.name && nameForm.MatchString(name)
}

// told logs whether other servers find this one, where that has changed.
func (p *Peers) told(before bool, err error) (failing bool) {
	switch failing = err != nil && p.ctx.Err() == nil; {
	case failing && !before:
		p.config.Log.WarnContext(p.ctx, "not found by other servers", slog.String("error", err.Error()))
	case before && !failing:
		p.config.Log.InfoContext(p.ctx, "found by other servers again")
	}
	return failing
}

// beat notes on Redis that this server is alive, and reads the secret of all.
func (p *Peers) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	secret := p.shared()
	if secret == "" {
		secret = rand.Text() + rand.Text()
	}
	own, err := p.own()
	if err != nil {
		return err
	}
	var told *redis.StringCmd
	var empty *redis.BoolCmd
	var clock *redis.TimeCmd
	asked := p.times.now()
	_, err = p.config.Client.Pipelined(ctx, func(on redis.Pipeliner) error {
		clock = on.Time(ctx)
		empty = on.SetNX(ctx, secretKey, secret, remember)
		on.Expire(ctx, secretKey, remember)
		told = on.Get(ctx, secretKey)
		if own != "" {
			on.Set(ctx, fmt.Sprintf(serverKey, p.name), own, remember)
			on.Set(ctx, fmt.Sprintf(aliveKey, p.name), "", p.times.lease)
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.steady = time.Time{}
		return fmt.Errorf("peers: %w", err)
	}
	p.ahead = clock.Val().Sub(asked)
	if p.secret = told.Val(); p.steady.IsZero() || empty.Val() {
		p.steady = time.Now()
	}
	return nil
}

// own returns what this server says about itself; "" for nothing.
func (p *Peers) own() (string, error) {
	if p.config.Address == "" {
		return "", nil
	}
	s := server{Address: p.config.Address}
	if p.config.Pin != nil {
		var err error
		if s.Pin, err = p.config.Pin(); err != nil {
			return "", fmt.Errorf("peers: %w", err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("peers: %w", err)
	}
	return string(text), nil
}

// shared returns the secret of all servers, "" while it is not known.
func (p *Peers) shared() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secret
}

// now returns what all servers take the time to be, to within what a beat takes:
// their own clocks need not agree.
func (p *Peers) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.times.now().Add(p.ahead)
}

// certain reports whether all servers have had the time to say that they are
// alive: Redis has answered for so long, and lost nothing.
func (p *Peers) certain() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.steady.IsZero() && time.Since(p.steady) > p.times.lease
}

// find returns where a server is, or was. While Redis does not answer, what was
// known before counts. It fails with ErrUnknown, ErrGone or ErrAway.
func (p *Peers) find(ctx context.Context, name string) (known, error) {
	p.mu.Lock()
	before, ok := p.known[name]
	p.mu.Unlock()
	if ok && time.Since(before.asked) < fresh {
		return before, nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	var says *redis.StringCmd
	var alive *redis.IntCmd
	_, err := p.config.Client.Pipelined(ctx, func(on redis.Pipeliner) error {
		says, alive = on.Get(ctx, fmt.Sprintf(serverKey, name)), on.Exists(ctx, fmt.Sprintf(aliveKey, name))
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		if ok {
			return before, nil
		}
		return known{}, fmt.Errorf("peers: %w: %w", ErrAway, err)
	case errors.Is(says.Err(), redis.Nil):
		delete(p.known, name)
		return known{}, ErrUnknown
	case says.Val() == ended:
		delete(p.known, name)
		return known{}, ErrGone
	}
	found := known{alive: alive.Val() == 1, asked: time.Now()}
	if err := json.Unmarshal([]byte(says.Val()), &found.server); err != nil {
		return known{}, fmt.Errorf("peers: what %s says of itself: %w", name, err)
	}
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[name] = found
	return found, nil
}
