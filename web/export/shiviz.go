package export

import (
	"bytes"
	"cmp"
	"maps"
	"strconv"
	"strings"

	"relock/engine/trace"
)

// shivizLine reads a line of the log. ShiViz takes the first line of a file as its
// parser, and the second as what parts several runs: here there is one.
const shivizLine = `(?<host>\S+) (?<clock>\{.*?\}) (?<event>.*)`

// checker is the host of broken rules. No thread can have its name: that has no colon.
const checker = "relock:rules"

// vectors is who knows of which events, by hosts.
type vectors struct {
	b      *bytes.Buffer
	clocks map[string]map[string]int
}

// happens notes an event of a host that has learned what the others knew, and returns
// what the host knows now.
func (v *vectors) happens(host, event string, learned ...map[string]int) (map[string]int, error) {
	host = shivizHost(host)
	clock := v.clocks[host]
	if clock == nil {
		clock = map[string]int{}
		v.clocks[host] = clock
	}
	for _, other := range learned {
		for name, n := range other {
			clock[name] = max(clock[name], n)
		}
	}
	clock[host]++
	text, err := jsonText(clock)
	if err != nil {
		return nil, err
	}
	v.b.WriteString(host + " " + text + " " + oneLine(event) + "\n")
	return maps.Clone(clock), nil
}

// shivizHost returns a name without what would end it in a line.
func shivizHost(name string) string {
	return cmp.Or(strings.Join(strings.Fields(oneLine(name)), "_"), "_")
}

// hostOf is a node of Redis, by the port that a transcript gives it.
func hostOf(node int) string { return "redis:" + strconv.Itoa(firstPort+max(node, 1)-1) }

// writeShiViz writes the run as ShiViz draws it: each event with its host and its
// vector clock. A request tells Redis what its thread knew, a reply tells the thread
// what Redis knew; who hears nothing learns nothing.
func writeShiViz(b *bytes.Buffer, r Run) error {
	calls, err := r.calls()
	if err != nil {
		return err
	}
	b.WriteString(shivizLine + "\n\n")
	v := &vectors{b: b, clocks: map[string]map[string]int{}}
	begins, ends, of := map[int][]callAttempt{}, map[int][]callAttempt{}, map[int]callAttempt{}
	for _, one := range calls {
		for n, a := range one.attempts {
			x := callAttempt{one, n}
			begins[a.from] = append(begins[a.from], x)
			ends[a.to] = append(ends[a.to], x)
			for _, i := range a.commands {
				of[i] = x
			}
		}
	}
	type sent struct{ from, number int }
	asked, answered := map[sent]map[string]int{}, map[sent][]map[string]int{}
	id := func(x callAttempt) sent { return sent{x.from(), x.n} }
	return r.each(func(i int, e trace.Event) error {
		for _, x := range begins[i] {
			knows, err := v.happens(x.thread, "asks: "+x.title()+", attempt "+strconv.Itoa(x.attempts[x.n].number))
			if err != nil {
				return err
			}
			asked[id(x)] = knows
		}
		if c, ok := e.Body.(trace.Command); ok {
			x, known := of[i]
			var knew map[string]int // of a late copy, what its thread knew then is not kept
			if known {
				knew = asked[id(x)]
			}
			knows, err := v.happens(hostOf(c.Node), typed(c.Args)+" → "+reply(c), knew)
			if err != nil {
				return err
			}
			if known {
				answered[id(x)] = append(answered[id(x)], knows)
			}
		}
		if host, text := shivizEvent(e); host != "" {
			var learned []map[string]int
			if b, ok := e.Body.(trace.Violation); ok {
				for _, name := range b.Threads {
					learned = append(learned, v.clocks[shivizHost(name)])
				}
			}
			if _, err := v.happens(host, text, learned...); err != nil {
				return err
			}
		}
		for _, x := range ends[i] {
			o := x.attempts[x.n].outcome
			if o == nil {
				continue
			}
			text := "hears: " + x.title() + ": " + string(o.Result)
			var learned []map[string]int
			if o.Result == trace.Failed && !answeredWithError(r, x) || o.Result == trace.Cancelled {
				text += ": " + o.Error
			} else {
				learned = answered[id(x)]
			}
			if _, err := v.happens(x.thread, text, learned...); err != nil {
				return err
			}
		}
		return nil
	})
}

// answeredWithError reports whether an attempt failed because Redis said so.
func answeredWithError(r Run, x callAttempt) bool {
	for _, i := range x.attempts[x.n].commands {
		if c, ok := r.Events[i].Body.(trace.Command); ok && c.Error != "" {
			return true
		}
	}
	return false
}

// shivizEvent is an event that is no call's, with its host, or "".
func shivizEvent(e trace.Event) (host, text string) {
	switch b := e.Body.(type) {
	case trace.Work:
		return e.Thread, "work, level " + strconv.Itoa(b.Level) + ": " + b.State
	case trace.Resource:
		return e.Thread, b.Op + "s " + strconv.Itoa(b.Value)
	case trace.Fault:
		if e.Thread == "" {
			return hostOf(b.Node), "fault: " + b.Do
		}
		return e.Thread, "fault: " + b.Do
	case trace.Expired:
		return hostOf(b.Node), "the lease is over"
	case trace.Violation:
		return checker, b.Rule + ": " + b.Detail
	case trace.End:
		if e.Thread != "" {
			return e.Thread, "ends: " + string(b.Result)
		}
	}
	return "", ""
}
