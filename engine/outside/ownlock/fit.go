package ownlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/journal"
	"relock/engine/lock/protocol"
	"relock/engine/outside/box"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/store"
)

// Fit is how the scripts of an own lock are to be called so that they work, as far as that is
// not how its file says: each call was tried. The zero value says that the file is right, or
// that no other way is.
type Fit struct {
	Args    map[string][]protocol.Arg   // by call
	Keys    []string                    // nil where the file's fit
	Replies map[string]protocol.Replies // by call: what they return, by what they did
	Idle    []string                    // calls of another lock's script that does nothing here
	Key     string                      // the lock's, where the scripts make it of the file's; Keys begins with that then
	Once    bool                        // nothing counts how often its owner is in: nothing is called otherwise for that
	Whole   bool                        // the scripts make whole seconds of the lease, and the file's is none

	said  protocol.Convention // the file's
	asked phrase.Wording      // where no way was found that works
}

// IsZero reports whether nothing is to be called otherwise.
func (f Fit) IsZero() bool { return len(f.Args)+len(f.Keys)+len(f.Replies)+len(f.Idle) == 0 }

// Try tries the scripts of an own lock in the context's box: lock on a free key, unlock and
// renew by who has it, with what the file says first, and then with other arguments. It fails
// with ErrNoBox, or as box.Pool.Ask does where that is not a script's doing.
func Try(ctx context.Context, sc *scenario.Scenario) (Fit, error) {
	if !sc.Lock.Own() || sc.Lock.Like != "" && sc.Lock.Like != protocol.Reentrant.Name {
		return Fit{}, nil
	}
	b, ok := ctx.Value(boxKey{}).(*box.Pool)
	if !ok || b == nil {
		return Fit{}, ErrNoBox
	}
	t := &fitting{ctx: ctx, box: b, sc: sc, scripts: map[string]protocol.Script{}, lease: fitLease, made: sc.Lock.Key}
	defer b.Leave(t)
	for _, s := range sc.Lock.Implementation().Scripts {
		t.scripts[s.Call] = s
	}
	f := t.fit()
	f.said = sc.Lock.Convention
	return f, t.failed
}

// fitting is the trying of one lock's scripts.
type fitting struct {
	ctx     context.Context
	box     *box.Pool
	sc      *scenario.Scenario
	scripts map[string]protocol.Script // by call
	keys    []string                   // templates
	lease   time.Duration
	made    string // the lock's key in Redis
	failed  error  // why nothing can be tried
}

// What calls are tried with.
const (
	fitLease  = 7 * time.Second
	fitPassed = 3 * time.Second // before a renewal
	one       = "relock-1"
	other     = "relock-2"
	mostTried = 5 // arguments of a script
)

// fitBegan is an instant whose milliseconds are no length of time.
var fitBegan = time.UnixMilli(1_000_000_000_000)

// tried is what came of one call.
type tried struct {
	args  []protocol.Arg
	reply any
	items []store.Item
	ran   bool // without an error
}

// call runs a call's script for an owner in a state.
func (t *fitting) call(name string, args []protocol.Arg, owner string, items []store.Item, at time.Duration) tried {
	return t.callAt(1, name, args, owner, items, at)
}

// callAt is call at a level.
func (t *fitting) callAt(level int, name string, args []protocol.Arg, owner string, items []store.Item, at time.Duration) tried {
	out := tried{args: args}
	now := fitBegan.Add(at)
	request := fmt.Sprintf("%s-%d-%c", name, level, owner[len(owner)-1]) // does not name the owner
	q := box.Question{Script: journal.Wrap(t.scripts[name].Source), Keys: protocol.Convention{Keys: t.keys}.KeysOf(t.sc.Lock.Key, owner, request), Now: now, Items: items}
	for _, a := range args {
		text := a.Text
		switch a.Word {
		case protocol.ArgOwner:
			text = owner
		case protocol.ArgToken:
			text = owner + "-1"
		case protocol.ArgLevel:
			text = strconv.Itoa(level)
		case protocol.ArgLeaseMS:
			text = strconv.FormatInt(t.lease.Milliseconds(), 10)
		case protocol.ArgLeaseS:
			text = strconv.FormatInt(int64(t.lease/time.Second), 10)
		case protocol.ArgDeadline:
			text = strconv.FormatInt(now.Add(t.lease).UnixMilli(), 10)
		}
		q.Args = append(q.Args, text)
	}
	answer, err := t.box.Ask(t.ctx, t, q)
	var fault *box.Fault
	switch {
	case errors.As(err, &fault) || errors.Is(err, box.ErrBroken):
		return out
	case err != nil:
		t.failed = fmt.Errorf("ownlock: %w", err)
		return out
	case answer.Err != "":
		return out
	}
	record, reply, err := journal.Decode(answer.Reply)
	if err != nil || reply.Err != "" || slices.ContainsFunc(record.Entries, func(e journal.Entry) bool { return e.Err != "" }) {
		return out
	}
	out.reply, out.items, out.ran = reply.Value, answer.Items, true
	return out
}

