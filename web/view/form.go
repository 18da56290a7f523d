package view

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"relock/engine/scenario"
)

// Stores that the form offers.
const (
	StoreVirtual  = "virtual"  // embedded, virtual clock
	StoreWall     = "wall"     // embedded, wall clock
	StoreExternal = "external" // the operator's Redis
)

// Form is the scenario form with what a person typed, right or wrong.
type Form struct {
	Title    string
	Key      string
	Lease    Field
	Watchdog Field
	Seed     Field
	Slow     Field // slow motion, on the wall clock
	Store    string
	External string // name of the operator's Redis, "" without one
	Threads  []ThreadForm
	Faults   string // kept from the example, as JSON
	Policy   string // kept from the example
	Protocol string
	Resource string // kept from the example, as JSON
	Kind     string // kept from the example
	Nodes    string // kept from the example
	Mistakes []string
	Full     bool // no thread can be added
}

// Field is an input and what is wrong with it.
type Field struct {
	Name    string
	Label   string
	Value   string
	Hint    string
	Mistake string
	Hidden  bool // kept, but not shown
}

// ThreadForm is a thread's inputs.
type ThreadForm struct {
	Index   int
	Ordinal int
	Fields  []Field
}

// threadFields are a thread's inputs: name in the form, key in a scenario.
func threadFields() []struct{ name, key, label, hint string } {
	return []struct{ name, key, label, hint string }{
		{"name", "name", "Name", ""},
		{"depth", "depth", "Recursion depth", ""},
		{"work", "work", "Work per level", "such as 60ms or 50ms-100ms"},
		{"retries", "retry.times", "Retries", ""},
		{"interval", "retry.interval", "Retry every", "such as 50ms"},
		{"start", "start", "Starts at", "such as 0ms"},
		{more, "", "", ""},
	}
}

// more is the form's name for what a thread has and the form does not show.
const more = "more"

// moreOf is that, as JSON.
func moreOf(t scenario.Thread) string {
	text, err := json.Marshal(map[string]any{
		"repeat": t.Repeat, "on-lost": t.OnLost, "process": t.Process,
		"jitter": scenario.Range{Min: t.Retry.JitterMin, Max: t.Retry.JitterMax},
	})
	if err != nil {
		return ""
	}
	return string(text)
}

// withMore adds it to a thread of a scenario.
func withMore(thread, retry map[string]any, text string) error {
	var rest struct {
		Repeat  *int    `json:"repeat"`
		OnLost  *string `json:"on-lost"`
		Process *string `json:"process"`
		Jitter  *string `json:"jitter"`
	}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &rest); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	if rest.Repeat != nil {
		thread["repeat"] = *rest.Repeat
	}
	if rest.OnLost != nil {
		thread["on-lost"] = *rest.OnLost
	}
	if rest.Process != nil {
		thread["process"] = *rest.Process
	}
	if rest.Jitter != nil {
		retry["jitter"] = *rest.Jitter
	}
	return nil
}

// NewForm fills a form from a scenario.
func NewForm(sc *scenario.Scenario, store, external string) Form {
	s := NewScenario(sc)
	values := url.Values{
		"title": {s.Title}, "key": {s.Key}, "lease": {s.Lease}, "watchdog": {watchdog(sc)},
		"seed": {strconv.FormatUint(s.Seed, 10)}, "store": {store}, "policy": {sc.Policy}, "protocol": {sc.Lock.Protocol}, "kind": {sc.Kind}, "nodes": {strconv.Itoa(sc.Lock.Nodes)}, "slow": {"1"},
	}
	if text, err := json.Marshal(sc); err == nil {
		var parts map[string]json.RawMessage
		if json.Unmarshal(text, &parts) == nil {
			values.Set("faults", string(parts["faults"]))
			values.Set("resource", string(parts["resource"]))
		}
	}
	for i, t := range s.Threads {
		values[more] = append(values[more], moreOf(sc.Threads[i]))
		values["name"] = append(values["name"], t.Name)
		values["depth"] = append(values["depth"], strconv.Itoa(t.Depth))
		values["work"] = append(values["work"], t.Work)
		values["retries"] = append(values["retries"], strconv.Itoa(t.Retries))
		values["interval"] = append(values["interval"], t.Interval)
		values["start"] = append(values["start"], t.Start)
	}
	return formOf(values, external)
}

