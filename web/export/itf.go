package export

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"relock/engine/bound"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// The values of Apalache's Informal Trace Format (ADR 015 of Apalache) that JSON has
// not: whole numbers, maps and sets.
type (
	itfInt int64
	itfMap map[string]int
	itfSet []string
)

// MarshalJSON writes a number as the format's tools do.
func (n itfInt) MarshalJSON() ([]byte, error) {
	return []byte(`{"#bigint":"` + strconv.FormatInt(int64(n), 10) + `"}`), nil
}

// MarshalJSON writes the pairs by their keys.
func (m itfMap) MarshalJSON() ([]byte, error) {
	pairs := [][2]any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, [2]any{k, itfInt(m[k])})
	}
	text, err := jsonText(map[string]any{"#map": pairs})
	return []byte(text), err
}

// MarshalJSON writes the members in their order.
func (s itfSet) MarshalJSON() ([]byte, error) {
	text, err := jsonText(map[string][]string{"#set": append([]string{}, s...)})
	return []byte(text), err
}

// itfKey is the lock's key: who has it, how often, and for how long.
type itfKey struct {
	Owner string `json:"owner"` // a thread, or ""
	Count itfInt `json:"count"` // 0 where nobody has it
	Lease itfInt `json:"lease_ms"`
}

// mostBroken is how many rules a state names, each state all of them again: twice as
// many as there are. Further ones are one, "…".
const mostBroken = 32

// itfState is a state, the last event named. Keys are the variables' names.
type itfState struct {
	Meta   map[string]int `json:"#meta"`
	AtUS   itfInt         `json:"at_us"`
	Thread string         `json:"thread"`
	Action string         `json:"action"`
	Owner  string         `json:"owner"`
	Count  itfInt         `json:"count"`
	Lease  itfInt         `json:"lease_ms"` // -1: without end, -2: there is no key
	Nodes  []itfKey       `json:"nodes"`    // the key on each node
	Belief itfMap         `json:"belief"`   // thread to levels
	Broken itfSet         `json:"broken"`   // rules so far
}

// writeITF writes the run as a sequence of states, as TLA+ and Quint viewers step
// through them: one before the first event and one after each.
func writeITF(b *bound.Buffer, r Run) error {
	b.WriteString(`{"#meta":` + mustText(map[string]string{
		"format": "ITF", "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html", "description": oneLine(r.title()),
	}) + ",\n" + `"vars":["at_us","thread","action","owner","count","lease_ms","nodes","belief","broken"],` + "\n" + `"states":[`)
	holding := facts.NewHolding(r.Header.Owners)
	nodes := max(r.Scenario.Lock.Nodes, 1)
	belief := func(e trace.Event) itfMap {
		m := itfMap{}
		for _, t := range r.Scenario.Threads {
			m[t.Name] = e.Belief[t.Name]
		}
		return m
	}
	start := trace.Event{Key: trace.Absent()}
	for range nodes {
		start.Nodes = append(start.Nodes, trace.Absent())
	}
	var broken itfSet
	known := map[string]bool{} // rules of broken
	index := 0
	state := func(e trace.Event, action string) error {
		holding.Add(e)
		key := itfOf(&holding, e.Key)
		s := itfState{
			Meta: map[string]int{"index": index}, AtUS: itfInt(micros(e)), Thread: e.Thread, Action: action,
			Owner: key.Owner, Count: key.Count, Lease: key.Lease, Belief: belief(e), Broken: slices.Clone(broken),
		}
		for _, one := range statesOf(e) {
			s.Nodes = append(s.Nodes, itfOf(&holding, one))
		}
		text, err := jsonText(s)
		if err != nil {
			return err
		}
		if index > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + text)
		index++
		return nil
	}
	if err := state(start, "init"); err != nil {
		return err
	}
	err := r.each(b, func(_ int, e trace.Event) error {
		if v, ok := e.Body.(trace.Violation); ok && !known[v.Rule] && len(broken) <= mostBroken {
			if len(broken) == mostBroken {
				v.Rule = "…"
			}
			known[v.Rule] = true
			broken = append(broken, v.Rule)
			slices.Sort(broken)
		}
		return state(e, itfAction(e))
	})
	b.WriteString("\n]}\n")
	return err
}

func itfOf(holding *facts.Holding, key trace.KeyState) itfKey {
	k := itfKey{Lease: itfInt(key.PTTL)}
	holders := holding.Holders(key)
	if len(holders) == 0 {
		if key.Exists() {
			k.Owner = "?" // a key that no thread of the run has set
		}
		return k
	}
	k.Owner, k.Count = holders[0], 1
	for id, count := range key.Fields {
		if holding.Of(key, id) == k.Owner {
			n, err := strconv.Atoi(count)
			if err == nil {
				k.Count = itfInt(n)
			}
		}
	}
	return k
}

// itfAction names what happened, as an action of a specification is named.
func itfAction(e trace.Event) string {
	switch b := e.Body.(type) {
	case trace.Command:
		return b.Call + ": " + oneLine(typed(b.Args))
	case trace.Outcome:
		return b.Call + ": " + string(b.Result)
	case trace.Work:
		return "work: " + b.State
	case trace.Wait:
		return "wait: " + b.Why
	case trace.Fault:
		return "fault: " + b.Do
	case trace.Violation:
		return "violation: " + b.Rule
	case trace.Resource:
		return "resource: " + b.Op
	case trace.End:
		return "end: " + string(b.Result)
	default:
		return cmp.Or(string(e.Kind()), "event")
	}
}

// mustText is jsonText for what is known to be text.
func mustText(v map[string]string) string {
	text, err := jsonText(v)
	if err != nil {
		panic(err)
	}
	return text
}
