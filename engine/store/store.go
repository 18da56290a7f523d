// Package store provides the Redis a run talks to: an embedded miniredis in the
// process, or an external one by URL.
package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"relock/engine/trace"
)

// ErrUnreachable is returned by Connect when no Redis answers at the URL.
var ErrUnreachable = errors.New("no Redis answers")

// Unreachable is an ErrUnreachable with its cause.
type Unreachable struct {
	At    string // the address, without user and password
	Cause error
}

// Error implements error.
func (u *Unreachable) Error() string {
	return fmt.Sprintf("%v at %s: %v", ErrUnreachable, u.At, u.Cause)
}

// Unwrap returns ErrUnreachable and the cause.
func (u *Unreachable) Unwrap() []error { return []error{ErrUnreachable, u.Cause} }

// ErrURL is returned by Connect for a URL that names no Redis.
var ErrURL = errors.New("bad Redis URL: it cannot be understood; allowed: redis://, rediss:// or unix://, as in redis://127.0.0.1:6379, with special characters of a password escaped")

// ConnectTimeout is how long Connect waits for the first answer: someone is
// waiting at a prompt.
const ConnectTimeout = 5 * time.Second

// poolSize gives every thread of a scenario and its watchdog a connection, so
// that none waits for another.
const poolSize = 40

// Embedded is a miniredis in this process, reached without a port. Its methods
// are safe for concurrent use, except the faults (Evict, Restart, FailOver,
// Jump, FlushScripts), during which nothing else may use it.
type Embedded struct {
	server *mended
	client *redis.Client
	now    time.Time // as last set; zero on the wall clock
	writes []Write   // for an asynchronous replica
}

// NewEmbedded starts an empty Redis. If now is not zero, it has its own clock,
// set to now, and keys expire as SetTime moves it; otherwise it uses the wall
// clock.
func NewEmbedded(now time.Time) *Embedded {
	e := &Embedded{now: now.Truncate(time.Millisecond)}
	e.server, e.client = start(e.now)
	return e
}