// formOf shows values as they are.
func formOf(v url.Values, external string) Form {
	f := Form{
		Title: v.Get("title"), Key: v.Get("key"), Faults: v.Get("faults"), External: external,
		Lease:    Field{Name: "lease", Label: "Lease", Value: v.Get("lease"), Hint: "such as 200ms"},
		Watchdog: Field{Name: "watchdog", Label: "Watchdog renews every", Value: v.Get("watchdog"), Hint: "such as 100ms, or off"},
		Seed:     Field{Name: "seed", Label: "Seed", Value: v.Get("seed"), Hint: "settles every random choice"},
		Slow:     Field{Name: "slow", Label: "Slow motion", Value: v.Get("slow"), Hint: "on the wall clock, every duration so many times as long: 1 to 100"},
		Store:    v.Get("store"),
		Policy:   v.Get("policy"),
		Protocol: v.Get("protocol"),
		Resource: v.Get("resource"),
		Kind:     v.Get("kind"),
		Nodes:    v.Get("nodes"),
	}
	if f.Store != StoreWall && (f.Store != StoreExternal || external == "") {
		f.Store = StoreVirtual
	}
	for i := range v["name"] {
		t := ThreadForm{Index: i, Ordinal: i}
		for _, d := range threadFields() {
			value := ""
			if i < len(v[d.name]) {
				value = v[d.name][i]
			}
			t.Fields = append(t.Fields, Field{Name: d.name, Label: d.label, Value: value, Hint: d.hint, Hidden: d.name == more})
		}
		f.Threads = append(f.Threads, t)
	}
	f.Full = len(f.Threads) >= scenario.MaxThreads
	return f
}

var wholeNumber = regexp.MustCompile(`^[0-9]{1,18}$`)

// ReadForm makes a scenario of what was typed. With mistakes there is no
// scenario, and the form names them at their inputs.
func ReadForm(v url.Values, external string) (Form, *scenario.Scenario) {
	f := formOf(v, external)
	number := func(s string) any {
		s = strings.TrimSpace(s)
		if wholeNumber.MatchString(s) {
			return json.Number(strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:])
		}
		return s
	}
	threads := []any{}
	for _, t := range f.Threads {
		get := func(i int) string { return strings.TrimSpace(t.Fields[i].Value) }
		retry := map[string]any{"times": number(get(3)), "interval": get(4)}
		thread := map[string]any{"name": get(0), "depth": number(get(1)), "work": get(2), "retry": retry, "start": get(5)}
		if err := withMore(thread, retry, get(6)); err != nil {
			f.Mistakes = []string{"What came with the form is no JSON; choose the example again."}
			return f, nil
		}
		threads = append(threads, thread)
	}
	lock := map[string]any{
		"key": f.Key, "lease": strings.TrimSpace(f.Lease.Value), "watchdog": strings.TrimSpace(f.Watchdog.Value),
	}
	if f.Protocol != "" {
		lock["protocol"] = f.Protocol
	}
	if n, err := strconv.Atoi(f.Nodes); err == nil && n > 1 && f.Protocol == "redlock" {
		lock["nodes"] = n
	}
	doc := map[string]any{
		"title": f.Title, "seed": number(f.Seed.Value), "threads": threads, "lock": lock,
	}
	if f.Kind != "" {
		doc["kind"] = f.Kind
	}
	if f.Resource != "" {
		doc["resource"] = json.RawMessage(f.Resource)
	}
	if f.Policy != "" {
		doc["policy"] = f.Policy
	}
	if f.Faults != "" {
		doc["faults"] = json.RawMessage(f.Faults)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		f.Mistakes = []string{"What came with the form is no JSON; choose the example again."}
		return f, nil
	}
	if n, err := strconv.Atoi(strings.TrimSpace(f.Slow.Value)); f.Slow.Value != "" && (err != nil || n < 1 || n > scenario.MaxSlow) {
		f.Slow.Mistake = fmt.Sprintf("given %q, allowed: a whole number from 1 to %d", f.Slow.Value, scenario.MaxSlow)
		f.Mistakes = append(f.Mistakes, f.Slow.Label+": "+f.Slow.Mistake)
	}
	// Faults are kept and not shown: those that the chosen lock cannot have go.
	sc, err := scenario.Adapt(text)
	if mistakes, ok := err.(scenario.Mistakes); ok { //nolint:errorlint // Parse's own type
		f.name(mistakes)
	}
	if len(f.Mistakes) > 0 {
		return f, nil
	}
	return f, sc
}

