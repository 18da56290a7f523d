package infer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/journal"
	"relock/engine/outside/resp"
	"relock/engine/trace"
)

// Whole is a key with all that it holds: its elements, each with its value. A string has one,
// without a name.
type Whole struct {
	State    trace.KeyState
	Elements map[string]string
}

// WholeOf returns a key, given the elements of a list or a stream, which its state lacks.
func WholeOf(k trace.KeyState, elements []string) Whole {
	w := Whole{State: k, Elements: k.Fields}
	switch {
	case k.Value != nil:
		w.Elements = map[string]string{"": *k.Value}
	case elements != nil:
		w.Elements = map[string]string{}
		for _, one := range elements {
			w.Elements[one] = ""
		}
	}
	return w
}

// Listed returns the elements of a list or a stream, each once, which do asks for; nil of other types.
func Listed(kind, name string, do func(args []string) []byte) []string {
	var list []string
	switch kind {
	case trace.TypeList:
		v, _ := resp.Value(do([]string{"LRANGE", name, "0", "-1"}))
		elements, _ := v.([]any)
		times := map[string]int{}
		for _, one := range elements {
			text := fmt.Sprint(one)
			times[text]++
			list = append(list, fmt.Sprint(text, "\x00", times[text]))
		}
	case "stream":
		v, _ := resp.Value(do([]string{"XRANGE", name, "-", "+"}))
		entries, _ := v.([]any)
		for _, one := range entries {
			list = append(list, fmt.Sprint(one))
		}
	}
	return list
}

// Touched is a key before and after a command.
type Touched struct {
	Key           string
	Before, After Whole
}

// Changed returns the keys that differ, given all before and all after something.
func Changed(before, after map[string]Whole) []Touched {
	var list []Touched
	seen := maps.Clone(before)
	if seen == nil {
		seen = map[string]Whole{}
	}
	maps.Copy(seen, after)
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		one := Touched{key, Whole{State: trace.Absent()}, Whole{State: trace.Absent()}}
		if w, ok := before[key]; ok {
			one.Before = w
		}
		if w, ok := after[key]; ok {
			one.After = w
		}
		if !Equal(one.Before.State, one.After.State) || !maps.Equal(one.Before.Elements, one.After.Elements) {
			list = append(list, one)
		}
	}
	return list
}

// state is the locks' states of all threads: what each one's commands have put since its last
// mark, and what of that was still there when it entered. It goes by what commands change,
// whatever they are and whatever they change it in: elements of keys appear by a thread's doing, and are its
// own until they are gone. Parts of a string, and a number that several change, are nobody's. The zero value
// is that of no command. It is not safe for concurrent use.
type state struct {
	own    map[element]*owned
	inside map[string][]string // by thread: the locks that it has entered, by the names that it says
	gone   map[string]bool     // threads that have ended
	lapsed map[string]bool     // threads of whose own something has ended by itself since they entered: their lease is over
	open   []renewal           // that their thread may yet enter by
}

// element is one of a key of a server.
type element struct {
	node      int
	key, name string
}

// owned is whose an element is.
type owned struct {
	thread, value string
	entered       bool   // it was there when the thread entered, and the thread is inside
	lock          string // that the thread has entered then
}

// renewal is one of another's lease by a thread that has an element of its own in the same key.
type renewal struct {
	taken

	node int
	key  string
}

// taken is what a thread has done to what another one's lock is made of.
type taken struct {
	rule, who string
	whose     []string
}

func (s *state) begin() {
	if s.own == nil {
		s.own, s.inside, s.gone, s.lapsed = map[element]*owned{}, map[string][]string{}, map[string]bool{}, map[string]bool{}
	}
}

