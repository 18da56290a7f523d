package export

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"relock/engine/fault"
	"relock/engine/lock/telemetry"
	"relock/engine/trace"
)

// otelBegan is when a run on a virtual clock begins, as OpenTelemetry counts: a run
// has no date, and 0 would mean that there is none. A trace does not say when a run
// on the wall clock began.
const otelBegan = 1_000_000_000 * int64(time.Second)

// Kinds of a span, and the status of one that failed.
const (
	otelInternal = 1
	otelClient   = 3
	otelError    = 2
)

// The parts of OTLP/JSON that are used.
type (
	otelValue struct {
		Text  *string    `json:"stringValue,omitempty"`
		Int   *string    `json:"intValue,omitempty"` // 64 bits are text in OTLP/JSON
		Bool  *bool      `json:"boolValue,omitempty"`
		Array *otelArray `json:"arrayValue,omitempty"`
	}
	otelArray struct {
		Values []otelValue `json:"values"`
	}
	otelAttribute struct {
		Key   string    `json:"key"`
		Value otelValue `json:"value"`
	}
	otelEvent struct {
		At         string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otelAttribute `json:"attributes,omitempty"`
	}
	otelStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otelSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		ParentID   string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otelAttribute `json:"attributes,omitempty"`
		Events     []otelEvent     `json:"events,omitempty"`
		Status     *otelStatus     `json:"status,omitempty"`
	}
	otelScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otelScopeSpans struct {
		Scope otelScope  `json:"scope"`
		Spans []otelSpan `json:"spans"`
	}
	otelResource struct {
		Attributes []otelAttribute `json:"attributes"`
	}
	otelResourceSpans struct {
		Resource   otelResource     `json:"resource"`
		ScopeSpans []otelScopeSpans `json:"scopeSpans"`
	}
	otelTraces struct {
		ResourceSpans []otelResourceSpans `json:"resourceSpans"`
	}
)

func otelText(key, text string) otelAttribute { return otelAttribute{key, otelValue{Text: &text}} }

func otelInt(key string, n int64) otelAttribute {
	text := strconv.FormatInt(n, 10)
	return otelAttribute{key, otelValue{Int: &text}}
}

// otelWriter makes a run's spans.
type otelWriter struct {
	run   Run
	trace [sha256.Size]byte
	spans []otelSpan
	root  map[string]int // by thread, the place of its span; "" is the run's
	ids   map[string]string
}

// span adds a span. Its id follows from the trace's and its number, so that the same
// run is the same bytes.
func (w *otelWriter) span(parent, name string, kind int, from, to trace.Millis, attributes ...otelAttribute) *otelSpan {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(w.spans)+1))
	id := sha256.Sum256(append(w.trace[:], n[:]...))
	w.spans = append(w.spans, otelSpan{
		TraceID: hex.EncodeToString(w.trace[:16]), SpanID: hex.EncodeToString(id[:8]), ParentID: parent, Name: name, Kind: kind,
		Start: otelTime(from), End: otelTime(to), Attributes: attributes,
	})
	return &w.spans[len(w.spans)-1]
}

func otelTime(at trace.Millis) string {
	return strconv.FormatInt(otelBegan+at.Duration().Nanoseconds(), 10)
}

// writeOTel writes the run as a line of OTLP/JSON, which collectors and Jaeger take:
// a span for the run, for each thread in it, for each of its calls, their attempts
// and its work. Commands, faults, expiries and broken rules are events of spans.
func writeOTel(b *bytes.Buffer, r Run) error {
	calls, err := r.calls()
	if err != nil {
		return err
	}
	w := &otelWriter{run: r, root: map[string]int{}, ids: map[string]string{}}
	w.trace = sha256.Sum256(append(slices.Clone(r.Header.Scenario), strconv.FormatUint(r.Header.Seed, 10)...))
	for _, id := range slices.Sorted(maps.Keys(r.Header.Owners)) {
		if thread := r.Header.Owners[id]; w.ids[thread] == "" {
			w.ids[thread] = id
		}
	}
	end := trace.Millis(0)
	if n := len(r.Events); n > 0 {
		end = r.Events[n-1].At
	}
	run := w.span("", cmp.Or(oneLine(r.title()), "run"), otelInternal, 0, end,
		otelText(telemetry.Key, r.Scenario.Lock.Key), otelText(telemetry.Protocol, r.Scenario.Lock.Protocol),
		otelInt(telemetry.Seed, int64(r.Header.Seed)), otelText(telemetry.Store, r.Header.Store), otelText(telemetry.Clock, r.Header.Clock))
	parent := run.SpanID
	for _, t := range r.Scenario.Threads {
		w.root[t.Name] = len(w.spans)
		from, to := end, end
		for i := len(r.Events) - 1; i >= 0; i-- {
			if r.Events[i].Thread == t.Name {
				from = r.Events[i].At
				if _, ended := r.Events[i].Body.(trace.End); ended {
					to = from
				}
			}
		}
		w.span(parent, "thread "+t.Name, otelInternal, from, to, otelText(telemetry.Thread, t.Name), otelText(telemetry.Owner, w.ids[t.Name]))
	}
	for _, c := range calls {
		w.call(c)
	}
	if err := w.work(end); err != nil {
		return err
	}
	service := otelResource{Attributes: []otelAttribute{otelText("service.name", "relock")}}
	text, err := jsonText(otelTraces{[]otelResourceSpans{{service, []otelScopeSpans{{otelScope{Name: "relock"}, w.spans}}}}})
	b.WriteString(text + "\n")
	return err
}

