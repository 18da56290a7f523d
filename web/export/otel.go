package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"relock/engine/bound"
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
		TraceID    string            `json:"traceId"`
		SpanID     string            `json:"spanId"`
		ParentID   string            `json:"parentSpanId,omitempty"`
		Name       string            `json:"name"`
		Kind       int               `json:"kind"`
		Start      string            `json:"startTimeUnixNano"`
		End        string            `json:"endTimeUnixNano"`
		Attributes []otelAttribute   `json:"attributes,omitempty"`
		Events     []json.RawMessage `json:"events,omitempty"` // otelEvent
		Status     *otelStatus       `json:"status,omitempty"`
	}
	otelResource struct {
		Attributes []otelAttribute `json:"attributes"`
	}
)

func otelText(key, text string) otelAttribute { return otelAttribute{key, otelValue{Text: &text}} }

func otelInt(key string, n int64) otelAttribute {
	text := strconv.FormatInt(n, 10)
	return otelAttribute{key, otelValue{Int: &text}}
}

// otelWriter writes a run's spans, one by one. The spans of the run and of its threads
// come first and have events until the end: they are collected before.
type otelWriter struct {
	b       *bound.Buffer
	run     Run
	trace   [sha256.Size]byte
	spans   int            // numbered so far
	written int            // spans
	roots   []*otelSpan    // of the run, and of its threads
	root    map[string]int // by thread, the place of its span; "" is the run's
	held    int            // bytes of the roots' events
	ids     map[string]string
}

// span makes a span. Its id follows from the trace's and its number, so that the same
// run is the same bytes.
func (w *otelWriter) span(parent, name string, kind int, from, to trace.Millis, attributes ...otelAttribute) *otelSpan {
	var n [8]byte
	w.spans++
	binary.BigEndian.PutUint64(n[:], uint64(w.spans))
	id := sha256.Sum256(append(w.trace[:], n[:]...))
	return &otelSpan{
		TraceID: hex.EncodeToString(w.trace[:16]), SpanID: hex.EncodeToString(id[:8]), ParentID: parent, Name: name, Kind: kind,
		Start: otelTime(from), End: otelTime(to), Attributes: attributes,
	}
}

// write writes a span.
func (w *otelWriter) write(s *otelSpan) error {
	text, err := jsonText(s)
	if err != nil {
		return err
	}
	if w.written > 0 {
		w.b.WriteByte(',')
	}
	w.written++
	w.b.WriteString(text)
	return w.b.Err()
}

// happens adds an event to a span.
func (s *otelSpan) happens(at trace.Millis, name string, attributes ...otelAttribute) error {
	text, err := jsonText(otelEvent{otelTime(at), name, attributes})
	s.Events = append(s.Events, json.RawMessage(text))
	return err
}

func otelTime(at trace.Millis) string {
	return strconv.FormatInt(otelBegan+at.Duration().Nanoseconds(), 10)
}

// writeOTel writes the run as a line of OTLP/JSON, which collectors and Jaeger take:
// a span for the run, for each thread in it, for each of its calls, their attempts
// and its work. Commands, faults, expiries and broken rules are events of spans.
func writeOTel(b *bound.Buffer, r Run) error {
	calls, err := r.calls(b)
	if err != nil {
		return err
	}
	w := &otelWriter{b: b, run: r, root: map[string]int{}, ids: map[string]string{}}
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
	w.begin(end)
	if err := r.each(b, func(_ int, e trace.Event) error { return w.ofRoot(e) }); err != nil {
		return err
	}
	service, err := jsonText(otelResource{Attributes: []otelAttribute{otelText("service.name", "relock")}})
	if err != nil {
		return err
	}
	b.WriteString(`{"resourceSpans":[{"resource":` + service + `,"scopeSpans":[{"scope":{"name":"relock"},"spans":[`)
	for _, s := range w.roots {
		if err := w.write(s); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if err := w.call(c); err != nil {
			return err
		}
	}
	if err := w.work(end); err != nil {
		return err
	}
	b.WriteString("]}]}]}\n")
	return nil
}

// begin makes the spans of the run and of its threads. A thread's is from its first
// event to its first end.
func (w *otelWriter) begin(end trace.Millis) {
	r := w.run
	w.roots = append(w.roots, w.span("", cmp.Or(oneLine(r.title()), "run"), otelInternal, 0, end,
		otelText(telemetry.Key, r.Scenario.Lock.Key), otelText(telemetry.Protocol, r.Scenario.Lock.Protocol),
		otelInt(telemetry.Seed, int64(r.Header.Seed)), otelText(telemetry.Store, r.Header.Store), otelText(telemetry.Clock, r.Header.Clock)))
	begun, over := map[string]trace.Millis{}, map[string]trace.Millis{}
	note := func(first map[string]trace.Millis, e trace.Event) {
		if _, noted := first[e.Thread]; !noted {
			first[e.Thread] = e.At
		}
	}
	for _, e := range r.Events {
		note(begun, e)
		if e.Kind() == trace.KindEnd {
			note(over, e)
		}
	}
	for _, t := range r.Scenario.Threads {
		from, to := end, end
		if at, ok := begun[t.Name]; ok {
			from = at
		}
		if at, ok := over[t.Name]; ok {
			to = at
		}
		w.root[t.Name] = len(w.roots)
		w.roots = append(w.roots, w.span(w.roots[0].SpanID, "thread "+t.Name, otelInternal, from, to, otelText(telemetry.Thread, t.Name), otelText(telemetry.Owner, w.ids[t.Name])))
	}
}

