package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/trace"
)

// Beside is a redis-server that this process has started for itself: it keeps nothing on
// disk, and is reached by a socket in a folder that goes with it. Its methods are safe for
// concurrent use.
type Beside struct {
	client  *redis.Client
	version string
	cmd     *exec.Cmd
	folder  string
}

// ErrNoServer is returned by StartBeside where no redis-server is installed.
var ErrNoServer = errors.New("store: no redis-server is installed")

// besideLimit is how long a redis-server may take to answer first.
const besideLimit = 5 * time.Second

// StartBeside starts a redis-server. It fails with ErrNoServer.
func StartBeside(ctx context.Context) (*Beside, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNoServer
	}
	folder, err := os.MkdirTemp("", "relock")
	if err != nil {
		return nil, fmt.Errorf("store: a redis-server beside: %w", err)
	}
	socket := filepath.Join(folder, "socket")
	b := &Beside{folder: folder}
	// It outlives the context, which may end before what is asked of it is told.
	b.cmd = exec.Command(path, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", folder, //nolint:gosec,noctx // the server of this machine; Close ends it
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", os.DevNull)
	endsWithUs(b.cmd)
	if err := b.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("store: a redis-server beside: %w", err), os.RemoveAll(folder))
	}
	b.client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, DisableIdentity: true, MaxRetries: -1, PoolSize: 1})
	ctx, cancel := context.WithTimeout(ctx, besideLimit)
	defer cancel()
	for {
		info, err := b.client.Info(ctx, "server").Result()
		if err == nil {
			_, version, _ := strings.Cut(info, "redis_version:")
			b.version, _, _ = strings.Cut(version, "\r")
			return b, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("store: a redis-server beside: %w", err), b.Close())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Version is the server's: "7.0.15".
func (b *Beside) Version() string { return b.version }

// contents is a script that tells the named keys, or all: name, type, time left, and content.
const contents = `local out, keys = {}, KEYS
if #keys == 0 then keys = redis.call('KEYS', '*') end table.sort(keys)
for _, k in ipairs(keys) do local kind, v = redis.call('TYPE', k).ok, false
if kind == 'string' then v = {redis.call('GET', k)} end
if kind == 'hash' then v = redis.call('HGETALL', k) end
if kind == 'list' then v = redis.call('LRANGE', k, 0, -1) end
if kind == 'set' then v = redis.call('SMEMBERS', k) table.sort(v) end
if kind == 'zset' then v = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES') end
out[#out + 1] = {k, kind, redis.call('PTTL', k), v} end return out`

// Ask runs a script in a state, all of it at one instant. It returns what the script
// answers, a redis.Error where Redis refuses, and what Redis holds afterwards. It fails
// where no answer comes, or a key is of a type that an Item has not.
func (b *Beside) Ask(ctx context.Context, items []Item, text string, keys []string, args []any) (reply any, refused error, after []Item, err error) {
	var answer, held *redis.Cmd
	_, err = b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushAll(ctx)
		for _, i := range items {
			i.write(ctx, p)
		}
		answer = p.Eval(ctx, text, keys, args...)
		held = p.Eval(ctx, contents, nil)
		return nil
	})
	var refusal redis.Error
	if err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, &refusal) {
		return nil, nil, nil, fmt.Errorf("store: ask a Redis: %w", err)
	}
	if reply, refused = answer.Result(); errors.Is(refused, redis.Nil) {
		refused = nil
	}
	list, err := held.Slice()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("store: ask a Redis: %w", err)
	}
	for _, one := range list {
		i, err := itemOf(one)
		if err != nil {
			return nil, nil, nil, err
		}
		after = append(after, i)
	}
	return reply, refused, after, nil
}

// write makes a key.
func (i Item) write(ctx context.Context, p redis.Pipeliner) {
	switch i.Type {
	case trace.TypeString:
		p.Set(ctx, i.Name, i.Text, 0)
	case trace.TypeHash:
		p.HSet(ctx, i.Name, i.Hash)
	case trace.TypeList:
		for _, one := range i.List {
			p.RPush(ctx, i.Name, one)
		}
	case trace.TypeSet:
		p.SAdd(ctx, i.Name, i.List)
	case trace.TypeZSet:
		for _, one := range i.Set {
			p.ZAdd(ctx, i.Name, redis.Z{Score: one.Score, Member: one.Member})
		}
	}
	if i.TTL > 0 {
		p.PExpire(ctx, i.Name, i.TTL)
	}
}

// itemOf is a key that contents has told.
func itemOf(told any) (Item, error) {
	var i Item
	parts, ok := told.([]any)
	if !ok || len(parts) != 4 {
		return i, fmt.Errorf("store: a Redis tells a key as %v", told)
	}
	left, _ := parts[2].(int64)
	i.Name, i.Type, i.TTL = fmt.Sprint(parts[0]), fmt.Sprint(parts[1]), time.Duration(max(left, 0))*time.Millisecond
	list, ok := parts[3].([]any)
	if !ok {
		return i, fmt.Errorf("store: %s is a %s", i.Name, i.Type)
	}
	switch i.Type {
	case trace.TypeString:
		i.Text = fmt.Sprint(list[0])
	case trace.TypeHash:
		i.Hash = map[string]string{}
		for n := 0; n+1 < len(list); n += 2 {
			i.Hash[fmt.Sprint(list[n])] = fmt.Sprint(list[n+1])
		}
	case trace.TypeList, trace.TypeSet:
		for _, one := range list {
			i.List = append(i.List, fmt.Sprint(one))
		}
	case trace.TypeZSet:
		for n := 0; n+1 < len(list); n += 2 {
			var score float64
			if _, err := fmt.Sscan(fmt.Sprint(list[n+1]), &score); err != nil {
				return i, fmt.Errorf("store: a score of %s: %w", i.Name, err)
			}
			i.Set = append(i.Set, Scored{Member: fmt.Sprint(list[n]), Score: score})
		}
		slices.SortFunc(i.Set, func(a, b Scored) int { return strings.Compare(a.Member, b.Member) })
	}
	return i, nil
}

// Knows reports whether it has a command of this name.
func (b *Beside) Knows(ctx context.Context, verb string) bool {
	list, err := b.client.Do(ctx, "COMMAND", "INFO", verb).Slice()
	return err == nil && len(list) == 1 && list[0] != nil
}

// Close ends the server, and removes its folder.
func (b *Beside) Close() error {
	err := b.client.Close()
	if failed := b.cmd.Process.Kill(); failed != nil {
		err = errors.Join(err, failed)
	}
	_ = b.cmd.Wait() // it was killed
	return errors.Join(err, os.RemoveAll(b.folder))
}
