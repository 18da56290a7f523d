package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Convention says how a lock of one's own calls its scripts and reads what they
// return, as far as that is not the usual way of [Protocol.With]. The zero value is
// that way. It must not be changed once it is used.
type Convention struct {
	Args    map[string][]Arg   // by call: what its script gets as ARGV
	Keys    []string           // what all scripts get as KEYS, with places in them; the first is the lock's key, or what they make it of
	Replies map[string]Replies // by call: what its script returns
}

// Places in Convention.Keys.
const (
	KeyPlace     = "{key}"     // the lock's key
	OwnerPlace   = "{owner}"   // who calls
	RequestPlace = "{request}" // the call: another one at each level of each hold
)

// Words of an Arg.
const (
	ArgOwner    = "owner"
	ArgLevel    = "level"
	ArgLeaseMS  = "lease-ms"
	ArgLeaseS   = "lease-s"
	ArgDeadline = "deadline-ms"
	ArgToken    = "token"
)

// ArgWords are the words of an Arg, in the order in which a mistake lists them.
var ArgWords = []string{ArgOwner, ArgLevel, ArgLeaseMS, ArgLeaseS, ArgDeadline, ArgToken}

// Arg is one argument of a script.
type Arg struct {
	Word string // one of ArgWords, or "" for Text as it is
	Text string
}

// usualArgs are the words for what [Reentrant]'s scripts get.
var usualArgs = map[string][]Arg{
	CallLock:   {{Word: ArgOwner}, {Word: ArgLevel}, {Word: ArgLeaseMS}},
	CallUnlock: {{Word: ArgOwner}, {Word: ArgLevel}},
	CallRenew:  {{Word: ArgOwner}, {Word: ArgLeaseMS}},
}

// ArgsOf returns what a call's script gets as ARGV, where it begins like no other
// lock's.
func (c Convention) ArgsOf(call string) []Arg {
	if args, ok := c.Args[call]; ok {
		return args
	}
	return usualArgs[call]
}

// of returns the argument for a request.
func (a Arg) of(r Request) any {
	switch a.Word {
	case ArgOwner:
		return r.Words.owner
	case ArgLevel:
		return r.Level
	case ArgLeaseMS:
		return r.Words.lease
	case ArgLeaseS:
		return int64(r.Lease / time.Second)
	case ArgDeadline:
		return r.Clock.Now().Add(r.Lease).UnixMilli()
	case ArgToken:
		return r.Owner + "-" + strconv.FormatInt(r.Words.hold, 10)
	default:
		return a.Text
	}
}

// args returns the arguments of a call's script: the usual ones if nothing says
// otherwise.
func (c Convention) args(call string, usual Args) Args {
	list, ok := c.Args[call]
	if !ok {
		return usual
	}
	return func(all []any, r Request) []any {
		for _, one := range list {
			all = append(all, one.of(r))
		}
		return all
	}
}

// companions returns the keys beside a lock's own that all owners share.
func (c Convention) companions(key string) []string {
	var list []string
	for _, one := range c.Keys[min(1, len(c.Keys)):] {
		if !ofCaller(one) {
			list = append(list, strings.ReplaceAll(one, KeyPlace, key))
		}
	}
	return list
}

// OfOwners reports whether each owner has keys of its own.
func (c Convention) OfOwners() bool { return slices.ContainsFunc(c.Keys, ofCaller) }

func ofCaller(key string) bool {
	return strings.Contains(key, OwnerPlace) || strings.Contains(key, RequestPlace)
}

// KeysOf returns what an owner's call gets as KEYS; Keys must not be empty.
func (c Convention) KeysOf(key, owner, request string) []string {
	places := strings.NewReplacer(KeyPlace, key, OwnerPlace, owner, RequestPlace, request)
	list := make([]string, len(c.Keys))
	for i, one := range c.Keys {
		list[i] = places.Replace(one)
	}
	return list
}

// Outcomes of a call that Replies can name.
const (
	Entered     = "entered"  // of lock: the level is entered; of unlock: levels remain
	Released    = "released" // of unlock: the lock is free or, where Entered is not named, a level is left
	Renewed     = "renewed"  // of renew
	RefusedWord = "refused"  // of lock: another thread holds it; else: it is not the caller's
)

// Outcomes returns the outcomes that a call's Replies can name, nil for a call that
// can have none.
func Outcomes(call string) []string {
	switch call {
	case CallLock:
		return []string{Entered, RefusedWord}
	case CallUnlock:
		return []string{Released, Entered, RefusedWord}
	case CallRenew:
		return []string{Renewed, RefusedWord}
	default:
		return nil
	}
}

// Replies are what the script of a call returns, by its outcome. What it returns
// else means the outcome that is not named: the refusal or, where that is named, the
// only other one that is not. See [Replies.Rest].
type Replies map[string]Answer

// Answer is something that a script can return.
type Answer struct {
	Kind   AnswerKind
	Number int64  // of AnswerNumber
	Text   string // of AnswerText
}

// AnswerKind is the kind of an Answer.
type AnswerKind int

// The kinds of answers.
const (
	AnswerNil    AnswerKind = iota // nil or false, or no return at all
	AnswerNumber                   // that whole number
	AnswerText                     // that text, or a status such as OK
	AnswerPTTL                     // any whole number: how many milliseconds the lock is still another's
)

