package film_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/words"
)

// playedRun is a run that has ended, and the key as each event's thread has it: of two
// masters, its own. It is folded here a second time, and by nothing of package film.
type playedRun struct {
	sc     *scenario.Scenario
	owners map[string]string
	events []trace.Event
	keys   []trace.KeyState
	nodes  [][]trace.KeyState
	aside  []bool // the event's thread asks an old master
	framed bool   // the threads are somebody's own clients
}

// split is the old master of one node.
type split struct {
	threads map[string]bool
	key     trace.KeyState
	at      trace.Millis
}

func (o *split) now(at trace.Millis) trace.KeyState {
	k := o.key
	if k.PTTL >= 0 {
		if k.PTTL -= int64(at) - int64(o.at); k.PTTL <= 0 {
			return trace.Absent()
		}
	}
	return k
}

func newPlayedRun(p lessonstest.Run) *playedRun {
	r := &playedRun{sc: p.Scenario, owners: p.Owners, events: p.Events, framed: p.Header.Framed()}
	old := map[int]*split{}
	on := func(e trace.Event, node int) trace.KeyState {
		if node < len(e.Nodes) {
			return e.Nodes[node]
		}
		return e.Key
	}
	for _, e := range p.Events {
		switch b := e.Body.(type) {
		case trace.Fault:
			node := max(b.Node-1, 0)
			switch b.Do {
			case fault.TwoMasters:
				if old[node] == nil {
					old[node] = &split{map[string]bool{}, on(e, node), e.At}
				}
				old[node].threads[b.Thread] = true
			case fault.OneMaster:
				delete(old, node)
			case fault.ClockJump:
				if old[node] != nil {
					by, _ := time.ParseDuration(b.By)
					old[node].at -= trace.MillisOf(by)
				}
			}
		case trace.Command:
			if o := old[max(b.Node-1, 0)]; b.OldMaster && o != nil {
				o.key, o.at = *b.OldKey, e.At
			}
		}
		key, nodes, aside := e.Key, slices.Clone(e.Nodes), false
		for node, o := range old {
			if !o.threads[e.Thread] {
				continue
			}
			if aside = true; len(nodes) == 0 {
				key = o.now(e.At)
			} else if nodes[node] = o.now(e.At); true {
				key = trace.Majority(nodes)
			}
		}
		if r.sc.Kind == scenario.KindHeartbeat && len(nodes) > 0 { // a device knows one Redis
			key = nodes[0]
		}
		r.keys, r.nodes, r.aside = append(r.keys, key), append(r.nodes, nodes), append(r.aside, aside)
	}
	return r
}

// scene is an event, and what a sentence in a language says of it.
type scene struct {
	*playedRun

	l     words.Language
	i     int
	e     trace.Event
	who   string
	said  []string // the values in the sentence, from 1
	own   bool     // it says that they are by the thread's own clock
	key   trace.KeyState
	nodes []trace.KeyState
}

func (r *playedRun) scene(l words.Language, i int, said []string) scene {
	e := r.events[i]
	s := scene{playedRun: r, l: l, i: i, e: e, who: e.Thread, said: said, key: r.keys[i], nodes: r.nodes[i]}
	if b, ok := e.Body.(trace.Command); ok && b.Node > 0 {
		s.key = s.nodes[b.Node-1]
	}
	return s
}

// value is the nth value in the sentence.
func (s scene) value(n int) string {
	if n < 1 || n > len(s.said) {
		return ""
	}
	return s.said[n-1]
}

// number is the nth value, a whole number.
func (s scene) number(n int) int {
	v, err := strconv.Atoi(strings.ReplaceAll(strings.ReplaceAll(s.value(n), ",", ""), "−", "-"))
	if err != nil {
		return -1 << 40
	}
	return v
}

func (s scene) thread() scenario.Thread {
	for _, t := range s.sc.Threads {
		if t.Name == s.who {
			return t
		}
	}
	return scenario.Thread{}
}