// see takes a command of a thread, at an instant, and returns what it has done to the others' locks.
func (s *state) see(r Record, touched []Touched, now time.Time) []taken {
	s.begin()
	delete(s.gone, r.Thread)
	for _, key := range r.Gone {
		s.lapse(r.Node, key)
	}
	var list []taken
	tell := func(rule, whose string) {
		i := slices.IndexFunc(list, func(t taken) bool { return t.rule == rule })
		if i < 0 {
			i, list = len(list), append(list, taken{rule: rule, who: r.Thread})
		}
		if !slices.Contains(list[i].whose, whose) {
			list[i].whose = append(list[i].whose, whose)
			slices.Sort(list[i].whose)
		}
	}
	for _, t := range touched {
		s.expire(r.Node, t)
		if !s.change(r, t, now, tell) && !slices.Contains(r.written(), t.Key) {
			s.renews(r, t, now, tell)
		}
	}
	for _, key := range r.prolonged() {
		if !slices.ContainsFunc(touched, func(t Touched) bool { return t.Key == key }) { // the clock stands: its expiry is as it was
			s.renew(r, key, now, tell)
		}
	}
	for _, key := range r.written() {
		o := s.own[element{r.Node, key, ""}]
		if o == nil || o.thread == r.Thread || slices.ContainsFunc(touched, func(t Touched) bool { return t.Key == key }) {
			continue
		}
		if o.entered && !s.free(o, now) {
			tell(check.Replaced, o.thread)
		}
		*o = owned{thread: r.Thread, value: o.value}
	}
	return append(list, s.closed(r)...)
}

// expire forgets what has ended by itself since.
func (s *state) expire(node int, t Touched) {
	for e, o := range s.own {
		if e.node != node || e.key != t.Key {
			continue
		}
		if value, there := t.Before.Elements[e.name]; !there || value != o.value {
			s.ends(e, o)
		}
	}
}

// lapse takes that a key has ended by itself.
func (s *state) lapse(node int, key string) {
	for e, o := range s.own {
		if e.node == node && e.key == key {
			s.ends(e, o)
		}
	}
}

// ends forgets what has ended by itself.
func (s *state) ends(e element, o *owned) {
	if o.entered {
		s.lapsed[o.thread] = true
	}
	delete(s.own, e)
}

// free reports whether nobody takes anything from its thread who takes an element: what it had has ended
// by itself, or says that it is over.
func (s *state) free(o *owned, now time.Time) bool {
	if s.lapsed[o.thread] {
		return true
	}
	for _, other := range s.own {
		if other.thread == o.thread && over(other.value, now) {
			return true
		}
	}
	return false
}

// change takes what a command has changed in a key, and reports whether that broke a rule.
func (s *state) change(r Record, t Touched, now time.Time, tell func(rule, whose string)) (broke bool) {
	part := r.parts(t.Key)
	puts, took := false, false
	lost := map[string]bool{} // threads that have lost an element, and whether another stands in its place
	for name, value := range t.After.Elements {
		e := element{r.Node, t.Key, name}
		was, stood := t.Before.Elements[name]
		o := s.own[e]
		switch {
		case stood && was == value && !(t.After.State.Type == trace.TypeString && slices.Contains(r.written(), t.Key)):
		case part && t.After.State.Type == trace.TypeString:
			delete(s.own, e)
		case o != nil && o.thread == r.Thread:
			o.value = value
		case stood && part:
			delete(s.own, e)
		case stood && t.After.State.Type == trace.TypeZSet: // the same member: who it is has not changed
			if o != nil && s.stands(o) && !s.free(o, now) && later(was, value) {
				tell(check.ForeignRenewal, o.thread)
				broke = true
			}
			if o != nil {
				o.value = value
			}
		default:
			if o != nil && o.entered && !s.free(o, now) {
				lost[o.thread] = true
			}
			puts = true
			s.own[e] = &owned{thread: r.Thread, value: value}
		}
	}
	for name := range t.Before.Elements {
		if _, stands := t.After.Elements[name]; stands {
			continue
		}
		took = true
		e := element{r.Node, t.Key, name}
		if o := s.own[e]; o != nil && o.thread != r.Thread && o.entered && !s.free(o, now) {
			if _, replaced := lost[o.thread]; !replaced {
				lost[o.thread] = false
			}
		}
		delete(s.own, e)
	}
	if took && !puts { // what it had put there before is for whom comes: a token that it gave back, or filled the list with
		maps.DeleteFunc(s.own, func(e element, o *owned) bool {
			return e.node == r.Node && e.key == t.Key && o.thread == r.Thread && !o.entered
		})
	}
	for _, whose := range slices.Sorted(maps.Keys(lost)) {
		rule := check.ForeignRelease
		if lost[whose] || puts {
			rule = check.Replaced
		}
		tell(rule, whose)
		broke = true
	}
	return broke
}