func start(now time.Time) (*mended, *redis.Client) {
	server := newMended(now)
	return server, redis.NewClient(&redis.Options{
		Addr:                  "embedded:0", // never dialled
		Dialer:                func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		// A busy machine may be slow but must not change the outcome: nothing
		// in this process times out by the wall clock.
		ReadTimeout:              -1,
		WriteTimeout:             -1,
		PoolTimeout:              time.Hour,
		DialTimeout:              time.Hour,
		DisableIdentity:          true,
		PoolSize:                 poolSize,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Client returns the connection to it, until the next FailOver.
func (e *Embedded) Client() redis.UniversalClient { return e.client }

// SetTime sets Redis' clock, in whole milliseconds as a real Redis keeps its
// expiries, and drops keys that have expired by then.
func (e *Embedded) SetTime(now time.Time) {
	e.now = now.Truncate(time.Millisecond)
	e.server.SetTime(e.now)
}

// Key reads the state of a key without a command.
func (e *Embedded) Key(name string) trace.KeyState {
	k := trace.Absent()
	if !e.server.Exists(name) {
		return k
	}
	k.Type = e.server.Type(name)
	k.PTTL = trace.NoExpiry
	if _, last := e.server.ends(name); last > 0 {
		k.PTTL = last.Milliseconds()
	}
	switch k.Type {
	case trace.TypeHash:
		fields, _ := e.server.HKeys(name) // known to be a hash
		k.Fields = make(map[string]string, len(fields))
		for _, f := range fields {
			k.Fields[f] = e.server.HGet(name, f)
		}
	case trace.TypeString:
		if v, err := e.server.Get(name); err == nil {
			k.Value = &v
		}
	case trace.TypeSet:
		members, _ := e.server.Members(name) // known to be a set
		k.Fields = make(map[string]string, len(members))
		for _, m := range members {
			k.Fields[m] = ""
		}
	case trace.TypeList:
		list, _ := e.server.List(name) // known to be a list
		k.Length = int64(len(list))
	case trace.TypeZSet:
		scores, _ := e.server.SortedSet(name) // known to be a sorted set
		k.Fields = make(map[string]string, len(scores))
		for m, score := range scores {
			k.Fields[m] = trace.Score(score)
		}
	}
	return k
}

// Close stops the server and closes its connections.
func (e *Embedded) Close() error {
	err := e.client.Close()
	e.server.Close()
	return err
}

// External is a Redis elsewhere. Its methods are safe for concurrent use.
type External struct {
	client   redis.UniversalClient
	name     string
	failover *redis.FailoverOptions // of a sentinel
}

// Connect opens the Redis at rawURL and asks for its time, so that an
// unreachable Redis is noticed now (ErrUnreachable). It accepts redis://,
// rediss:// and unix://; the query selects a cluster ("addr" for further nodes,
// or "cluster=true") or a sentinel ("master_name"). Other URLs fail with
// ErrURL.
func Connect(ctx context.Context, rawURL string) (*External, error) {
	x, err := open(rawURL)
	if err != nil {
		// The client's own error would repeat parts of the URL, including a
		// password.
		return nil, ErrURL
	}
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	if err := x.client.Time(ctx).Err(); err != nil {
		_ = x.client.Close()
		return nil, &Unreachable{x.name, err}
	}
	return x, nil
}

func open(rawURL string) (*External, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	name := u.Host + u.Path
	q := u.Query()
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch {
	case q.Has("master_name"):
		o, err := redis.ParseFailoverURL(rawURL)
		if err != nil {
			return nil, err
		}
		o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize, o.DisableIdentity = -1, true, poolSize, true
		return &External{redis.NewFailoverClient(o), name, o}, nil
	case q.Has("addr") || q.Get("cluster") == "true":
		q.Del("cluster")
		u.RawQuery = q.Encode()
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize, o.DisableIdentity = -1, true, poolSize, true
		o.MaintNotificationsConfig = quiet
		return &External{client: redis.NewClusterClient(o), name: name}, nil
	default:
		o, err := redis.ParseURL(rawURL)
		if err != nil {
			return nil, err
		}
		o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize, o.DisableIdentity = -1, true, poolSize, true
		o.MaintNotificationsConfig = quiet
		return &External{client: redis.NewClient(o), name: o.Addr}, nil
	}
}

// Client returns the connection to it.
func (e *External) Client() redis.UniversalClient { return e.client }

// Cluster reports whether it is several nodes that share the keys.
func (e *External) Cluster() bool {
	_, cluster := e.client.(*redis.ClusterClient)
	return cluster
}

// Sentinel reports whether a sentinel names it: another server after a fail-over.
func (e *External) Sentinel() bool { return e.failover != nil }

// Server returns how one reaches the one server that has a key now: of a cluster the
// master of its slot, of a sentinel the master that it names. It fails with
// ErrUnreachable. The options are not to be changed.
func (e *External) Server(ctx context.Context, key string) (*redis.Options, error) {
	switch c := e.client.(type) {
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, key)
		if err != nil {
			return nil, &Unreachable{e.name, err}
		}
		return node.Options(), nil
	case *redis.Client:
		o := *c.Options()
		if e.failover == nil {
			return &o, nil
		}
		var failed error
		for _, addr := range e.failover.SentinelAddrs {
			s := redis.NewSentinelClient(&redis.Options{
				Addr: addr, Username: e.failover.SentinelUsername, Password: e.failover.SentinelPassword, TLSConfig: e.failover.TLSConfig,
				MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true, PoolSize: 1,
			})
			master, err := s.GetMasterAddrByName(ctx, e.failover.MasterName).Result()
			_ = s.Close()
			if err == nil && len(master) == 2 {
				o.Addr = net.JoinHostPort(master[0], master[1])
				return &o, nil
			}
			failed = errors.Join(failed, err)
		}
		return nil, fmt.Errorf("%w: no sentinel at %s names a master %q: %w", ErrUnreachable, e.name, e.failover.MasterName, failed)
	default:
		return nil, fmt.Errorf("%w at %s", ErrUnreachable, e.name)
	}
}

// Name returns its address without user and password.
func (e *External) Name() string { return e.name }

// Close closes the connections.
func (e *External) Close() error { return e.client.Close() }
