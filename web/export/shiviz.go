package export

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"relock/engine/bound"
	"relock/engine/trace"
)

// shivizLine reads a line of the log. ShiViz takes the first line of a file as its
// parser, and the second as what parts several runs: here there is one.
const shivizLine = `(?<host>\S+) (?<clock>\{.*?\}) (?<event>.*)`

// checker is the host of broken rules. No thread can have its name: that has no colon.
const checker = "relock:rules"

// vectors is who knows of which events, by hosts.
type vectors struct {
	b      *bound.Buffer
	clocks map[string]map[string]int
}

// happens notes an event of a host that has learned what the others knew, and returns
// what the host knows now.
func (v *vectors) happens(host, event string, learned map[string]int) (map[string]int, error) {
	host = shivizHost(host)
	clock := joined(v.clocks[host], learned)
	v.clocks[host] = clock
	clock[host]++
	text, err := jsonText(clock)
	if err != nil {
		return nil, err
	}
	v.b.WriteString(host + " " + text + " " + oneLine(event) + "\n")
	return maps.Clone(clock), nil
}

// joined returns what a host knows that knew clock and has learned other.
func joined(clock, other map[string]int) map[string]int {
	if clock == nil {
		clock = map[string]int{}
	}
	for name, n := range other {
		clock[name] = max(clock[name], n)
	}
	return clock
}

// shivizHost returns a name without what would end it in a line.
func shivizHost(name string) string {
	return cmp.Or(strings.Join(strings.Fields(oneLine(name)), "_"), "_")
}

// hostOf is a node of Redis, by the port that a transcript gives it. Those that no
// lock has are one: each event names all hosts that it knows of.
func hostOf(node int) string {
	if node > mostNodes {
		return "redis:others"
	}
	return "redis:" + strconv.Itoa(firstPort+max(node, 1)-1)
}

// mostNodes is more than a lock can have.
const mostNodes = 64

// writeShiViz writes the run as ShiViz draws it: each event with its host and its
// vector clock. A request tells Redis what its thread knew, a reply tells the thread
// what Redis knew; who hears nothing learns nothing.
func writeShiViz(b *bound.Buffer, r Run) error {
	calls, err := r.calls(b)
	if err != nil {
		return err
	}
	b.WriteString(shivizLine + "\n\n")
	v := &vectors{b: b, clocks: map[string]map[string]int{}}
	begins, ends := r.attempts(calls)
	of := map[int]callAttempt{} // of a command
	for _, list := range begins {
		for _, x := range list {
			for _, i := range x.attempts[x.n].commands {
				of[i] = x
			}
		}
	}
	type sent struct{ from, number int }
	asked, answered := map[sent]map[string]int{}, map[sent]map[string]int{} // of attempts under way
	id := func(x callAttempt) sent { return sent{x.from(), x.n} }
	return r.each(b, func(i int, e trace.Event) error {
		for _, x := range begins[i] {
			knows, err := v.happens(x.thread, "asks: "+x.title()+", attempt "+strconv.Itoa(x.attempts[x.n].number), nil)
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
			told, err := reply(b, c)
			if err != nil {
				return err
			}
			knows, err := v.happens(hostOf(c.Node), typed(c.Args)+" → "+told, knew)
			if err != nil {
				return err
			}
			if known {
				answered[id(x)] = joined(answered[id(x)], knows)
			}
		}
		if host, text := shivizEvent(e); host != "" {
			var learned map[string]int
			if b, ok := e.Body.(trace.Violation); ok {
				named := map[string]bool{}
				for _, name := range b.Threads {
					if name = shivizHost(name); !named[name] {
						named[name] = true
						learned = joined(learned, v.clocks[name])
					}
				}
			}
			if _, err := v.happens(host, text, learned); err != nil {
				return err
			}
		}
		for _, x := range ends[i] {
			o, heard := x.attempts[x.n].outcome, answered[id(x)]
			delete(asked, id(x))
			delete(answered, id(x))
			if o == nil {
				continue
			}
			text := "hears: " + x.title() + ": " + string(o.Result)
			var learned map[string]int
			if o.Result == trace.Failed && !answeredWithError(r, x) || o.Result == trace.Cancelled {
				text += ": " + o.Error
			} else {
				learned = heard
			}
			if _, err := v.happens(x.thread, text, learned); err != nil {
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