func (s scene) command() trace.Command { c, _ := s.e.Body.(trace.Command); return c }
func (s scene) outcome() trace.Outcome { o, _ := s.e.Body.(trace.Outcome); return o }
func (s scene) work() trace.Work       { w, _ := s.e.Body.(trace.Work); return w }
func (s scene) struck() trace.Fault    { f, _ := s.e.Body.(trace.Fault); return f }
func (s scene) verb() string           { return strings.ToUpper(s.command().Arg(0)) }

func (s scene) holders(k trace.KeyState) []string {
	var list []string
	name := func(id, by string) {
		if who := cmp.Or(s.owners[id], by); who != "" {
			list = append(list, who)
		} else {
			list = append(list, s.l.Say("another owner"))
		}
	}
	if k.Value != nil {
		name(*k.Value, s.wrote(*k.Value))
	}
	for id := range k.Fields {
		if k.Type != trace.TypeHash || !strings.HasPrefix(id, "#") && id != trace.Mode {
			name(id, s.made(id))
		}
	}
	return list
}

// all are all holders of a key, as a sentence names them.
func (s scene) all(k trace.KeyState) string {
	list := s.holders(k)
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > 2 {
		return s.l.Say("%s and %d others", list[0], len(list)-1)
	}
	return s.l.List(list)
}

// members is how many there are in the key.
func (s scene) members() int {
	if s.key.Type == trace.TypeSet || s.key.Type == trace.TypeZSet {
		return len(s.key.Fields)
	}
	return len(s.holders(s.key))
}

// made is the thread whose command made a field of the key, or "".
func (s scene) made(field string) string {
	who := ""
	for i := s.i; i >= 0; i-- {
		if _, has := s.events[i].Key.Fields[field]; has {
			who = s.events[i].Thread
		} else if who != "" {
			break
		}
	}
	return who
}

// wrote is the thread whose command last wrote a value, or "" where that is not known.
func (s scene) wrote(value string) string {
	for i := s.i; i >= 0; i-- {
		if f, is := s.events[i].Body.(trace.Fault); i < s.i && is && (f.Do == fault.FailOver || f.Do == fault.Restart || f.Do == fault.OneMaster) { // it may be older data
			return ""
		}
		c, is := s.events[i].Body.(trace.Command)
		swaps := strings.EqualFold(c.Arg(0), "GETSET")
		if is && (swaps || strings.EqualFold(c.Arg(0), "SET") && c.Reply != nil || strings.EqualFold(c.Arg(0), "SETNX") && c.Reply == int64(1)) && c.Arg(2) == value {
			return s.events[i].Thread
		}
	}
	return ""
}

func (s scene) has(k trace.KeyState, who string) bool { return slices.Contains(s.holders(k), who) }

// field is a thread's hold count in a hash.
func (s scene) field(who string) string {
	for _, id := range slices.Sorted(maps.Keys(s.key.Fields)) {
		if s.owners[id] == who {
			return s.key.Fields[id]
		}
	}
	return ""
}

// before is the index of the last event before this one whose thread has the same masters,
// or -1.
func (s scene) before() trace.KeyState {
	if s.i == 0 {
		return trace.Absent()
	}
	node := s.command().Node
	if s.aside[s.i] { // what its master had is what it had after the last command there
		for j := s.i - 1; j >= 0; j-- {
			if s.aside[j] && s.events[j].Thread == s.who || s.struckAt(j, fault.TwoMasters) {
				if node > 0 {
					return s.playedRun.nodes[j][node-1]
				}
				return s.keys[j]
			}
		}
	}
	for j := s.i - 1; j >= 0; j-- {
		if c, ok := s.events[j].Body.(trace.Command); ok && c.OldMaster {
			continue
		}
		if node > 0 && node <= len(s.events[j].Nodes) {
			return s.events[j].Nodes[node-1]
		}
		return s.events[j].Key
	}
	return trace.Absent()
}