// fit tries all calls, each on what the ones before have left.
func (t *fitting) fit() (f Fit) {
	said := t.sc.Lock.Convention
	t.keys = said.Keys
	if t.keys == nil {
		t.keys = []string{protocol.KeyPlace}
	}
	locked, again, unlocked := t.holds()
	_, says := said.Args[protocol.CallLock]
	switch _, n := argumentsOf(t.scripts[protocol.CallLock].Source); {
	case t.failed != nil:
		return Fit{}
	case n > 0 && !says && len(locked.items) > 0 && !t.leased(locked.items) && !hasOwner(locked.items, one):
		return Fit{asked: phrase.Say("Arguments? With none of those that were tried does the key live for the lease, or say whose it is. Say what ARGV[1] to ARGV[%d] are: args: {lock: […]}.", n)}
	case !locked.ran:
		return Fit{}
	}
	f.Args = map[string][]protocol.Arg{}
	if t.made != t.sc.Lock.Key {
		t.keys = append([]string{t.sc.Lock.Key}, t.keys[1:]...)
		f.Key, f.Keys = t.made, t.keys
	} else if !slices.Equal(t.keys, said.Keys) && (said.Keys != nil || len(t.keys) > 1) {
		f.Keys = t.keys
	}
	t.differs(&f, protocol.CallLock, locked.args)
	f.Once = !again.ran
	if unlocked.ran {
		t.differs(&f, protocol.CallUnlock, unlocked.args)
	}
	renewed, has := tried{}, t.scripts[protocol.CallRenew].Source != ""
	if has {
		renewed, _ = t.best(protocol.CallRenew, aged(locked.items), fitPassed, func(r tried) int { return number(t.leased(r.items)) })
		switch {
		case renewed.ran:
			t.differs(&f, protocol.CallRenew, renewed.args)
		case t.sc.Lock.Like != "" && t.scripts[protocol.CallRenew].Source == scenario.Beginning(t.sc.Lock.Like)[protocol.CallRenew]:
			f.Idle = append(f.Idle, protocol.CallRenew)
		}
	}
	f.Replies, f.asked = t.replies(locked, again, unlocked, renewed)
	f.Whole = t.whole(locked, renewed)
	return f
}

// whole reports whether scripts that work with a lease of seconds do not with the file's.
func (t *fitting) whole(locked, renewed tried) bool {
	if t.sc.Lock.Lease%time.Second == 0 || !t.leased(locked.items) {
		return false
	}
	worked := renewed.ran && t.leased(renewed.items)
	t.lease = t.sc.Lock.Lease
	defer func() { t.lease = fitLease }()
	l := t.call(protocol.CallLock, locked.args, one, nil, 0)
	return !t.leased(l.items) || worked && !t.leased(t.call(protocol.CallRenew, renewed.args, one, l.items, 0).items)
}

// differs notes the arguments of a call that are not those of its file.
func (t *fitting) differs(f *Fit, call string, args []protocol.Arg) {
	if !slices.Equal(args, t.scripts[call].Args()) {
		f.Args[call] = args
	}
}

