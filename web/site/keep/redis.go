package keep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // the shelf that several servers share
)

// answerLimit is how long a shelf on Redis waits for an answer: a visitor waits
// with it.
const answerLimit = 2 * time.Second

// shared is a shelf on Redis. Each text is a separate key, with an expiry, so that a
// cluster spreads them over all nodes. Two keys on one node bound them together: when
// each was used, and how large it is.
type shared struct {
	client redis.UniversalClient
	limits Limits
	prefix string // of a text's key
	used   string // key of a sorted set: the ids by when they were used, in ms
	sizes  string // key of a hash: bytes by id; under "" the bytes of all
}

// OnRedis returns a shelf whose keys begin with relock:NAME: on a Redis. Servers
// that share it find each other's texts.
func OnRedis(client redis.UniversalClient, name string, l Limits) Shelf {
	prefix := "relock:" + name + ":"
	return &shared{client: client, limits: l, prefix: prefix, used: prefix + "{index}:used", sizes: prefix + "{index}:sizes"}
}

// index notes an id as the one used last, and answers with the ids that make
// room for it: too old, or too much. A call drops a thousand at most, and if one of the two keys
// was lost, it begins again: the texts that they counted expire by themselves.
var index = redis.NewScript(`
local used, sizes = KEYS[1], KEYS[2]
local id, size, texts, bytes, age = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if redis.call('EXISTS', used, sizes) < 2 then
  redis.call('DEL', used, sizes)
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all = tonumber(redis.call('HGET', sizes, '') or 0) + size - tonumber(redis.call('HGET', sizes, id) or 0)
redis.call('ZADD', used, now, id)
redis.call('HSET', sizes, id, size)
local dropped = {}
while #dropped < 1000 do
  local oldest = redis.call('ZRANGE', used, 0, 0, 'WITHSCORES')
  local room = redis.call('ZCARD', used) <= texts and all <= bytes and now - oldest[2] <= age
  if room or oldest[1] == id then
    break
  end
  all = all - tonumber(redis.call('HGET', sizes, oldest[1]) or 0)
  redis.call('ZREM', used, oldest[1])
  redis.call('HDEL', sizes, oldest[1])
  dropped[#dropped + 1] = oldest[1]
end
redis.call('HSET', sizes, '', all)
redis.call('PEXPIRE', used, age)
redis.call('PEXPIRE', sizes, age)
return dropped
`)

// Put implements Shelf.
func (k *shared) Put(ctx context.Context, id, text string) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	dropped, err := index.Run(ctx, k.client, []string{k.used, k.sizes}, id, len(text), k.limits.Texts, k.limits.Bytes, k.limits.Age.Milliseconds()).StringSlice()
	if err != nil {
		return away(err)
	}
	_, err = k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, k.prefix+id, text, k.limits.Age)
		for _, one := range dropped {
			p.Unlink(ctx, k.prefix+one)
		}
		return nil
	})
	if err != nil {
		return away(err)
	}
	return nil
}

// Get implements Shelf.
func (k *shared) Get(ctx context.Context, id string) (string, error) {
	if !idForm.MatchString(id) {
		return "", ErrNotKept
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var text *redis.StringCmd
	var left *redis.DurationCmd
	_, err := k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		text, left = p.Get(ctx, k.prefix+id), p.PTTL(ctx, k.prefix+id)
		return nil
	})
	if errors.Is(text.Err(), redis.Nil) {
		return "", ErrNotKept
	}
	if err != nil {
		return "", away(err)
	}
	if k.limits.Age-left.Val() >= k.limits.touchEvery() {
		k.touch(ctx, id)
	}
	return text.Val(), nil
}

// touch notes that a text was read. If this fails, it is dropped a bit earlier.
func (k *shared) touch(ctx context.Context, id string) {
	now, err := k.client.Time(ctx).Result()
	if err != nil {
		return
	}
	_, _ = k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.PExpire(ctx, k.prefix+id, k.limits.Age)
		p.ZAddXX(ctx, k.used, redis.Z{Score: float64(now.UnixMilli()), Member: id})
		p.PExpire(ctx, k.used, k.limits.Age)
		p.PExpire(ctx, k.sizes, k.limits.Age)
		return nil
	})
}

// away returns an error of Redis as one that a visitor can read.
func away(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("keep: %w", err) // the visitor has left
	}
	return fmt.Errorf("keep: %w: %w", ErrAway, err)
}