func (s scene) struckAt(j int, do string) bool {
	f, ok := s.events[j].Body.(trace.Fault)
	return ok && f.Do == do
}

// attempt are the commands that Redis ran of the outcome's call before it: of its last
// attempt, or of the whole call.
func (s scene) attempt(whole bool) []trace.Command {
	o := s.outcome()
	var list []trace.Command
	for j := s.i - 1; j >= 0; j-- {
		if s.events[j].Thread != s.who {
			continue
		}
		switch b := s.events[j].Body.(type) {
		case trace.Command:
			if !b.Late && b.Call == o.Call && b.Level == o.Level && (b.Attempt == o.Attempt || whole) {
				list = append(list, b)
			}
		case trace.Outcome:
			if b.Call == o.Call && (!whole || b.Level != o.Level || b.Attempt >= o.Attempt || b.Result != trace.Failed) {
				return list
			}
		}
	}
	return list
}

// leaves are the commands and outcomes of a thread's last unlock since it has been leaving.
func (s scene) leaves(who string) (ran bool, refused string) {
	for j := s.i - 1; j >= 0 && slices.Contains(s.events[j].Leaving, who); j-- {
		if s.events[j].Thread != who {
			continue
		}
		switch b := s.events[j].Body.(type) {
		case trace.Command:
			ran = ran || b.Call == "unlock" && b.Level == 1 && !b.Late
		case trace.Outcome:
			if b.Call == "unlock" && b.Level == 1 && b.Cause.Kind == trace.Answered {
				refused = b.Cause.Code
			}
		}
	}
	return ran, refused
}

// length is a length of time as it is said.
func (s scene) length(d time.Duration) string { return s.l.Duration(d) }

func (s scene) ms(n int64) string { return s.l.Duration(time.Duration(n) * time.Millisecond) }

// elsewhere is how long a length of the thread's own clock is by the others.
func (s scene) elsewhere(d time.Duration) time.Duration {
	rate := 1_000_000 + int64(s.thread().Drift)
	return (time.Duration(int64(d)*1_000_000/rate) + time.Microsecond - 1).Truncate(time.Microsecond)
}

// stands reports whether the thread stands still at some instant between two.
func (s scene) stands(from, to trace.Millis) bool {
	for _, e := range s.events {
		if f, ok := e.Body.(trace.Fault); ok && f.Do == fault.Pause && e.Thread == s.who && e.At+f.ForMS >= from && e.At <= to {
			return true
		}
	}
	return false
}

// next is when the thread does the next thing of its own, its watchdog not among it, and what
// that is.
func (s scene) next() (trace.Event, bool) {
	for _, e := range s.events[s.i+1:] {
		if e.Thread != s.who {
			continue
		}
		switch b := e.Body.(type) {
		case trace.Command:
			if b.Late || b.Call == "renew" {
				continue
			}
		case trace.Outcome:
			if b.Call == "renew" {
				continue
			}
		case trace.Fault:
			if b.At == "renew" {
				continue
			}
		case trace.Wait:
			if b.Why == trace.WaitClient { // it may be its watchdog's client
				continue
			}
		}
		return e, true
	}
	return trace.Event{}, false
}