// holds is a hold with the keys with which most works, which become t's: lock on a free key, lock
// once more, whose ran says that this got in, and unlock of the first.
func (t *fitting) holds() (locked, again, unlocked tried) {
	most, with := 0, t.keys
	for _, keys := range t.keysFor() {
		t.keys = keys
		l, entered := t.best(protocol.CallLock, nil, 0, t.enters)
		if !l.ran {
			continue
		}
		a := t.callAt(2, protocol.CallLock, l.args, one, l.items, 0)
		a.ran = a.ran && !sameItems(a.items, l.items)
		gives := func(u tried) int {
			if !t.free(u.items) {
				return 0
			}
			foreign := t.call(protocol.CallUnlock, u.args, other, l.items, 0)
			return 1 + 2*number(!a.ran || t.leaves(u.args, a)) + number(foreign.ran && sameItems(foreign.items, l.items))
		}
		u, given := t.best(protocol.CallUnlock, l.items, 0, gives)
		if points := 8*entered + given; points > most {
			locked, again, unlocked, most, with = l, a, u, points, keys
		}
	}
	t.keys = with
	if k, ok := t.key(locked.items); ok {
		t.made = k.Name
	}
	return locked, again, unlocked
}

// enters says how well a call of lock has worked, 0 where it has not.
func (t *fitting) enters(l tried) int {
	named := hasOwner(l.items, one)
	switch {
	case len(l.items) == 0, t.expires(l.items) && !t.leased(l.items) && !t.fixed(l), !named && slices.ContainsFunc(l.args, protocol.Arg.Names):
		return 0
	}
	second := t.call(protocol.CallLock, l.args, other, l.items, 0)
	refused := second.ran && !hasOwner(second.items, other)
	inner := t.callAt(2, protocol.CallLock, l.args, one, l.items, 0)
	again := inner.ran && !sameItems(inner.items, l.items)
	return 1 + 16*number(t.leased(l.items)) + 8*number(named) + 4*number(refused) + 2*number(t.counts(l, again, inner)) + number(again)
}

// fixed reports whether the key lives for a time that no argument makes.
func (t *fitting) fixed(l tried) bool {
	if slices.ContainsFunc(l.args, func(a protocol.Arg) bool { return a.Word == "" }) {
		return false
	}
	t.lease = 2 * fitLease
	defer func() { t.lease = fitLease }()
	k, _ := t.key(l.items)
	longer, _ := t.key(t.callAt(2, protocol.CallLock, l.args, one, nil, 0).items)
	return k.TTL == longer.TTL
}

// counts reports whether a hold count, where there is one, is 1 after a call, and 2 after
// another that gets in.
func (t *fitting) counts(l tried, again bool, inner tried) bool {
	count := func(items []store.Item) string {
		k, _ := t.key(items)
		return k.Hash[one]
	}
	if first := count(l.items); first != "1" {
		return first == ""
	}
	return !again || count(inner.items) == "2"
}

// keysFor are the keys that scripts may get: the file's or, where they name more, others of the
// lock's, the owner as the second, or a latch of each request as the last.
func (t *fitting) keysFor() [][]string {
	n := 1
	for _, s := range t.scripts {
		n = max(n, most(keyPlace, s.Source))
	}
	if n <= len(t.keys) || len(t.keys) > 1 {
		return [][]string{t.keys}
	}
	shared := []string{protocol.KeyPlace}
	for i := 2; i <= n; i++ {
		shared = append(shared, protocol.KeyPlace+":"+strconv.Itoa(i))
	}
	own, latched := slices.Clone(shared), slices.Clone(shared)
	own[1], latched[n-1] = protocol.OwnerPlace, protocol.KeyPlace+":"+protocol.RequestPlace
	return [][]string{shared, own, latched}
}

// best is the first try of a call that gets the most points, or none that ran if all get none.
// Arguments that the file names are enough if they get any.
func (t *fitting) best(call string, items []store.Item, at time.Duration, points func(tried) int) (best tried, most int) {
	script := t.scripts[call]
	_, says := t.sc.Lock.Convention.Args[call]
	for args := range t.lists(script) {
		if t.failed != nil {
			return tried{}, 0
		}
		got := t.call(call, args, one, items, at)
		if !got.ran {
			continue
		}
		if n := points(got); n > most {
			best, most = got, n
			if says && slices.Equal(args, script.Args()) {
				break
			}
		}
	}
	return best, most
}

