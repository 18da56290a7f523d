package film

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/engine/verdict"
	"relock/web/words"
)

// NewNarrator returns a narrator in l for a run of sc. Owners maps owner ids to
// threads. The narrator keeps both and changes neither.
func NewNarrator(l words.Language, sc *scenario.Scenario, owners map[string]string) *Narrator {
	return &Narrator{
		l: l, sc: sc, protocol: sc.Lock.Implementation(), owners: owners,
		asked: map[callOf]*asked{}, threads: map[string]*known{}, lease: map[int]time.Duration{}, down: facts.Outages{},
		watch: verdict.Watching(verdict.Of(sc, nil)), jumps: map[int]jump{}, findings: check.NewFindings(owners, sc.Lock.Implementation().Guard, sc.Lock.Kind, sc.Endless(), sc.Locks...), several: severalOf(l, sc, owners),
	}
}

// NarratorOf is NewNarrator for a trace. Of one of a lab or a log nobody knows the
// threads' program: it says what each command did, and not what a lock of ours would
// make of that.
func NarratorOf(l words.Language, sc *scenario.Scenario, h trace.Header) *Narrator {
	t := NewNarrator(l, sc, h.Owners)
	if h.Framed() {
		t.framed, t.watch = true, verdict.Watching(verdict.OfTrace(h, sc))
		if t.several != nil {
			for _, one := range t.several.locks {
				one.framed = true
			}
		}
	}
	return t
}

// Share makes the narrator take the words of broken rules from f, so that a
// caller that already has findings of the same run need not make them twice. It
// must be called before Tell.
func (t *Narrator) Share(f *check.Findings) { t.findings = f }

// Tell explains the next event. It must be called with each event once, in
// order.
func (t *Narrator) Tell(e trace.Event) string {
	if t.several != nil {
		return t.tellSeveral(e)
	}
	t.findings.See(e)
	t.watch.See(e)
	t.before, t.nodes = t.masters.Before(e.Thread, e.At)
	seen := t.masters.Add(e)
	if t.sc.Kind == scenario.KindHeartbeat && len(seen.Nodes) > 0 { // a device knows one Redis
		seen.Key = seen.Nodes[0]
		if len(t.nodes) > 0 {
			t.before = t.nodes[0]
		}
	}
	if b, ok := e.Body.(trace.Command); ok {
		t.begin(seen, b)
	}
	if b, ok := e.Body.(trace.Fault); ok {
		t.strike(e, b)
	}
	text := t.besides(seen, t.tell(seen))
	t.fold(seen)
	return text
}

// besides adds to a sentence which of two masters it is about.
func (t *Narrator) besides(e trace.Event, text string) string {
	nodes := t.masters.Old(e.Thread)
	switch b := e.Body.(type) {
	case trace.Command:
		if !b.OldMaster {
			return text
		}
		nodes = []int{max(b.Node-1, 0)}
	case trace.Outcome, trace.Work:
	case trace.Fault:
		if e.Thread == "" && t.masters.Two(max(b.Node-1, 0)) && slices.Contains([]string{fault.Evict, fault.Restart, fault.FailOver}, b.Do) {
			return t.say("%s %s", text, t.say("This is the new master."))
		}
		if !t.holds(e.Key, e.Thread) {
			return text
		}
	case trace.End:
		if !t.holds(e.Key, e.Thread) {
			return text
		}
	default:
		return text
	}
	if len(nodes) == 0 || t.protocol.Guard != protocol.InRedis {
		return text
	}
	if len(e.Nodes) == 0 {
		return t.say("%s %s", text, t.say("It asks the old master."))
	}
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = strconv.Itoa(node + 1)
	}
	return t.say("%s %s", text, t.say("Old masters: %s.", t.l.List(names)))
}

func (t *Narrator) tell(e trace.Event) string {
	switch b := e.Body.(type) {
	case trace.Command:
		if !t.masters.Known(e.Thread) {
			return t.say("%s sends %s, and Redis answers %s.", e.Thread, strings.ToUpper(b.Arg(0)), t.answer(b))
		}
		return t.command(e, b)
	case trace.Outcome:
		if !t.masters.Known(e.Thread) {
			told, _ := Outcome(t.l, b)
			return t.say("%s hears: %s.", e.Thread, told)
		}
		return t.outcome(e, b)
	case trace.Work:
		return t.work(e, b)
	case trace.Wait:
		return t.wait(e, b)
	case trace.Resource:
		return t.resource(e.Thread, b)
	case trace.Fault:
		return t.fault(e, b)
	case trace.Expired:
		return t.expired(e, b)
	case trace.Violation:
		return t.l.Clause(t.findings.Of(e, b).Why)
	case trace.End:
		return t.end(e, b)
	default:
		return ""
	}
}