// afterwards says whether the thread goes on after the value, by its own clock or that of
// all; or earlier, where a message or the end of a context may wake it.
func (s scene) afterwards(n int, sooner bool) string {
	e, ok := s.next()
	if !ok {
		return ""
	}
	w, _ := s.e.Body.(trace.Wait)
	real := s.elsewhere(w.For.Duration())
	if got := s.length(w.For.Duration()); s.value(n) != got {
		return fmt.Sprintf("it waits %s", got)
	}
	if !s.own && s.thread().Drift != 0 {
		return fmt.Sprintf("its clock drifts: it waits %v", real)
	}
	due, at := s.e.At.Duration()+real, e.At.Duration()
	for _, other := range s.events[s.i+1:] {
		if other.Thread == s.who && other.At.Duration() == due {
			return "" // of its business, or of its watchdog: the two go on side by side
		}
	}
	if last := s.lastOutcome(); last.Call == "unlock" && w.Why == trace.WaitRetry {
		sent := false
		for _, other := range s.events[s.i+1:] {
			o, ok := other.Body.(trace.Outcome)
			sent = sent || ok && other.Thread == s.who && o.Call == last.Call && o.Level == last.Level && o.GivesBack == last.GivesBack && o.Attempt == last.Attempt+1
		}
		if !sent {
			return "" // its time was up
		}
	}
	if at < due && (w.Why == trace.WaitClient || s.lastOutcome().Call == "unlock") {
		return "" // its time was up
	}
	end, _ := e.Body.(trace.End)
	out, _ := e.Body.(trace.Outcome)
	switch {
	case at == due, end.Result == trace.Crashed, s.stands(s.e.At, e.At):
		return ""
	case at < due && (sooner || out.Result == trace.Cancelled || s.outcome().Result == trace.Lost || end.Result != ""):
		return ""
	}
	return fmt.Sprintf("it goes on %v later, with %T", at-s.e.At.Duration(), e.Body)
}

// holds says why something is not so, or "".
type holds func(scene) string

func all(list ...holds) holds {
	return func(s scene) string {
		for _, one := range list {
			if why := one(s); why != "" {
				return why
			}
		}
		return ""
	}
}

func (s scene) unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

var (
	own      = func(s scene) string { return s.unless(s.has(s.key, s.who), "the key is %v's", s.holders(s.key)) }
	notOwn   = func(s scene) string { return s.unless(!s.has(s.key, s.who), "the key is its own") }
	noExpiry = func(s scene) string {
		return s.unless(s.key.Exists() && s.key.PTTL == trace.NoExpiry, "PTTL is %d", s.key.PTTL)
	}
	noKey = func(s scene) string {
		return s.unless(!s.key.Exists(), "the key is %v's, for %d ms", s.holders(s.key), s.key.PTTL)
	}
	watches = func(s scene) string {
		return s.unless(s.sc.Lock.Watchdog > 0 && s.sc.Lock.Implementation().HasWatchdog(), "there is no watchdog")
	}
	ended = func(s scene) string {
		for _, e := range s.events[:s.i] {
			if _, ok := e.Body.(trace.End); ok && e.Thread == s.value(1) {
				return ""
			}
		}
		return "it has not ended"
	}
)

// of is a thread other than the one that acts, which has the key.
func of(n int) holds {
	return func(s scene) string {
		among := s.value(n) == s.all(s.key) && !s.has(s.key, s.who)
		return s.unless(among || s.value(n) != s.who && s.has(s.key, s.value(n)), "the key is %v's", s.holders(s.key))
	}
}

// left is how long the key stays.
func left(n int) holds {
	return func(s scene) string {
		return s.unless(s.key.PTTL >= 0 && s.ms(s.key.PTTL) == s.value(n), "PTTL is %d", s.key.PTTL)
	}
}

// least is left, or 0 where there is no key.
func least(n int) holds {
	return func(s scene) string {
		return s.unless(s.ms(max(s.key.PTTL, 0)) == s.value(n), "PTTL is %d", s.key.PTTL)
	}
}

// counts is a hold count in the hash: of the acting thread for 0.
func counts(who, n int) holds {
	return func(s scene) string {
		name := s.who
		if who > 0 {
			name = s.value(who)
		}
		return s.unless(s.field(name) == strconv.Itoa(s.number(n)), "its field is %q", s.field(name))
	}
}

func result(of ...trace.Result) holds {
	return func(s scene) string {
		return s.unless(slices.Contains(of, s.outcome().Result), "it is %s", s.outcome().Result)
	}
}

func level(n int) holds {
	return func(s scene) string {
		at := s.outcome().Level
		switch b := s.e.Body.(type) {
		case trace.Command:
			at = b.Level
		case trace.Work:
			at = b.Level
		case trace.Fault:
			at = b.Level
		}
		return s.unless(at == s.number(n), "it is level %d", at)
	}
}

