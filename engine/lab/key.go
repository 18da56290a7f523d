package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"relock/engine/effects"
)

// mostProbes is how many rounds may look for the lock's key.
const mostProbes = 16

// said is what a thread sent in a round, with what it was told.
type said struct {
	command, reply string
	keys           []string
	members        []string // those of keys to which it adds members
}

func (o *Order) said(thread string) []said {
	var list []said
	for _, r := range o.records {
		if r.Thread != thread || r.Args == nil || r.Mark != "" {
			continue
		}
		one := said{command: effects.Shown(r.Args), reply: fmt.Sprint(r.Reply, r.Err)}
		for _, args := range append([][]string{r.Args}, r.Tx...) {
			one.keys = append(one.keys, effects.Touches(args).Keys...)
			switch effects.Verb(args) {
			case "ZADD", "SADD":
				one.members = append(one.members, effects.Touches(args).Keys...)
			}
		}
		list = append(list, one)
	}
	return list
}

// find looks for the lock where no command makes one for sure, or several do: the key
// whose state decided what another thread was told, and what it then did. A lets B in
// after each of its commands in turn; what B does when A has ended is what it does alone.
func (s *search) find(ctx context.Context) error {
	if len(s.names) < 2 || s.g.key != "" && len(s.made) < 2 {
		return nil
	}
	alone, err := s.play(ctx, branch{}, nil)
	if err != nil {
		return err
	}
	b := alone.said(s.names[1])
	lasts := s.lasting(b)
	for n := 1; n <= min(mostProbes, len(alone.said(s.names[0]))); n++ {
		order, err := s.round(ctx, func(o *Order, list []choice) (choice, bool) {
			first := s.names[1]
			if len(o.said(s.names[0])) < n {
				first = s.names[0]
			}
			at := slices.IndexFunc(list, func(c choice) bool { return c.d.Thread == first && c.d.Do == "" })
			return list[max(at, 0)], false
		})
		if err != nil {
			return err
		}
		if key := decided(b, order.said(s.names[1]), append(lasts, s.o.Resource)); key != "" {
			s.g.mu.Lock()
			s.g.key = key
			s.g.mu.Unlock()
			return nil
		}
	}
	if s.g.key == "" { // who may be in is told by members that come and go: all were let in
		for _, one := range b {
			if i := slices.IndexFunc(one.members, func(key string) bool { return !slices.Contains(append(lasts, s.o.Resource), key) }); i >= 0 {
				s.g.mu.Lock()
				s.g.key = one.members[i]
				s.g.mu.Unlock()
				return nil
			}
		}
	}
	return nil
}

// lasting returns those of the keys that are there after a round, without an expiry:
// nobody gives them back.
func (s *search) lasting(list []said) []string {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	var keys []string
	for _, one := range list {
		for _, key := range one.keys {
			if k := s.g.redis.key(key); k.Exists() && k.PTTL < 0 {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// decided returns the key of the first command that was answered in another way than
// alone, and after which its thread did something else; "" if there is none.
func decided(alone, now []said, not []string) string {
	for i := range min(len(alone), len(now)) {
		a, b := alone[i], now[i]
		if a.command != b.command {
			return ""
		}
		commands := func(list []said) (names []string) {
			for _, one := range list[i+1:] {
				names = append(names, one.command)
			}
			return names
		}
		if a.reply == b.reply || slices.Equal(commands(alone), commands(now)) {
			continue
		}
		for _, key := range a.keys {
			if !strings.HasPrefix(key, "\x00") && !slices.Contains(not, key) {
				return key
			}
		}
	}
	return ""
}