// SlowMotion is how many times as long the form wants durations to be: 1 on
// the virtual clock, which needs none.
func (f Form) SlowMotion() int {
	n, err := strconv.Atoi(strings.TrimSpace(f.Slow.Value))
	if err != nil || f.Store == StoreVirtual {
		return 1
	}
	return n
}

// name puts each mistake at its input, or at the top of the form.
func (f *Form) name(mistakes scenario.Mistakes) {
	for _, m := range mistakes {
		text := fmt.Sprintf("given %s, allowed: %s", m.Given, m.Allowed)
		if field := f.field(m.Key); field != nil {
			field.Mistake = text
		}
		f.Mistakes = append(f.Mistakes, f.place(m.Key)+": "+text)
	}
}

var threadKey = regexp.MustCompile(`^threads\[(\d+)\]\.(.+)$`)

func (f *Form) field(key string) *Field {
	switch key {
	case "lock.lease":
		return &f.Lease
	case "lock.watchdog":
		return &f.Watchdog
	case "seed":
		return &f.Seed
	}
	m := threadKey.FindStringSubmatch(key)
	if m == nil {
		return nil
	}
	i, _ := strconv.Atoi(m[1])
	for n, d := range threadFields() {
		if d.key == m[2] && i < len(f.Threads) {
			return &f.Threads[i].Fields[n]
		}
	}
	return nil
}

// place words a scenario's key as the form does.
func (f *Form) place(key string) string {
	field := f.field(key)
	m := threadKey.FindStringSubmatch(key)
	switch {
	case field == nil:
		return key
	case m == nil:
		return field.Label
	default:
		i, _ := strconv.Atoi(m[1])
		return fmt.Sprintf("Thread %d, %s", i+1, strings.ToLower(field.Label))
	}
}

// AddThread returns the form's values with one thread more, like the last.
func AddThread(v url.Values) {
	n := len(v["name"])
	if n >= scenario.MaxThreads {
		return
	}
	for _, d := range threadFields() {
		value := ""
		if n > 0 && len(v[d.name]) >= n {
			value = v[d.name][n-1]
		}
		if d.name == "name" {
			value = freeName(v["name"])
		}
		v[d.name] = append(v[d.name], value)
	}
}

// RemoveThread takes the thread at index i out of the form's values.
func RemoveThread(v url.Values, i int) {
	for _, d := range threadFields() {
		if i >= 0 && i < len(v[d.name]) {
			v[d.name] = append(v[d.name][:i:i], v[d.name][i+1:]...)
		}
	}
}

func freeName(taken []string) string {
	for c := 'A'; c <= 'Z'; c++ {
		free := true
		for _, t := range taken {
			free = free && t != string(c)
		}
		if free {
			return string(c)
		}
	}
	return ""
}

// ShowForm shows values as they are, without reading them.
func ShowForm(v url.Values, external string) Form { return formOf(v, external) }

// Protocols lists the locks to choose from.
func (f Form) Protocols() []scenario.Protocol { return scenario.Protocols() }

// watchdog is what a scenario says of it, whatever its lock has.
func watchdog(sc *scenario.Scenario) string {
	if sc.Lock.Watchdog == 0 {
		return "off"
	}
	return scenario.Duration(sc.Lock.Watchdog)
}