// ran is a command with its reply.
func ran(verb string, reply any) holds {
	return func(s scene) string {
		return s.unless(s.verb() == verb && s.command().Error == "" && fmt.Sprint(s.command().Reply) == fmt.Sprint(reply), "%s answers %v %s", s.verb(), s.command().Reply, s.command().Error)
	}
}

// answers is a command with its reply in the sentence.
func answers(verb string, n int) holds {
	return func(s scene) string {
		return s.unless(s.verb() == verb && fmt.Sprint(s.command().Reply) == strconv.Itoa(s.number(n)), "%s answers %v", s.verb(), s.command().Reply)
	}
}

// sets is an expiry that a command gives the key.
func sets(n int) holds {
	return func(s scene) string {
		return s.unless(s.key.PTTL >= 0 && s.value(n) == s.ms(s.key.PTTL), "PTTL is %d right after", s.key.PTTL)
	}
}

func hadLeft(n int) holds {
	return func(s scene) string {
		k := s.before()
		now := k.PTTL
		if s.i > 0 {
			now -= int64(s.e.At) - int64(s.events[s.i-1].At)
		}
		return s.unless(s.value(n) == s.ms(k.PTTL) || s.value(n) == s.ms(now), "before it PTTL was %d", k.PTTL)
	}
}

// deleted is a key of the acting thread's that its unlock has deleted.
func deleted(s scene) string {
	if s.has(s.key, s.who) {
		return "the key is still its own"
	}
	for _, c := range s.attempt(true) {
		if v := strings.ToUpper(c.Arg(0)); (v == "DEL" || v == "DELEX") && c.Reply == int64(1) {
			return ""
		}
	}
	return "no command of its unlock has deleted a key"
}

// deletes is a command that deletes a key.
func deletes(s scene) string {
	n, _ := s.command().Reply.(int64)
	return s.unless((s.verb() == "DEL" || s.verb() == "DELEX") && n > 0 && !s.key.Exists(), "%s answers %v, and the key is %v's", s.verb(), s.command().Reply, s.holders(s.key))
}

func was(n int) holds { // whose key it was before: of the acting thread for 0
	return func(s scene) string {
		who := s.who
		if n > 0 {
			who = s.value(n)
		}
		return s.unless(s.has(s.before(), who) || who == s.all(s.before()), "it was %v's", s.holders(s.before()))
	}
}

func shown(n int, of func(scene) string) holds {
	return func(s scene) string { return s.unless(s.value(n) == of(s), "it is %s", of(s)) }
}

func quantity(n int, of func(scene) int) holds {
	return func(s scene) string { return s.unless(s.number(n) == of(s), "it is %d", of(s)) }
}

// nodesOf is how many nodes have a thread's value: of the acting one's.
func nodesOf(n, all int) holds {
	return func(s scene) string {
		has := 0
		for _, k := range s.nodes {
			if s.has(k, s.who) {
				has++
			}
		}
		return s.unless(s.number(n) == has && s.number(all) == len(s.nodes), "%d of %d nodes have it", has, len(s.nodes))
	}
}

// outage says who does not serve whom at an event, as far as an acquisition needs it: what
// a node answers to a script's digest alone keeps nobody out.
func (s scene) serving(whom string) int {
	type at struct {
		node int
		whom string
	}
	out := map[at]bool{}
	for _, e := range s.events[:s.i+1] {
		f, ok := e.Body.(trace.Fault)
		if !ok || f.At != "" && f.ForMS == 0 {
			continue
		}
		where := at{max(f.Node-1, 0), f.Thread}
		switch {
		case f.Do == fault.Down, f.Do == fault.Restart && f.ForMS > 0:
			out[where] = true
		case f.Do == fault.AnswerError:
			out[where] = f.Error != "NOSCRIPT"
		case f.Do == fault.Up:
			delete(out, where)
		}
	}
	n := 0
	for node := range len(s.nodes) {
		if !out[at{node, ""}] && !out[at{node, whom}] {
			n++
		}
	}
	return n
}