// Words of an Answer.
const (
	NilWord  = "nil"
	PTTLWord = "pttl"
)

// String writes the answer as a scenario has it.
func (a Answer) String() string {
	switch a.Kind {
	case AnswerNumber:
		return strconv.FormatInt(a.Number, 10)
	case AnswerText:
		return strconv.Quote(a.Text)
	case AnswerPTTL:
		return PTTLWord
	default:
		return NilWord
	}
}

// is reports whether a script's reply is this one.
func (a Answer) is(reply any) bool {
	switch v := reply.(type) {
	case nil:
		return a.Kind == AnswerNil
	case int64:
		return a.Kind == AnswerPTTL || a.Kind == AnswerNumber && v == a.Number
	case string:
		return a.Kind == AnswerText && v == a.Text
	default:
		return false
	}
}

// Alike reports whether a reply can be both of two answers.
func (a Answer) Alike(b Answer) bool {
	if a == b {
		return true
	}
	number := func(x Answer) bool { return x.Kind == AnswerNumber || x.Kind == AnswerPTTL }
	return (a.Kind == AnswerPTTL || b.Kind == AnswerPTTL) && number(a) && number(b)
}

// Rest returns the outcome of a reply that is not named, "" if each is named, and
// whether that is clear: it is not where the refusal is named and several others
// are not.
func (r Replies) Rest(call string) (outcome string, clear bool) {
	var left []string
	for _, one := range Outcomes(call) {
		if _, named := r[one]; !named {
			left = append(left, one)
		}
	}
	switch {
	case len(left) == 0:
		return "", true
	case slices.Contains(left, RefusedWord):
		return RefusedWord, true
	case len(left) == 1:
		return left[0], true
	default:
		return "", false
	}
}

// read returns the outcome that a reply means, and whether it means one.
func (r Replies) read(call string, reply any) (outcome string, ok bool) {
	pttl := ""
	for outcome, one := range r {
		switch {
		case !one.is(reply):
		case one.Kind == AnswerPTTL:
			pttl = outcome
		default:
			return outcome, true
		}
	}
	if pttl != "" {
		return pttl, true
	}
	switch reply.(type) {
	case nil, int64, string:
		outcome, _ = r.Rest(call)
		return outcome, outcome != ""
	default:
		return "", false
	}
}

// reply is a reply in a lock's words.
func (r Replies) reply(call string, level int, reply any) (Reply, bool) {
	outcome, ok := r.read(call, reply)
	out := Reply{Code: Granted}
	switch {
	case !ok:
		return Reply{}, false
	case outcome == RefusedWord && call != CallLock:
		out.Code = NotHeld
	case outcome == RefusedWord:
		out.Code = Refused
		if n, is := reply.(int64); is && n > 0 && r[RefusedWord].Kind == AnswerPTTL {
			out.PTTL = time.Duration(n) * time.Millisecond
		}
	case outcome == Entered && call == CallUnlock:
		out.Count = max(level-1, 1)
	case outcome == Entered:
		out.Count = level
	case outcome == Released:
		if _, counts := r[Entered]; !counts {
			out.Count = level - 1
		}
	}
	return out, true
}

// Written lists the answers of a call by their outcomes: "entered: nil, refused: pttl".
func (r Replies) Written(call string) string {
	var list []string
	for _, one := range Outcomes(call) {
		if answer, named := r[one]; named {
			list = append(list, fmt.Sprintf("%s: %s", one, answer))
		}
	}
	return strings.Join(list, ", ")
}

// ID returns a text that is the same for the same convention, "" for the zero value.
func (c Convention) ID() string {
	if len(c.Args) == 0 && len(c.Keys) == 0 && len(c.Replies) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", []any{c.Args, c.Keys, c.Replies}) // maps are printed in order
}

// Allowed returns what a script may return, as its file says it, and whether its
// file says that at all.
func (s Script) Allowed() (string, bool) {
	return s.replies.Written(s.Call), s.replies != nil
}

// Reads reports whether a reply of a script whose file says what it returns means
// something.
func (s Script) Reads(reply any) bool {
	_, ok := s.replies.read(s.Call, reply)
	return ok
}

// Means returns the outcome that a reply of a script of one's own means, "" for none.
func (s Script) Means(reply any) string {
	if s.replies != nil {
		outcome, _ := s.replies.read(s.Call, reply)
		return outcome
	}
	if pair, ok := reply.([]any); ok && len(pair) > 1 {
		reply = pair[0]
	}
	code, ok := reply.(int64)
	switch {
	case !ok:
		return ""
	case Code(code) == Granted:
		return Outcomes(s.Call)[0]
	default:
		return RefusedWord
	}
}

// Args returns what a script of one's own gets as ARGV, nil where that is as another
// lock's script gets it. Callers must not change it.
func (s Script) Args() []Arg { return s.argv }

// ArgTexts are arguments as a form has them: a literal without quotes.
func ArgTexts(args []Arg) []string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = cmp.Or(a.Word, a.Text)
	}
	return words
}

// Names reports whether the argument names who calls.
func (a Arg) Names() bool { return a.Word == ArgOwner || a.Word == ArgToken }

// String writes the argument as a scenario has it: a literal in quotes.
func (a Arg) String() string {
	if a.Word != "" {
		return a.Word
	}
	return strconv.Quote(a.Text)
}