// parent returns the id of a thread's span.
func (w *otelWriter) parent(thread string) string { return w.spans[w.root[thread]].SpanID }

// call adds a call and its attempts.
func (w *otelWriter) call(c call) {
	events := w.run.Events
	of := []otelAttribute{otelText(telemetry.Call, c.name), otelInt(telemetry.Level, int64(c.level)), otelText(telemetry.Key, w.run.Scenario.Lock.Key), otelText(telemetry.Owner, w.ids[c.thread])}
	if c.givesBack {
		yes := true
		of = append(of, otelAttribute{telemetry.GivesBack, otelValue{Bool: &yes}})
	}
	whole := w.span(w.parent(c.thread), c.name, otelInternal, events[c.from()].At, events[c.to()].At, of...)
	whole.Status = otelStatusOf(c.last().outcome)
	id := whole.SpanID
	for _, a := range c.attempts {
		attributes := append(slices.Clip(of), otelText(telemetry.System, "redis"), otelInt(telemetry.Attempt, int64(a.number)))
		if c.name == fault.AtLock || c.name == fault.AtRenew {
			attributes = append(attributes, otelInt(telemetry.Lease, w.run.Scenario.Lock.Lease.Milliseconds()))
		}
		if o := a.outcome; o != nil {
			attributes = append(attributes, otelText(telemetry.Result, string(o.Result)))
			if o.Count > 0 {
				attributes = append(attributes, otelInt(telemetry.Count, int64(o.Count)))
			}
			if o.Token > 0 {
				attributes = append(attributes, otelInt(telemetry.Token, o.Token))
			}
		}
		one := w.span(id, c.name+" attempt", otelClient, events[a.from].At, events[a.to].At, attributes...)
		one.Status = otelStatusOf(a.outcome)
		for _, i := range a.commands {
			command, _ := events[i].Body.(trace.Command)
			one.Events = append(one.Events, otelEvent{otelTime(events[i].At), command.Arg(0), w.command(command)})
		}
	}
}

func (w *otelWriter) command(c trace.Command) []otelAttribute {
	list := []otelAttribute{otelText(telemetry.Query, typed(c.Args)), otelText(telemetry.Reply, reply(c)), otelInt(telemetry.Node, int64(max(c.Node, 1)))}
	if c.Script != "" {
		list = append(list, otelText(telemetry.Script, c.Script), otelInt(telemetry.Line, int64(c.Line)))
	}
	return list
}

func otelStatusOf(o *trace.Outcome) *otelStatus {
	switch {
	case o == nil:
		return &otelStatus{otelError, "no answer"}
	case o.Error != "":
		return &otelStatus{otelError, o.Error}
	case o.Result == trace.Lost || o.Result == trace.NotHeld || o.Result == trace.Exhausted:
		return &otelStatus{otelError, string(o.Result)}
	default:
		return nil
	}
}

// work adds the spans of the work, and as events what is no call's.
func (w *otelWriter) work(end trace.Millis) error {
	type level struct {
		thread string
		level  int
		after  bool
	}
	open := map[level]trace.Event{}
	add := func(at level, to trace.Millis) {
		begin := open[at]
		delete(open, at)
		w.span(w.parent(at.thread), "work", otelInternal, begin.At, to, otelInt(telemetry.Level, int64(at.level)))
	}
	event := func(e trace.Event, name string, attributes ...otelAttribute) {
		at := &w.spans[w.root[e.Thread]]
		at.Events = append(at.Events, otelEvent{otelTime(e.At), name, attributes})
	}
	err := w.run.each(func(_ int, e trace.Event) error {
		switch b := e.Body.(type) {
		case trace.Work:
			at := level{e.Thread, b.Level, b.After}
			if _, begun := open[at]; begun {
				add(at, e.At)
			}
			if b.State == trace.WorkBegin {
				open[at] = e
			}
		case trace.Command:
			if b.Late {
				event(e, "late copy", append(w.command(b), otelText(telemetry.Call, b.Call))...)
			}
		case trace.Fault:
			event(e, "fault: "+b.Do, otelInt(telemetry.Node, int64(b.Node)))
		case trace.Expired:
			event(e, "the lease is over", otelInt(telemetry.Node, int64(max(b.Node, 1))))
		case trace.Violation:
			event(e, "violation: "+b.Rule, otelText(telemetry.Rule, b.Rule), otelText(telemetry.Detail, b.Detail), otelTexts(telemetry.Threads, b.Threads))
			w.spans[0].Status = &otelStatus{otelError, b.Rule}
		case trace.Resource:
			event(e, "resource: "+b.Op, otelInt(telemetry.Value, int64(b.Value)))
		case trace.End:
			for _, at := range slices.SortedFunc(maps.Keys(open), func(x, y level) int { return x.level - y.level }) {
				if at.thread == e.Thread || e.Thread == "" {
					add(at, e.At)
				}
			}
			if e.Thread != "" {
				event(e, "ends: "+string(b.Result))
			}
		}
		return nil
	})
	for _, at := range slices.SortedFunc(maps.Keys(open), func(x, y level) int {
		return slices.Compare([]string{x.thread, strconv.Itoa(x.level)}, []string{y.thread, strconv.Itoa(y.level)})
	}) {
		add(at, end)
	}
	return err
}

func otelTexts(key string, texts []string) otelAttribute {
	list := &otelArray{Values: []otelValue{}}
	for _, text := range texts {
		list.Values = append(list.Values, otelValue{Text: &text})
	}
	return otelAttribute{key, otelValue{Array: list}}
}