// serve is how many of all nodes serve.
func serve(n, all int, alone bool) holds {
	return func(s scene) string {
		whom := ""
		if alone {
			whom = s.struck().Thread
		}
		return s.unless(s.number(n) == s.serving(whom) && s.number(all) == len(s.nodes), "%d of %d nodes serve", s.serving(whom), len(s.nodes))
	}
}

func quorum(n int) holds {
	return func(s scene) string {
		return s.unless(s.number(n) == len(s.nodes)/2+1 && len(s.nodes) > 1, "of %d nodes", len(s.nodes))
	}
}

var verbs = regexp.MustCompile(`%(?:\[(\d+)\])?([sdq])`)

// pattern is a sentence with its values open, in one language.
type pattern struct {
	whole *regexp.Regexp
	last  *regexp.Regexp // of a sentence after another
	words string         // the longest part between values
	at    []int          // which value each group is
	holds holds
	key   string
}

// patternOf reads a text with values as it stands in a language.
func patternOf(l words.Language, key string, so holds) pattern {
	marks, groups := map[string]int{}, map[string]string{}
	var args []any
	for n, m := range verbs.FindAllStringSubmatch(key, -1) {
		at := n + 1
		if m[1] != "" {
			at, _ = strconv.Atoi(m[1])
		}
		for len(args) < at {
			args = append(args, "")
		}
		if m[2] == "d" {
			args[at-1] = 7_654_000 + at
			marks[fmt.Sprintf("7,654,%03d", at)], groups[fmt.Sprintf("7,654,%03d", at)] = at, `([-−]?[\d,]+)`
		} else {
			args[at-1] = fmt.Sprintf("⟦%d⟧", at)
			marks[fmt.Sprintf("⟦%d⟧", at)], groups[fmt.Sprintf("⟦%d⟧", at)] = at, `(.+?)`
		}
	}
	p := pattern{holds: so, key: key}
	text := regexp.QuoteMeta(l.Say(phrase.Text(key), args...))
	open := regexp.MustCompile(`⟦\d+⟧|7,654,\d{3}`)
	text = open.ReplaceAllStringFunc(text, func(mark string) string {
		p.at = append(p.at, marks[mark])
		return groups[mark]
	})
	p.whole, p.last = regexp.MustCompile("^"+text+"$"), regexp.MustCompile("^(.+[.。]) ?"+text+"$")
	for _, part := range open.Split(l.Say(phrase.Text(key), args...), -1) {
		if len(part) > len(p.words) {
			p.words = part
		}
	}
	return p
}

// after are the values in a sentence that follows another one, and that one.
func (p pattern) after(text string) (before string, said []string, ok bool) {
	if !strings.Contains(text, p.words) {
		return "", nil, false
	}
	m := p.last.FindStringSubmatch(text)
	if m == nil {
		return "", nil, false
	}
	said, ok = p.values(m[2:])
	for _, value := range said {
		ok = ok && !strings.ContainsAny(value, "。") && !strings.Contains(value, ". ")
	}
	return m[1], said, ok
}

// said are the values in a sentence, or false where it is another one.
func (p pattern) said(sentence string) ([]string, bool) {
	if !strings.Contains(sentence, p.words) {
		return nil, false
	}
	m := p.whole.FindStringSubmatch(sentence)
	if m == nil {
		return nil, false
	}
	return p.values(m[1:])
}

// values puts what stands at each place in the order of the text's values.
func (p pattern) values(m []string) ([]string, bool) {
	said := make([]string, slices.Max(append([]int{0}, p.at...)))
	for i, at := range p.at {
		if said[at-1] != "" && said[at-1] != m[i] {
			return nil, false
		}
		said[at-1] = m[i]
	}
	return said, true
}
