package film

import (
	"time"

	"relock/engine/check"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// NewNarrator returns a narrator in l for a run of sc. Owners maps owner ids to
// threads. The narrator keeps both and changes neither.
func NewNarrator(l words.Language, sc *scenario.Scenario, owners map[string]string) *Narrator {
	return &Narrator{
		l: l, sc: sc, protocol: sc.Lock.Implementation(), owners: owners, before: trace.Absent(),
		asked: map[callOf]*asked{}, threads: map[string]*known{}, lease: map[int]time.Duration{}, down: facts.Outages{},
		jumps: map[int]jump{}, findings: check.NewFindings(owners, sc.Lock.Implementation().Guard, sc.Endless()),
	}
}

// Share makes the narrator take the words of broken rules from f, so that a
// caller that already has findings of the same run need not make them twice. It
// must be called before Tell.
func (t *Narrator) Share(f *check.Findings) { t.findings = f }

// Tell explains the next event. It must be called with each event once, in
// order.
func (t *Narrator) Tell(e trace.Event) string {
	t.findings.See(e)
	if b, ok := e.Body.(trace.Command); ok {
		t.begin(e, b)
	}
	if b, ok := e.Body.(trace.Fault); ok {
		t.strike(e, b)
	}
	text := t.tell(e)
	t.fold(e)
	t.before, t.nodes = e.Key, e.Nodes
	return text
}

func (t *Narrator) tell(e trace.Event) string {
	switch b := e.Body.(type) {
	case trace.Command:
		return t.command(e, b)
	case trace.Outcome:
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
