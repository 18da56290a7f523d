package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"relock/engine/trace"
)

// Item is one key with its whole content.
type Item struct {
	Name string
	Type string            // as Redis' TYPE says: "string", "hash", "list", "set" or "zset"
	Text string            // of a string
	Hash map[string]string // of a hash
	List []string          // of a list, or the members of a set, sorted
	Set  []Scored          // of a sorted set, by member
	TTL  time.Duration     // left, or 0 if the key has no expiry

	Lives map[string]time.Duration // of a hash, how much is left of each field that has an expiry
}

// Scored is a member of a sorted set.
type Scored struct {
	Member string
	Score  float64
}

// Shown are keys in a line.
func Shown(items []Item) string {
	if len(items) == 0 {
		return "no key"
	}
	list := make([]string, len(items))
	for n, i := range items {
		var content any
		switch i.Type {
		case trace.TypeHash:
			content = i.Hash
		case trace.TypeList, trace.TypeSet:
			content = i.List
		case trace.TypeZSet:
			content = i.Set
		default:
			content = i.Text
		}
		list[n] = fmt.Sprintf("%s %s %v", i.Type, i.Name, content)
		if i.TTL > 0 {
			list[n] += fmt.Sprintf(" for %v", i.TTL)
		}
	}
	return strings.Join(list, ", ")
}

// Contents returns all keys by name. It fails for a key of a type that Item does not
// have.
func (e *Embedded) Contents() ([]Item, error) {
	return e.Items(e.server.Keys()) // by name
}

// Items returns the named keys that are there. It fails as Contents does.
func (e *Embedded) Items(names []string) ([]Item, error) {
	var list []Item
	for _, name := range names {
		if !e.server.Exists(name) {
			continue
		}
		i := Item{Name: name, Type: e.server.Type(name), TTL: e.server.TTL(name)}
		var err error
		switch i.Type {
		case trace.TypeString:
			i.Text, err = e.server.Get(name)
		case trace.TypeHash:
			var fields []string
			fields, err = e.server.HKeys(name)
			i.Hash = make(map[string]string, len(fields))
			for _, f := range fields {
				i.Hash[f] = e.server.HGet(name, f)
				if ttl := e.server.HTTL(name, f); ttl > 0 {
					if i.Lives == nil {
						i.Lives = map[string]time.Duration{}
					}
					i.Lives[f] = ttl
				}
			}
		case "list":
			i.List, err = e.server.List(name)
		case trace.TypeSet:
			i.List, err = e.server.Members(name)
		case trace.TypeZSet:
			var scores map[string]float64
			scores, err = e.server.SortedSet(name)
			for _, member := range slices.Sorted(maps.Keys(scores)) {
				i.Set = append(i.Set, Scored{member, scores[member]})
			}
		default:
			err = fmt.Errorf("a key of type %s", i.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("store: contents of %s: %w", name, err)
		}
		list = append(list, i)
	}
	return list, nil
}

// ItemsOf returns those of the named keys that a Redis has and that are of a type that
// Item has. It fails with Redis' error.
func ItemsOf(ctx context.Context, c redis.UniversalClient, names []string) ([]Item, error) {
	var list []Item
	for _, name := range names { // one by one: in a cluster, each may be on another node
		told, err := c.Eval(ctx, contents, []string{name}).Slice()
		if err != nil {
			return nil, fmt.Errorf("store: contents of %s: %w", name, err)
		}
		for _, one := range told {
			if i, err := itemOf(one); err == nil {
				list = append(list, i)
			}
		}
	}
	return list, nil
}

// Fill sets the clock and replaces all keys by items. Scripts stay.
func (e *Embedded) Fill(now time.Time, items []Item) error {
	e.server.FlushAll()
	e.SetTime(now)
	_ = e.server.Keys() // lets time pass before there is anything that it could expire
	return e.put(items)
}

// Put replaces the named keys by items. It fails for an item of a type that Item does not
// have.
func (e *Embedded) Put(names []string, items []Item) error {
	for _, name := range names {
		e.server.Del(name)
	}
	return e.put(items)
}

func (e *Embedded) put(items []Item) error {
	for _, i := range items {
		if err := fill(e.server, i); err != nil {
			return fmt.Errorf("store: fill %s: %w", i.Name, err)
		}
		if i.TTL > 0 {
			e.server.SetTTL(i.Name, i.TTL)
		}
	}
	return nil
}

func fill(server *mended, i Item) error {
	switch i.Type {
	case trace.TypeString:
		return server.Set(i.Name, i.Text)
	case trace.TypeHash:
		for field, value := range i.Hash {
			server.HSet(i.Name, field, value)
		}
		for field, ttl := range i.Lives {
			server.HExpire(i.Name, field, ttl)
		}
		server.expire(len(i.Lives) > 0)
	case "list":
		_, err := server.Push(i.Name, i.List...)
		return err
	case trace.TypeSet:
		_, err := server.SetAdd(i.Name, i.List...)
		return err
	case trace.TypeZSet:
		for _, s := range i.Set {
			if _, err := server.ZAdd(i.Name, s.Score, s.Member); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("a key of type %s", i.Type)
	}
	return nil
}

// Listeners are subscriptions whose messages nobody reads. They are not safe for
// concurrent use.
type Listeners struct {
	server *miniredis.Miniredis
	all    []*miniredis.Subscriber
}

// NewListeners returns no listener.
func (e *Embedded) NewListeners() *Listeners { return &Listeners{server: e.server.Miniredis} }

// Set subscribes one listener to each of channels, which may repeat, and nobody
// else.
func (l *Listeners) Set(channels []string) {
	for i, s := range l.all {
		for _, old := range s.Channels() {
			if i >= len(channels) || channels[i] != old {
				s.Unsubscribe(old)
			}
		}
	}
	for i, channel := range channels {
		if i == len(l.all) {
			s := l.server.NewSubscriber()
			l.all = append(l.all, s)
			go func() {
				for range s.Messages() { // until Close: publishing waits for who reads
				}
			}()
		}
		l.all[i].Subscribe(channel)
	}
}

// Close ends the subscriptions. Nothing may be published afterwards.
func (l *Listeners) Close() {
	for _, s := range l.all {
		s.Close()
	}
	l.all = nil
}
