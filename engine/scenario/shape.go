package scenario

import (
	"reflect"
	"slices"
	"strconv"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
)

// Shape is a usual way in which people print a lock's scripts: what they get, and what
// they return.
type Shape struct {
	Name       string
	Title      phrase.Text
	Reentrant  bool                // its owner can enter again
	convention protocol.Convention // of all calls
}

// OtherShape is the name of a shape that is none of the usual ones.
const OtherShape = "other"

// shapes are the usual ones.
var shapes = func() []Shape {
	word := func(words ...string) (list []protocol.Arg) {
		for _, w := range words {
			if slices.Contains(protocol.ArgWords, w) {
				list = append(list, protocol.Arg{Word: w})
			} else {
				list = append(list, protocol.Arg{Text: w})
			}
		}
		return list
	}
	args := func(lock, unlock, renew []protocol.Arg) map[string][]protocol.Arg {
		return map[string][]protocol.Arg{protocol.CallLock: lock, protocol.CallUnlock: unlock, protocol.CallRenew: renew}
	}
	none, number := protocol.Answer{Kind: protocol.AnswerNil}, func(n int64) protocol.Answer { return protocol.Answer{Kind: protocol.AnswerNumber, Number: n} }
	owner, token := protocol.ArgOwner, protocol.ArgToken
	ms, s := protocol.ArgLeaseMS, protocol.ArgLeaseS
	return []Shape{
		{"set-nx", "SET NX PX: owner, lease in milliseconds; 1 is yes, 0 is no", false, protocol.Convention{Args: args(word(owner, ms), word(owner), word(owner, ms))}},
		{"hash-count", "A hash with a count: owner, lease in seconds; 1 is yes, 0 is no", true, protocol.Convention{Args: args(word(owner, s), word(owner), word(owner, s))}},
		{"redisson", "Redisson's: lease in milliseconds, owner; nil is yes, a number is how long not", true, protocol.Convention{
			Args: args(word(ms, owner), word("0", ms, owner), word(ms, owner)),
			Replies: map[string]protocol.Replies{
				protocol.CallLock:   {protocol.Entered: none, protocol.RefusedWord: {Kind: protocol.AnswerPTTL}},
				protocol.CallUnlock: {protocol.Released: number(1), protocol.Entered: number(0)},
			},
		}},
		{"setnx-expire", "SETNX and EXPIRE: token, lease in seconds; 1 is yes, 0 is no", false, protocol.Convention{Args: args(word(token, s), word(token), word(token, s))}},
		{"set-reply", "What SET returns: token, lease in milliseconds; OK is yes, nil is no", false, protocol.Convention{
			Args:    args(word(token, ms), word(token), word(token, ms)),
			Replies: map[string]protocol.Replies{protocol.CallLock: {protocol.Entered: {Kind: protocol.AnswerText, Text: "OK"}, protocol.RefusedWord: none}},
		}},
	}
}()

// Shapes returns the usual shapes. The result is the caller's own.
func Shapes() []Shape { return slices.Clone(shapes) }

// of returns what the shape says of the calls that have a script.
func (s Shape) of(calls []string) protocol.Convention {
	var c protocol.Convention
	for _, call := range calls {
		if args, ok := s.convention.Args[call]; ok {
			if c.Args == nil {
				c.Args = map[string][]protocol.Arg{}
			}
			c.Args[call] = args
		}
		if replies, ok := s.convention.Replies[call]; ok {
			if c.Replies == nil {
				c.Replies = map[string]protocol.Replies{}
			}
			c.Replies[call] = replies
		}
	}
	return c
}

// Shape returns the name of the usual shape that an own lock's scripts have: "" for
// Relock's own, OtherShape for none.
func (l Lock) Shape() string {
	if l.Convention.ID() == "" {
		return ""
	}
	for _, s := range shapes {
		if reflect.DeepEqual(s.of(l.Scripts.Calls()), l.Convention) {
			return s.Name
		}
	}
	return OtherShape
}

// Shaped returns what a scenario's lock: has beside its scripts if they have a shape, by
// keys like "args.lock[0]"; nothing for an unknown name.
func (l Lock) Shaped(name string) map[string]string {
	values := map[string]string{}
	i := slices.IndexFunc(shapes, func(s Shape) bool { return s.Name == name })
	if i < 0 {
		return values
	}
	c := shapes[i].of(l.Scripts.Calls())
	for call, args := range c.Args {
		for n, one := range args {
			text := one.Word
			if text == "" {
				text = one.Text // a number
			}
			values["args."+call+"["+strconv.Itoa(n)+"]"] = text
		}
	}
	for call, replies := range c.Replies {
		for outcome, one := range replies {
			text := one.String()
			if one.Kind == protocol.AnswerText {
				text = one.Text // OK
			}
			values["replies."+call+"."+outcome] = text
		}
	}
	return values
}