// lists are the arguments to try: the file's first.
func (t *fitting) lists(script protocol.Script) iter.Seq[[]protocol.Arg] {
	n, upTo := argumentsOf(script.Source)
	// Of an argument that is none of the words, 1 will do: as a count, a level, or a message.
	words := []protocol.Arg{{Word: protocol.ArgOwner}, {Word: protocol.ArgLeaseMS}, {Text: "1"}, {Word: protocol.ArgLeaseS}, {Word: protocol.ArgDeadline}}
	if script.Call == protocol.CallUnlock && countsByArgument.MatchString(script.Source) {
		words = append(words, protocol.Arg{Text: "-1"})
	}
	verb := 0
	if m := callsArgument.FindStringSubmatch(script.Source); m != nil {
		verb, _ = strconv.Atoi(m[1])
	}
	return func(yield func([]protocol.Arg) bool) {
		if !yield(script.Args()) || upTo == 0 || n > mostTried || !slices.Contains(t.sc.Lock.Scripts.Calls(), script.Call) {
			return
		}
		var list []protocol.Arg
		var fill func(i int) bool
		fill = func(i int) bool {
			if i == len(list) {
				return yield(slices.Clone(list))
			}
			if i+1 == verb {
				list[i] = protocol.Arg{Text: "PUBLISH"}
				return fill(i + 1)
			}
			for _, w := range words {
				if w.Word != "" && slices.Contains(list[:i], w) {
					continue
				}
				if list[i] = w; !fill(i + 1) {
					return false
				}
			}
			return true
		}
		for size := max(n, 1); size <= upTo; size++ {
			if list = make([]protocol.Arg, size); !fill(0) {
				return
			}
		}
	}
}

// argumentsOf is how many arguments a script names, and how many it may have: a few more where
// it takes them all at once, as unpack(ARGV) does.
func argumentsOf(source string) (least, upTo int) {
	source = comment.ReplaceAllString(source, "")
	least = most(argument, source)
	if wholeArgument.MatchString(source) {
		return least, max(least, len(protocol.Convention{}.ArgsOf(protocol.CallLock)))
	}
	return least, least
}

var (
	// wholeArgument matches where a script does not say which of its arguments it takes.
	wholeArgument = regexp.MustCompile(`\bARGV\b\s*(?:[^\s\[]|\[\s*[^\s\d]|$)`)
	// callsArgument matches where a script is given the command to send.
	callsArgument = regexp.MustCompile(`\bcall\s*\(\s*ARGV\s*\[\s*(\d)`)
	// countsByArgument matches where it is given what to count by.
	countsByArgument = regexp.MustCompile(`(?i)INCRBY[^)]*ARGV\s*\[\s*\d\s*\]\s*\)`)
)

var keyPlace = regexp.MustCompile(`\bKEYS\s*\[\s*(\d)\s*\]`)

// most is the largest number that a script names.
func most(place *regexp.Regexp, source string) int {
	n := 0
	for _, m := range place.FindAllStringSubmatch(comment.ReplaceAllString(source, ""), -1) {
		i, _ := strconv.Atoi(m[1])
		n = max(n, i)
	}
	return n
}

// key is the lock's key among items. One that the scripts make of it is the lock's where they
// make no other.
func (t *fitting) key(items []store.Item) (store.Item, bool) {
	i := slices.IndexFunc(items, func(i store.Item) bool { return i.Name == t.sc.Lock.Key })
	if i < 0 && len(items) == 1 && strings.Contains(items[0].Name, t.sc.Lock.Key) && !hasOwner([]store.Item{{Name: items[0].Name}}, one) {
		i = 0
	}
	if i < 0 {
		return store.Item{}, false
	}
	return items[i], true
}

// leased reports whether the key lives for the lease.
func (t *fitting) leased(items []store.Item) bool {
	k, ok := t.key(items)
	return ok && k.TTL == t.lease
}

func (t *fitting) expires(items []store.Item) bool {
	k, ok := t.key(items)
	return ok && k.TTL > 0
}

// leaves reports whether an unlock of the second level that has passed some time leaves the
// first, for what is left of its lease or for a whole one, and whether another frees it.
func (t *fitting) leaves(args []protocol.Arg, again tried) bool {
	left := t.callAt(2, protocol.CallUnlock, args, one, aged(again.items), fitPassed)
	k, there := t.key(left.items)
	was, _ := t.key(again.items)
	last := t.call(protocol.CallUnlock, args, one, left.items, fitPassed)
	return left.ran && there && (k.TTL == was.TTL || k.TTL == was.TTL-fitPassed || k.TTL == fitLease) && last.ran && t.free(last.items)
}

