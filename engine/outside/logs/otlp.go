package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/lock/telemetry"
	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// OTLP/JSON has an object with spans a line, as a collector's file exporter writes them. A span
// with the attributes of package telemetry is an attempt of a lock. If its events are commands,
// those ran, and run again. If it has none, it is run again as the attempt of our reentrant lock
// that asks the same: the key, its lease and the beliefs are then that lock's.

// spans is how a line of OTLP/JSON begins. There may be metrics and logs between spans.
var spans = regexp.MustCompile(`^\s*\{\s*"resource(?:Spans|Metrics|Logs)"\s*:`)

// The parts of OTLP/JSON that are read: no other attribute, of a resource or a span, goes further.
type (
	otlpAttributes []struct {
		Key   string `json:"key"`
		Value struct {
			Text string      `json:"stringValue"`
			Int  json.Number `json:"intValue"` // 64 bits are text, and some write a number
		} `json:"value"`
	}
	otlpEvent struct {
		At         json.Number    `json:"timeUnixNano"`
		Attributes otlpAttributes `json:"attributes"`
	}
	otlpSpan struct {
		Start      json.Number    `json:"startTimeUnixNano"`
		End        json.Number    `json:"endTimeUnixNano"`
		Attributes otlpAttributes `json:"attributes"`
		Events     []otlpEvent    `json:"events"`
	}
	otlpLine struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []otlpSpan `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
)

func (a otlpAttributes) text(key string) string {
	for _, one := range a {
		if one.Key == key {
			return one.Value.Text
		}
	}
	return ""
}

func (a otlpAttributes) int(key string) int {
	for _, one := range a {
		if one.Key == key {
			n, _ := one.Value.Int.Int64() // 0 is what is not there
			return int(n)
		}
	}
	return 0
}

func isOTLP(ctx context.Context, lines []line) (bool, error) {
	looked := 0
	for _, l := range lines {
		if err := pause.Here(ctx); err != nil {
			return false, err
		}
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		if looked++; spans.MatchString(l.text) || looked == 2 { // a log that was cut begins anywhere
			return spans.MatchString(l.text), nil
		}
	}
	return false, nil
}

// attempt is a span of a lock's attempt, before it is known when Redis ran it.
type attempt struct {
	Entry

	from, to         time.Duration // Redis ran it between
	nth              int           // of its key's attempts, as they are arranged
	key, owner, call string
	code             int64 // as the lock's scripts answer
	told             bool  // code is
	last             bool  // of an unlock: nothing of the lock is left
}

func readOTLP(ctx context.Context, lines []line) (*Log, error) {
	l := &Log{Timed: true}
	var all []*attempt
	first := true
	anothers := 0 // the first line with a span of another client of Redis
	for _, one := range lines {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		if strings.TrimSpace(one.text) == "" {
			continue
		}
		var read otlpLine
		if err := json.Unmarshal([]byte(one.text), &read); err != nil || !spans.MatchString(one.text) {
			if one.cut && one.n > 1 {
				l.Cut = true
				break
			}
			if first && !spans.MatchString(one.text) {
				l.Begun, first = true, false
				continue
			}
			return nil, wrong(one.n, "it is not a line of OTLP/JSON; allowed: %s", `{"resourceSpans":[…]}`)
		}
		first = false
		for _, r := range read.ResourceSpans {
			for _, s := range r.ScopeSpans {
				for i := range s.Spans {
					if err := pause.Here(ctx); err != nil {
						return nil, err
					}
					told, err := l.attempts(&s.Spans[i], one.n)
					if err != nil {
						return nil, err
					}
					all = append(all, told...)
					if of := s.Spans[i].Attributes; anothers == 0 && cmp.Or(of.text("db.system"), of.text("db.system.name")) == "redis" {
						anothers = one.n
					}
				}
			}
		}
	}
	switch {
	case len(all) > 0:
	case anothers > 0:
		return nil, wrong(anothers, "these spans are of OpenTelemetry's instrumentation of a Redis client: they tell commands, but neither whose each is nor what Redis answered; to get a log that can be read, run the program again while this runs beside it: %s", record)
	default:
		return nil, phrase.New("it has no span of a lock attempt; such a span has relock.call, relock.attempt, relock.key and relock.owner")
	}
	if err := arrange(ctx, all); err != nil {
		return nil, err
	}
	for _, a := range all {
		l.add(a.Entry)
	}
	return l, nil
}

// nanos reads an instant.
func nanos(n json.Number) time.Duration {
	at, _ := n.Int64() // 0 is what is not there
	return time.Duration(max(at, 0))
}

// attempts returns what a span tells: an attempt, or commands for which nobody waited.
func (l *Log) attempts(s *otlpSpan, n int) ([]*attempt, error) {
	call, number := s.Attributes.text(telemetry.Call), s.Attributes.int(telemetry.Attempt)
	if call == "" || number == 0 {
		return l.late(s, n)
	}
	a := &attempt{
		Entry: Entry{Line: n, Client: s.Attributes.text(telemetry.Owner)}, from: nanos(s.Start), to: max(nanos(s.Start), nanos(s.End)),
		key: s.Attributes.text(telemetry.Key), owner: s.Attributes.text(telemetry.Owner), call: call,
	}
	if a.key == "" || a.owner == "" {
		l.missing = append(l.missing, missing{"", trace.NoteNobody, n})
		return nil, nil
	}
	result := lock.Result(s.Attributes.text(telemetry.Result))
	a.last = result == lock.Released
	switch result {
	case lock.Acquired, lock.Reentered, lock.Released, lock.Decremented, lock.Renewed:
		a.code, a.told = 1, true
	case lock.Refused:
		a.code, a.told = 0, true
	case lock.Lost, lock.NotHeld:
		a.code, a.told = -1, true
	case lock.Exhausted, lock.Aged: // Redis was not asked
		return nil, nil
	}
	if a.told {
		a.Reply = &Reply{Value: a.code}
	}
	others := len(l.missing)
	ran, err := l.commands(a, s.Events)
	switch {
	case err != nil:
		return nil, err
	case ran && !(a.told && queues[a.source]):
		return []*attempt{a}, nil
	case len(l.missing) > others: // all of its commands are other nodes'
		return nil, nil
	}
	if !a.told {
		l.missing = append(l.missing, missing{a.key, trace.NoteUnanswered, n})
		return nil, nil
	}
	if !a.recomputed(max(s.Attributes.int(telemetry.Level), 1), s.Attributes.int(telemetry.Lease)) {
		return nil, nil
	}
	return []*attempt{a}, nil
}

// commands takes the commands that ran, and reports whether there are any.
func (l *Log) commands(a *attempt, events []otlpEvent) (ran bool, err error) {
	script := ""
	for _, e := range events {
		args, ok := typed(e.Attributes.text(telemetry.Query))
		if !ok || len(args) == 0 || args[0] == "" {
			continue
		}
		if e.Attributes.int(telemetry.Node) > 1 {
			l.missing = append(l.missing, missing{a.key, trace.NoteNodes, a.Line})
			continue
		}
		at := nanos(e.At)
		if len(a.Inner) == 0 {
			a.from, a.to = at, at
		}
		a.to = max(a.to, at)
		script = cmp.Or(script, e.Attributes.text(telemetry.Script))
		var reply *Reply
		if told := e.Attributes.text(telemetry.Reply); told != "" {
			if reply, ok = answered(strings.Split(told, "\n")); !ok {
				return false, deep(a.Line)
			}
		}
		a.Inner, a.replies = append(a.Inner, redacted(args)), append(a.replies, reply)
		a.lines = append(a.lines, max(e.Attributes.int(telemetry.Line), 0))
	}
	if len(a.Inner) == 0 {
		return false, nil
	}
	a.exact, a.Args = true, a.Inner[0]
	if script == "" && len(a.Inner) == 1 && !isScript(a.Args) {
		a.exact, a.Inner, a.Reply, a.replies, a.lines = false, nil, a.replies[0], nil, nil
		return true, nil
	}
	a.source = sources[script]
	key := a.key
	if keys := infer.Touches(a.Inner[0]).Keys; key == "" && len(keys) > 0 {
		key = keys[0]
	}
	a.Args = []string{"EVALSHA", infer.Digest(a.source), "1", key}
	return true, nil
}

// sources are the scripts of all locks that there are, by their names.
var sources = func() map[string]string {
	all := map[string]string{}
	for _, p := range exhibit.All() {
		for _, s := range p.Scripts {
			all[s.Name] = s.Source
		}
	}
	return all
}()

// queues are the scripts of locks whose holders hand the lock on: judged by their commands alone,
// the thread that releases would be the one that takes it. Their attempts say who was granted it.
var queues = func() map[string]bool {
	all := map[string]bool{}
	for _, p := range exhibit.All() {
		for _, s := range p.Scripts {
			if p.Waiters != nil && s.Call != lock.CallRenew {
				all[s.Source] = true
			}
		}
	}
	return all
}()

// late returns the commands of a span that is no attempt: copies that came when nobody waited for
// them any more.
func (l *Log) late(s *otlpSpan, n int) (list []*attempt, err error) {
	for i := 0; i < len(s.Events); {
		same := func(e otlpEvent) bool {
			first := s.Events[i]
			return e.At == first.At && e.Attributes.text(telemetry.Script) == first.Attributes.text(telemetry.Script)
		}
		end := i + 1
		for end < len(s.Events) && same(s.Events[end]) {
			end++
		}
		owner := s.Attributes.text(telemetry.Owner)
		a := &attempt{Entry: Entry{Line: n, Client: owner, late: true}, owner: owner}
		ran, err := l.commands(a, s.Events[i:end])
		if err != nil {
			return nil, err
		}
		if ran {
			if keys := infer.Touches(a.Args).Keys; len(keys) > 0 {
				a.key = keys[0]
			}
			list = append(list, a)
		}
		i = end
	}
	return list, nil
}

// unknownLease stands for a lease that a span does not tell: the lock is assumed to last
// until somebody else gets it.
const unknownLease = scenario.MaxDuration

// recomputed gives an attempt the commands of our reentrant lock, and reports whether that has
// such a call.
func (a *attempt) recomputed(level, lease int) bool {
	if lease <= 0 && (a.call == lock.CallLock || a.call == lock.CallRenew) {
		a.notes, lease = append(a.notes, trace.NoteLease), int(unknownLease.Milliseconds())
	}
	a.notes = append(a.notes, trace.NoteCommands)
	for _, s := range protocol.Reentrant.Scripts {
		if s.Call != a.call {
			continue
		}
		a.exact, a.source, a.Inner, a.lines, a.replies = false, "", nil, nil, nil
		a.own, a.Args = true, []string{"EVAL", s.Source, "1", a.key, a.owner}
		if a.call != lock.CallRenew {
			a.Args = append(a.Args, strconv.Itoa(level))
		}
		if a.call != lock.CallUnlock {
			a.Args = append(a.Args, strconv.Itoa(min(lease, int(unknownLease.Milliseconds()))))
		}
		return true
	}
	return false
}

// ahead is how many attempts further on are looked at for one that explains an answer.
const ahead = 64

// arrange puts attempts in an order in which Redis can have run them: each within its span, and
// so that the answers fit where they can. All instants are the clients'.
func arrange(ctx context.Context, all []*attempt) error {
	slices.SortStableFunc(all, func(a, b *attempt) int { return cmp.Compare(a.to, b.to) })
	byKey := map[string][]*attempt{}
	for _, a := range all {
		byKey[a.key] = append(byKey[a.key], a)
	}
	for _, list := range byKey {
		if err := arrangeKey(ctx, list); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b *attempt) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.nth, b.nth)) })
	return nil
}

// arrangeKey does it for the attempts of one key, which come by their ends: whose end is next is
// placed, and before it what began by then and either makes its answer fit, or fits only before it.
func arrangeKey(ctx context.Context, list []*attempt) error {
	var m model
	placed := make([]bool, len(list))
	next, nth := 0, 0
	last := time.Duration(0)
	place := func(i int) {
		placed[i] = true
		last = max(last, list[i].from)
		nth++
		list[i].At, list[i].nth = last, nth
		m.apply(list[i])
	}
	// others calls f with those that can come before list[next], an owner's in their order.
	others := func(f func(i int)) {
		waits := map[string]bool{list[next].owner: true}
		for i := next + 1; i < min(next+ahead, len(list)); i++ {
			a := list[i]
			if placed[i] || waits[a.owner] {
				continue
			}
			if waits[a.owner] = true; a.told && a.from <= list[next].to {
				f(i)
			}
		}
	}
	for ; next < len(list); next++ {
		if placed[next] {
			continue
		}
		if err := pause.Here(ctx); err != nil {
			return err
		}
		a := list[next]
		if !m.fits(a) {
			for _, i := range explains(list, placed, next, m) {
				place(i)
			}
		}
		if a.changes() {
			others(func(i int) {
				if !list[i].changes() && m.fits(list[i]) {
					place(i)
				}
			})
		}
		place(next)
	}
	return nil
}

// explains returns attempts of one owner, in their order, after which the answer to list[next] fits;
// nil where there are none.
func explains(list []*attempt, placed []bool, next int, m model) []int {
	a := list[next]
	type way struct {
		of    []int
		after model
		wrong bool
	}
	ways := map[string]*way{}
	for i := next + 1; i < min(next+ahead, len(list)); i++ {
		b := list[i]
		if placed[i] || b.owner == a.owner {
			continue
		}
		w := ways[b.owner]
		if w == nil {
			w = &way{after: m}
			ways[b.owner] = w
		}
		if w.wrong = w.wrong || b.from > a.to || !w.after.fits(b); w.wrong {
			continue
		}
		w.of = append(w.of, i)
		if w.after.apply(b); w.after.fits(a) {
			return w.of
		}
	}
	return nil
}

// model is what the answers so far say of the lock: whose it is. It does not know when a lease ends.
type model struct{ holder string }

// changes reports whether an attempt takes the lock or gives it back.
func (a *attempt) changes() bool {
	return a.told && a.code == 1 && a.call != lock.CallRenew
}

func (m *model) fits(a *attempt) bool {
	switch {
	case !a.told:
		return true
	case a.code < 0:
		return m.holder != a.owner
	case a.code == 0:
		return m.holder != "" && m.holder != a.owner
	case a.call == lock.CallLock:
		return m.holder == "" || m.holder == a.owner
	default:
		return m.holder == a.owner
	}
}

func (m *model) apply(a *attempt) {
	switch {
	case !a.changes():
	case a.call == lock.CallLock:
		m.holder = a.owner
	case a.last:
		m.holder = ""
	}
}
