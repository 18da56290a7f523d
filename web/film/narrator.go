package film

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/words"
)

// Narrator explains each event of a run in one sentence. A sentence claims
// nothing that the events so far do not show, and has at most 140 characters in
// English and 70 in Chinese, without which of several locks it is about. It is not safe for concurrent use.
type Narrator struct {
	*Now

	l        words.Language
	watch    *verdict.Watch
	unjudged []string // at the run's end: Unjudged
}

func (t *Narrator) say(text phrase.Text, args ...any) string { return t.l.Say(text, args...) }

// ms words milliseconds as Redis returns them.
func (t *Narrator) ms(n int64) string { return t.l.Duration(time.Duration(n) * time.Millisecond) }

func (t *Narrator) millis(m trace.Millis) string { return t.l.Duration(m.Duration()) }

// spec returns the thread's part of the scenario.
func (t *Narrator) spec(thread string) scenario.Thread {
	for _, s := range t.sc.Threads {
		if s.Name == thread {
			return s
		}
	}
	return scenario.Thread{Retry: t.sc.Lock.Retry, Repeat: 1}
}

// watched reports whether a watchdog renews leases in this run.
func (t *Narrator) watched() bool { return t.protocol.HasWatchdog() && t.sc.Lock.Watchdog > 0 }

// own reports whether nobody here knows what a call does next: its script, or all of its
// client, is somebody's own.
func (t *Narrator) own(call string) bool {
	return t.framed || t.sc.Lock.Own() && slices.Contains(t.sc.Lock.Scripts.Calls(), call)
}

// habits are the habits of an article's client; a lock of ours has none.
func (t *Narrator) habits() exhibit.Habits {
	h, _ := exhibit.HabitsOf(t.protocol)
	return h
}

// counts reports whether the lock's key is a hash of hold counts.
func (t *Narrator) counts() bool {
	return t.protocol.Counts
}

// others are the holders of the key as the event leaves it, "A and B", "" where this thread
// is among them, or nobody is.
func (t *Narrator) others(k trace.KeyState, thread string) string {
	if t.holds(k, thread) {
		return ""
	}
	return t.few(t.holders(k, t.holding().Holders(k)))
}

// NarratorOf returns a narrator in l for a trace of a run of sc. It keeps sc and the header's
// owners, and changes neither. Of one of a lab or a log nobody knows the threads' program:
// it says what each command did, and not what a lock of ours would make of that.
func NarratorOf(l words.Language, sc *scenario.Scenario, h trace.Header) *Narrator {
	return narratorOf(l, nowFor(l, sc, h), h)
}

func narratorOf(l words.Language, now *Now, h trace.Header) *Narrator {
	judged := verdict.Of(now.sc, nil)
	if h.Framed() {
		judged = verdict.OfTrace(h, now.sc)
	}
	return &Narrator{Now: now, l: l, watch: verdict.Watching(judged)}
}

// Tell explains the next event. It must be called with each event once, in
// order.
func (t *Narrator) Tell(e trace.Event) string {
	t.take(e)
	return t.why()
}

// why explains the last event.
func (t *Narrator) why() string {
	t.watch.See(t.event)
	if t.sc.Locks != nil {
		return t.ofSeveral(t.event)
	}
	return t.ofOne()
}

// ofOne explains the last event of one lock.
func (t *Narrator) ofOne() string { return t.besides(t.seen, t.tell(t.seen)) }

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
		return t.touches(e.Thread, b)
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