// renews takes a key that a command has changed otherwise: its expiry may be further away.
func (s *state) renews(r Record, t Touched, now time.Time, tell func(rule, whose string)) {
	before, after := t.Before.State, t.After.State
	switch {
	case !before.Exists() || !after.Exists() || before.PTTL < 0:
	case after.PTTL < 0 || after.PTTL > before.PTTL, after.PTTL == before.PTTL && slices.Contains(r.prolonged(), t.Key):
		s.renew(r, t.Key, now, tell)
	}
}

// renew takes that a command has moved the expiry of a key further away.
func (s *state) renew(r Record, key string, now time.Time, tell func(rule, whose string)) {
	if len(s.inside[r.Thread]) > 0 {
		return
	}
	var whose []string
	mine := false
	for e, o := range s.own {
		if e.node != r.Node || e.key != key {
			continue
		}
		mine = mine || o.thread == r.Thread
		if o.thread != r.Thread && s.stands(o) && !s.free(o, now) && !slices.Contains(whose, o.thread) {
			whose = append(whose, o.thread)
		}
	}
	slices.Sort(whose)
	switch {
	case len(whose) == 0:
	case mine: // it may yet enter by this
		s.open = append(s.open, renewal{taken{check.ForeignRenewal, r.Thread, whose}, r.Node, key})
	default:
		for _, thread := range whose {
			tell(check.ForeignRenewal, thread)
		}
	}
}

// stands reports whether the element's thread is inside, or gone.
func (s *state) stands(o *owned) bool { return o.entered || s.gone[o.thread] }

// closed returns the renewals whose thread has given back since what it had put beside them.
func (s *state) closed(r Record) []taken {
	var list []taken
	s.open = slices.DeleteFunc(s.open, func(one renewal) bool {
		if one.who != r.Thread || s.has(one.who, one.node, one.key) {
			return false
		}
		list = append(list, one.taken)
		return true
	})
	return list
}

// has reports whether a thread has an element in a key.
func (s *state) has(thread string, node int, key string) bool {
	for e, o := range s.own {
		if o.thread == thread && e.node == node && e.key == key {
			return true
		}
	}
	return false
}

// enter takes that a thread is inside a lock from now on.
func (s *state) enter(thread, lock string) {
	s.begin()
	delete(s.lapsed, thread)
	s.inside[thread] = append(slices.Clone(s.inside[thread]), lock)
	for _, o := range s.own {
		if o.thread == thread && !o.entered {
			o.entered, o.lock = true, lock
		}
	}
	s.open = slices.DeleteFunc(s.open, func(one renewal) bool { return one.who == thread })
}

// leave takes that a thread has left a lock, and returns the name by which it has entered it.
func (s *state) leave(thread, lock string) string {
	list := s.inside[thread]
	if len(list) == 0 {
		return lock
	}
	at := len(list) - 1
	for i, one := range slices.Backward(list) {
		if one == lock {
			at = i
			break
		}
	}
	lock = list[at]
	if s.inside[thread] = slices.Delete(slices.Clone(list), at, at+1); len(s.inside[thread]) == 0 {
		delete(s.inside, thread)
	}
	if !slices.Contains(s.inside[thread], lock) {
		for _, o := range s.own {
			if o.thread == thread && o.lock == lock {
				o.entered = false
			}
		}
	}
	return lock
}

