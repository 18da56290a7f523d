package protocol

import (
	"cmp"
	"context"
	_ "embed" // the frames
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Own is the name of a lock with a user's own scripts.
const Own = "own"

var (
	//go:embed frame-lock.lua
	frameLock string
	//go:embed frame-unlock.lua
	frameUnlock string
	//go:embed frame-renew.lua
	frameRenew string
)

// Frame returns the empty script of a call, to begin your own from: it says what it gets
// and what it returns. It is "" for a call that every lock does in its own way, like
// [CallLeave].
func Frame(call string) string {
	switch call {
	case CallLock:
		return frameLock
	case CallUnlock:
		return frameUnlock
	case CallRenew:
		return frameRenew
	default:
		return ""
	}
}

// Sources returns p's Lua scripts by the calls that can have a user's script; a call of
// plain commands is not there.
func (p *Protocol) Sources() map[string]string {
	sources := map[string]string{}
	for _, s := range p.Scripts {
		if slices.Contains(p.Calls(), s.Call) {
			sources[s.Call] = s.Source
		}
	}
	return sources
}

// ErrReply is returned for a reply of an own script that is none of those that
// [Protocol.With] allows.
var ErrReply = errors.New("lock: not a reply of a lock")

// With returns the lock [Own]: p with other scripts, by the names of their
// calls. A call without one is p's, script or not.
//
// A script gets all keys of the lock, its own first, and the arguments of p's
// script of that call. If p has none, or fewer arguments than [Reentrant]'s, it gets
// those of Reentrant. It replies as they do, {1, hold count}, {0, 0} or {-1, 0}, or
// plainly 1, 0 or -1. With returns nil where p is not kept by calls of this kind: outside
// Redis, or on several nodes. A convention says what differs; if it has Keys, p must have
// no others. It is safe for concurrent use.
func (p *Protocol) With(sources map[string]string, c Convention) *Protocol {
	if !p.Writable() || len(c.Keys) > 0 && p.Companions != nil {
		return nil
	}
	own := *p
	own.Name, own.Summary, own.Base = Own, "your own lock: its scripts are in the scenario", p
	own.Keep = nil // its own release says what becomes of the key
	own.First, own.Inner = maps.Clone(p.First), maps.Clone(p.Inner)
	own.Most, own.Plain = maps.Clone(p.Most), maps.Clone(p.Plain)
	own.Scripts = slices.Clone(p.Scripts)
	if own.First == nil {
		own.First = map[string]string{}
	}
	if len(c.Keys) > 1 {
		own.Companions = c.companions
	}
	for call, source := range sources {
		s := NewScript(call, call+".lua", source, c.args(call, p.argsOf(call)))
		s.keys, s.replies = len(own.Keys("")), c.Replies[call]
		if c.OfOwners() || len(c.Keys) > 0 && c.Keys[0] != KeyPlace {
			s.keys, s.keysOf = len(c.Keys), c.KeysOf
		}
		if _, said := c.Args[call]; said || p.Name == Reentrant.Name {
			s.argv = c.ArgsOf(call)
		}
		delete(own.Inner, call)
		delete(own.Most, call)
		delete(own.Plain, call)
		own.First[call] = "EVAL"
		if found := commandOf.FindStringSubmatch(source); found != nil {
			own.First[call] = found[1]
		}
		if i := slices.IndexFunc(own.Scripts, func(o Script) bool { return o.Call == call }); i >= 0 {
			own.Scripts[i] = s
		} else {
			own.Scripts = append(own.Scripts, s)
		}
		step := plainly(s)
		switch call {
		case CallLock:
			own.Lock = step
		case CallUnlock:
			own.Unlock = step
		case CallRenew:
			own.Renew, own.RenewAll = step, nil
		case CallLeave:
			own.Leave = step
		}
	}
	slices.SortStableFunc(own.Scripts, func(a, b Script) int {
		return cmp.Compare(slices.Index(callNames, a.Call), slices.Index(callNames, b.Call))
	})
	return &own
}

// Writable reports whether its scripts can be written again, by [Protocol.With].
func (p *Protocol) Writable() bool { return p.Guard == InRedis && p.Nodes == 0 && p.Lock != nil }

// Calls returns the names of the calls that can have a user's script.
func (p *Protocol) Calls() []string {
	if p.Leave == nil {
		return callNames[:3]
	}
	return callNames
}

var callNames = []string{CallLock, CallUnlock, CallRenew, CallLeave}

// argsOf returns what a call's script is called with.
func (p *Protocol) argsOf(call string) Args {
	of := func(p *Protocol) Args {
		for _, s := range p.Scripts {
			if s.Call == call {
				return s.args
			}
		}
		return nothing
	}
	first, rest := of(p), of(Reentrant)
	return func(all []any, r Request) []any {
		before := len(all)
		all = first(all, r)
		if usual := rest(nil, r); len(usual) > len(all)-before {
			all = append(all, usual[len(all)-before:]...)
		}
		return all
	}
}

// plainly returns the step that runs a script whose reply may be a plain number, or
// what its file says.
func plainly(s Script) Step {
	return func(ctx context.Context, r Request) (Reply, error) {
		if s.keysOf != nil {
			r.Keyed = keyed(s.keysOf(r.Key, r.Words.Owner(), fmt.Sprintf("%d-%s-%d", r.Words.hold, s.Call, r.Level))...)
		}
		answer, err := s.ask(ctx, r)
		if s.replies != nil {
			if errors.Is(err, redis.Nil) { // an answer like any other here
				answer, err = nil, nil
			}
			reply, ok := s.replies.reply(s.Call, r.Level, answer)
			if err == nil && !ok {
				err = fmt.Errorf("lock: %s on %q: %w: %v", s.Name, r.Key, ErrReply, answer)
			}
			return reply, err
		}
		if err != nil {
			return Reply{}, err
		}
		number, ok := answer.(int64)
		if !ok {
			return s.reply(answer, r.Key)
		}
		switch reply := (Reply{Code: Code(number)}); {
		case number < int64(NotHeld) || number > int64(Granted):
			return Reply{}, fmt.Errorf("lock: %s on %q: %w: %d", s.Name, r.Key, ErrReply, number)
		case number == 1 && s.Call == CallLock:
			reply.Count = r.Level
			return reply, nil
		case number == 1 && s.Call == CallUnlock:
			reply.Count = r.Level - 1
			return reply, nil
		case number == 0 && s.Call != CallLock:
			reply.Code = NotHeld
			return reply, nil
		default:
			return reply, nil
		}
	}
}