// free reports whether nothing is left of the owner.
func (t *fitting) free(items []store.Item) bool {
	_, there := t.key(items)
	return !there || !hasOwner(items, one)
}

// hasOwner reports whether an owner is named in Redis.
func hasOwner(items []store.Item, owner string) bool {
	return strings.Contains(store.Shown(items), owner)
}

func sameItems(a, b []store.Item) bool { return store.Shown(a) == store.Shown(b) }

// aged are items as they are some time later.
func aged(items []store.Item) []store.Item {
	list := slices.Clone(items)
	for i := range list {
		if list[i].TTL > 0 {
			list[i].TTL -= fitPassed
		}
	}
	return list
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// replies are what calls return by what they did, of those calls that the file reads
// otherwise. Mute is what is wrong with a lock that says the same to who takes it and who does not.
func (t *fitting) replies(locked, again, unlocked, renewed tried) (found map[string]protocol.Replies, mute phrase.Wording) {
	seen := map[string]map[string][]any{}
	note := func(call, outcome string, ok bool, replies ...any) {
		if ok {
			if seen[call] == nil {
				seen[call] = map[string][]any{}
			}
			seen[call][outcome] = append(seen[call][outcome], replies...)
		}
	}
	note(protocol.CallLock, protocol.Entered, true, locked.reply)
	note(protocol.CallLock, protocol.Entered, again.ran, again.reply)
	expired := slices.DeleteFunc(slices.Clone(locked.items), func(i store.Item) bool { return i.Name == t.made })
	next := t.call(protocol.CallLock, locked.args, one, expired, 0)
	note(protocol.CallLock, protocol.Entered, next.ran && !t.free(next.items), next.reply)
	for _, items := range [][]store.Item{locked.items, aged(locked.items)} {
		refused := t.call(protocol.CallLock, locked.args, other, items, 0)
		note(protocol.CallLock, protocol.RefusedWord, refused.ran && !hasOwner(refused.items, other), refused.reply)
	}
	if unlocked.ran {
		note(protocol.CallUnlock, protocol.Released, true, unlocked.reply)
		left := t.callAt(2, protocol.CallUnlock, unlocked.args, one, again.items, 0)
		note(protocol.CallUnlock, protocol.Entered, again.ran && left.ran && !t.free(left.items), left.reply)
		foreign := t.call(protocol.CallUnlock, unlocked.args, other, locked.items, 0)
		note(protocol.CallUnlock, protocol.RefusedWord, foreign.ran && sameItems(foreign.items, locked.items), foreign.reply)
	}
	if renewed.ran {
		note(protocol.CallRenew, protocol.Renewed, true, renewed.reply)
		foreign := t.call(protocol.CallRenew, renewed.args, other, aged(locked.items), fitPassed)
		note(protocol.CallRenew, protocol.RefusedWord, foreign.ran && sameItems(foreign.items, aged(locked.items)), foreign.reply)
	}
	found = map[string]protocol.Replies{}
	for call, by := range seen {
		if list := t.otherwise(call, by); len(list) > 0 {
			found[call] = list
		}
	}
	lock, by := t.scripts[protocol.CallLock], seen[protocol.CallLock]
	if refused := by[protocol.RefusedWord]; refused != nil && reflect.DeepEqual(locked.reply, refused[0]) && lock.Means(locked.reply) != protocol.Entered {
		mute = phrase.Say("The script lock returns %s to who takes the key, as to who is refused: nobody gets in, and the key stays for as long as it lives.", written(locked.reply))
	}
	return found, mute
}

// otherwise are the replies of a call where its file reads one as another outcome, and all
// can be told apart. One that is another each time has no name.
func (t *fitting) otherwise(call string, by map[string][]any) protocol.Replies {
	script, right := t.scripts[call], true
	list, all := protocol.Replies{}, map[string][]protocol.Answer{}
	for outcome, replies := range by {
		for _, reply := range replies {
			means := script.Means(reply)
			_, says := script.Allowed()
			right = right && wrongReply(&Mistake{}, script, reply) == nil && (means == outcome || !says && means == protocol.Released && outcome == protocol.Entered)
			var a protocol.Answer
			switch v := reply.(type) {
			case nil:
				a = protocol.Answer{Kind: protocol.AnswerNil}
			case int64:
				a = protocol.Answer{Kind: protocol.AnswerNumber, Number: v}
				if call == protocol.CallLock && outcome == protocol.RefusedWord && v == fitLease.Milliseconds() {
					a = protocol.Answer{Kind: protocol.AnswerPTTL}
				}
			case string:
				a = protocol.Answer{Kind: protocol.AnswerText, Text: v}
			default:
				return nil
			}
			all[outcome] = append(all[outcome], a)
		}
		if a := all[outcome]; a[0].Kind == protocol.AnswerPTTL || !slices.ContainsFunc(a, func(b protocol.Answer) bool { return b != a[0] }) {
			list[outcome] = a[0]
		}
	}
	if right {
		return nil
	}
	for outcome, a := range list {
		for other, replies := range all {
			if other != outcome && slices.ContainsFunc(replies, a.Alike) {
				return nil
			}
		}
	}
	if _, clear := list.Rest(call); !clear {
		return nil
	}
	return list
}

// Convention is the file's, with what is to be otherwise.
func (f Fit) Convention() protocol.Convention {
	c := f.said
	c.Args, c.Replies = maps.Clone(c.Args), maps.Clone(c.Replies)
	if c.Args == nil {
		c.Args = map[string][]protocol.Arg{}
	}
	if c.Replies == nil {
		c.Replies = map[string]protocol.Replies{}
	}
	maps.Copy(c.Args, f.Args)
	maps.Copy(c.Replies, f.Replies)
	if f.Keys != nil {
		c.Keys = f.Keys
	}
	return c
}

// Lines are what to write under lock: so that the scripts are called as they work, in YAML; nil
// where nothing is to be written. Where the file names the arguments and only the unit of a time
// is another, that is the lock's own mistake, and is judged.
func (f Fit) Lines() []string {
	c := f.Convention()
	var args, replies []string
	wrong := f.Keys != nil
	for _, call := range []string{protocol.CallLock, protocol.CallUnlock, protocol.CallRenew} {
		if list, ok := c.Args[call]; ok {
			args = append(args, fmt.Sprintf("%s: [%s]", call, listed(list)))
		}
		if list, ok := c.Replies[call]; ok {
			replies = append(replies, fmt.Sprintf("%s: {%s}", call, list.Written(call)))
		}
		said, named := f.said.Args[call]
		wrong = wrong || f.Replies[call] != nil || f.Args[call] != nil && !(named && unitsApart(said, f.Args[call]))
	}
	if !wrong {
		return nil
	}
	var lines []string
	if f.Key != "" {
		lines = append(lines, "key: "+strconv.Quote(f.Key))
	}
	if len(args) > 0 {
		lines = append(lines, "args: {"+strings.Join(args, ", ")+"}")
	}
	if len(c.Keys) > 0 {
		lines = append(lines, "keys: ["+quoted(c.Keys)+"]")
	}
	if len(replies) > 0 {
		lines = append(lines, "replies: {"+strings.Join(replies, ", ")+"}")
	}
	return lines
}

// Asks asks whether the scripts are called as the file says, where they work otherwise; zero where
// they do not.
func (f Fit) Asks() phrase.Wording {
	lines := f.Lines()
	if !f.asked.IsZero() {
		return f.asked
	}
	if lines == nil {
		return phrase.Wording{}
	}
	return phrase.Say("Arguments? The scripts do not work as they are called here. They do with this under lock: %s.", strings.Join(lines, "; "))
}

// quoted are texts as YAML has them in a list.
func quoted(texts []string) string {
	list := make([]string, len(texts))
	for i, one := range texts {
		list[i] = strconv.Quote(one)
	}
	return strings.Join(list, ", ")
}

// unitsApart reports whether two lists differ by nothing but how a time is written.
func unitsApart(a, b []protocol.Arg) bool {
	times := []string{protocol.ArgLeaseMS, protocol.ArgLeaseS, protocol.ArgDeadline}
	plain := func(list []protocol.Arg) []protocol.Arg {
		list = slices.Clone(list)
		for i := range list {
			if slices.Contains(times, list[i].Word) {
				list[i].Word = protocol.ArgLeaseMS
			}
		}
		return list
	}
	return reflect.DeepEqual(plain(a), plain(b))
}