// end takes that a thread has ended: what it has left is still its own.
func (s *state) end(thread string) {
	s.begin()
	s.gone[thread] = true
	delete(s.inside, thread)
	s.open = slices.DeleteFunc(s.open, func(one renewal) bool { return one.who == thread })
}

// left reports whether something of a thread's own is still in a key, and does not say itself
// when it is over.
func (s *state) left(key string, k trace.KeyState) bool {
	for e, o := range s.own {
		value, there := k.Fields[e.name]
		if k.Value != nil {
			value, there = *k.Value, true
		}
		if e.key == key && there && value == o.value && !isDeadline(value) {
			return true
		}
	}
	return false
}

// later reports whether a number is larger than another.
func later(was, now string) bool {
	a, err := strconv.ParseFloat(was, 64)
	b, err2 := strconv.ParseFloat(now, 64)
	return err == nil && err2 == nil && b > a
}

// over reports whether a value is an instant that has passed: who comes then takes nothing from
// anybody.
func over(value string, now time.Time) bool {
	until, is := deadline(value)
	return is && (now.IsZero() || until.Before(now))
}

// Of commands: those that write a part of what is there, and those that set the end of a key.
var (
	parting    = strings.Fields("APPEND SETRANGE SETBIT BITFIELD BITOP INCR INCRBY INCRBYFLOAT DECR DECRBY PFADD PFMERGE HINCRBY HINCRBYFLOAT")
	prolonging = strings.Fields("EXPIRE PEXPIRE EXPIREAT PEXPIREAT GETEX PERSIST")
)

// all returns all commands of a record: of a script its own, as far as they are known.
func (r Record) all() []journal.Entry {
	list := r.ran(true)
	if len(r.Ran) > 0 {
		list = append(slices.Clone(list), r.Ran...)
	}
	return list
}

// parts reports whether a record has written a part of what a key holds.
func (r Record) parts(key string) bool {
	all := r.all()
	if r.Script != "" && len(r.Ran)+len(r.Inner) == 0 { // nobody knows what it has run
		return counting.MatchString(r.Script) && !setting.MatchString(r.Script)
	}
	return slices.ContainsFunc(all, func(e journal.Entry) bool {
		return len(e.Args) > 1 && slices.Contains(parting, Verb(e.Args)) && (e.Args[1] == key || Touches(e.Args).All && slices.Contains(e.Args, key))
	})
}

// counts reports whether a record has written a part of a string, as counting does: who has put it
// there is nobody then.
func (r Record) counts(key string) bool {
	return (r.Before.Type == trace.TypeString || r.After.Type == trace.TypeString) && r.parts(key)
}

// written returns the keys that a record has written anew as strings, whatever they held.
func (r Record) written() []string {
	var keys []string
	for _, e := range r.all() {
		switch Verb(e.Args) {
		case "SET", "SETEX", "PSETEX", "SETNX", "GETSET":
			if len(e.Args) > 2 && e.Err == "" && journal.Wrote(e.Args, e.Reply) && !slices.Contains(keys, e.Args[1]) {
				keys = append(keys, e.Args[1])
			}
		}
	}
	return keys
}

// Prolongs reports whether a record has set the expiry of a key.
func (r Record) Prolongs() bool { return len(r.prolonged()) > 0 }

// prolonged returns the keys whose expiry a record has set.
func (r Record) prolonged() []string {
	var keys []string
	for _, e := range r.all() {
		if len(e.Args) < 2 || !slices.Contains(prolonging, Verb(e.Args)) || e.Err != "" {
			continue
		}
		if n, is := e.Reply.(int64); is && n == 1 || Verb(e.Args) == "GETEX" && e.Reply != nil && len(e.Args) > 2 {
			keys = append(keys, e.Args[1])
		}
	}
	slices.SortFunc(keys, cmp.Compare)
	return slices.Compact(keys)
}