// parent returns the id of a thread's span.
func (w *otelWriter) parent(thread string) string { return w.roots[w.root[thread]].SpanID }

// call writes a call and its attempts.
func (w *otelWriter) call(c call) error {
	events := w.run.Events
	of := []otelAttribute{otelText(telemetry.Call, c.name), otelInt(telemetry.Level, int64(c.level)), otelText(telemetry.Key, cmp.Or(c.lock, w.run.Scenario.Lock.Key)), otelText(telemetry.Owner, w.ids[c.thread])}
	if c.givesBack {
		yes := true
		of = append(of, otelAttribute{telemetry.GivesBack, otelValue{Bool: &yes}})
	}
	whole := w.span(w.parent(c.thread), c.name, otelInternal, events[c.from()].At, events[c.to()].At, of...)
	whole.Status = otelStatusOf(c.last().outcome)
	if err := w.write(whole); err != nil {
		return err
	}
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
		one := w.span(whole.SpanID, c.name+" attempt", otelClient, events[a.from].At, events[a.to].At, attributes...)
		one.Status = otelStatusOf(a.outcome)
		for _, i := range a.commands {
			command, _ := events[i].Body.(trace.Command)
			of, err := w.command(command)
			if err == nil {
				err = one.happens(events[i].At, command.Arg(0), of...)
			}
			if err != nil {
				return err
			}
		}
		if err := w.write(one); err != nil {
			return err
		}
	}
	return w.b.Pause()
}

func (w *otelWriter) command(c trace.Command) ([]otelAttribute, error) {
	told, err := reply(w.b, c)
	if err != nil {
		return nil, err
	}
	list := []otelAttribute{otelText(telemetry.Query, typed(c.Args)), otelText(telemetry.Reply, told), otelInt(telemetry.Node, int64(max(c.Node, 1)))}
	if c.Script != "" {
		list = append(list, otelText(telemetry.Script, c.Script), otelInt(telemetry.Line, int64(c.Line)))
	}
	return list, nil
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

// ofRoot adds to the span of a thread, or of the run, what is no call's and no work.
func (w *otelWriter) ofRoot(e trace.Event) error {
	root := w.roots[w.root[e.Thread]]
	had := len(root.Events)
	var err error
	switch b := e.Body.(type) {
	case trace.Command:
		if b.Late {
			var of []otelAttribute
			if of, err = w.command(b); err == nil {
				err = root.happens(e.At, "late copy", append(of, otelText(telemetry.Call, b.Call))...)
			}
		}
	case trace.Fault:
		err = root.happens(e.At, "fault: "+b.Do, otelInt(telemetry.Node, int64(b.Node)))
	case trace.Expired:
		err = root.happens(e.At, "the lease is over", otelInt(telemetry.Node, int64(max(b.Node, 1))))
	case trace.Violation:
		err = root.happens(e.At, "violation: "+b.Rule, otelText(telemetry.Rule, b.Rule), otelText(telemetry.Detail, b.Detail), otelTexts(telemetry.Threads, b.Threads))
		w.roots[0].Status = &otelStatus{otelError, b.Rule}
	case trace.Resource:
		err = root.happens(e.At, "resource: "+b.Op, otelInt(telemetry.Value, int64(b.Value)))
	case trace.End:
		if e.Thread != "" {
			err = root.happens(e.At, "ends: "+string(b.Result))
		}
	}
	for _, text := range root.Events[had:] {
		w.held += len(text)
	}
	if err == nil && w.held > bound.Written {
		err = bound.ErrWritten // it would be, too, once they are written
	}
	return err
}

// work writes the spans of the work.
func (w *otelWriter) work(end trace.Millis) error {
	type level struct {
		level int
		after bool
	}
	open := map[string]map[level]trace.Millis{} // by thread
	write := func(thread string, at level, to trace.Millis) error {
		from := open[thread][at]
		delete(open[thread], at)
		return w.write(w.span(w.parent(thread), "work", otelInternal, from, to, otelInt(telemetry.Level, int64(at.level))))
	}
	over := func(thread string, to trace.Millis) error {
		for _, at := range slices.SortedFunc(maps.Keys(open[thread]), func(x, y level) int { return cmp.Compare(x.level, y.level) }) {
			if err := write(thread, at, to); err != nil {
				return err
			}
		}
		return nil
	}
	all := func(to trace.Millis) error {
		for _, thread := range slices.Sorted(maps.Keys(open)) {
			if err := over(thread, to); err != nil {
				return err
			}
		}
		return nil
	}
	err := w.run.each(w.b, func(_ int, e trace.Event) error {
		switch b := e.Body.(type) {
		case trace.Work:
			at := level{b.Level, b.After}
			if _, begun := open[e.Thread][at]; begun {
				if err := write(e.Thread, at, e.At); err != nil {
					return err
				}
			}
			if b.State == trace.WorkBegin {
				if open[e.Thread] == nil {
					open[e.Thread] = map[level]trace.Millis{}
				}
				open[e.Thread][at] = e.At
			}
		case trace.End:
			if e.Thread == "" {
				return all(e.At)
			}
			return over(e.Thread, e.At)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return all(end)
}

func otelTexts(key string, texts []string) otelAttribute {
	list := &otelArray{Values: []otelValue{}}
	for _, text := range texts {
		list.Values = append(list.Values, otelValue{Text: &text})
	}
	return otelAttribute{key, otelValue{Array: list}}
}
