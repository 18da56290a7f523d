package draft

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"relock/engine/fault"
	"relock/engine/scenario"
)

// Actions of Merge: some of them with the number of an entry after a dash.
const (
	AddThread       = "add-thread"
	DuplicateThread = "duplicate-thread"
	RemoveThread    = "remove-thread"
	AddFault        = "add-fault"       // in a thread
	AddRedisFault   = "add-redis-fault" // to Redis, at a time
	DuplicateFault  = "duplicate-fault"
	RemoveFault     = "remove-fault"
	Unfold          = "open" // a text from elsewhere, perhaps JSON, is written as YAML
)

const (
	retryKeys  = `retry\.(?:times|interval|jitter|wait)`
	threadKeys = `(?:start|depth|work|repeat|on-lost|process|user|` + retryKeys + `)`
)

// fieldName matches the keys that a form can change.
var fieldName = regexp.MustCompile(`^(?:title|kind|seed|policy|lock\.(?:protocol|key|lease|watchdog|nodes|` + retryKeys + `)|` +
	`resource\.(?:kind|size|limit|checks)|defaults\.` + threadKeys + `|threads\[\d{1,2}\]\.(?:name|` + threadKeys + `)|` +
	`faults\[\d{1,2}\]\.(?:thread|at|time|do|level|round|command|for|scope|by|behind|keep|node))$`)

var (
	nameOfThread = regexp.MustCompile(`^threads\[\d+\]\.name$`)
	keyOfFault   = regexp.MustCompile(`^(faults\[\d+\])\.(do|at)$`)
)

// Line is a value as a text input has it: on one line, without spaces around.
func Line(value string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(strings.ToValidUTF8(value, "")))
}

// Lines is a text as it is kept: with one kind of line end.
func Lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\r\n", "\n"), "\r", "\n")
}

// Merge takes what a form has changed since it showed base into text, and
// carries out an action, if any. Values are by key; one that is emptied takes
// its key away. Without a change the text is returned as it is. It fails with
// ErrUnreadable where there are changes and text cannot take them.
func Merge(base, text, action string, values url.Values) (string, error) {
	changed := changes(base, values)
	if len(changed) == 0 && action == "" {
		return text, nil
	}
	d, err := Read(text)
	if err != nil {
		return text, err
	}
	for _, key := range changed {
		d.change(key, Line(values.Get(key)))
	}
	d.settle(changed)
	if action != "" {
		d.act(action)
	}
	return d.String()
}

// changes are the keys whose values differ from base's, in a fixed order.
func changes(base string, values url.Values) []string {
	from, err := Read(base)
	if err != nil {
		return nil // no form was shown for that
	}
	var keys []string
	for key, v := range values {
		if !fieldName.MatchString(key) || len(v) == 0 {
			continue
		}
		if had, _ := from.Value(key); Line(had) != Line(v[0]) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // entry 2 before entry 10
		}
		return strings.Compare(a, b)
	})
	return keys
}

func (d *Draft) change(key, value string) {
	switch {
	case key == "resource.kind" && value == "":
		d.Delete("resource")
	case value == "":
		d.Delete(key)
	case nameOfThread.MatchString(key):
		old, _ := d.Value(key)
		d.Set(key, value)
		d.rename(old, value)
	default:
		d.Set(key, value)
	}
}

// names are the names of all threads.
func (d *Draft) names() []string {
	var list []string
	for i := range d.Len("threads") {
		name, _ := d.Value(at("threads", i) + ".name")
		list = append(list, name)
	}
	return list
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// rename lets what is said of a thread follow its name, unless another
// thread has or had it as well.
func (d *Draft) rename(old, name string) {
	names := d.names()
	same := 0
	for _, n := range names {
		if n == name {
			same++
		}
	}
	if old == "" || same != 1 || slices.Contains(names, old) {
		return
	}
	for _, list := range []string{"faults", "schedule"} {
		for i := range d.Len(list) {
			key := at(list, i) + ".thread"
			if v, _ := d.Value(key); v == old {
				d.Set(key, name)
			}
		}
	}
	if outcome := d.node("expect.outcome"); outcome != nil {
		if i := entry(outcome, old); i >= 0 && entry(outcome, name) < 0 {
			outcome.Content[i].Value = name
		}
	}
}

// settle leaves out what a new choice rules out, and adds what it needs.
func (d *Draft) settle(changed []string) {
	for _, key := range changed {
		if m := keyOfFault.FindStringSubmatch(key); m != nil {
			d.fit(m[1])
		}
	}
	if slices.Contains(changed, "lock.protocol") {
		gone := []string{"lock.nodes", "lock.retry.wait", "defaults.retry.wait"}
		for i := range d.Len("threads") {
			gone = append(gone, at("threads", i)+".retry.wait")
		}
		for _, key := range gone {
			if !slices.Contains(changed, key) {
				d.Delete(key)
			}
		}
	}
}

// sketch is the scenario as far as it can be read.
func (d *Draft) sketch() *scenario.Scenario {
	text, err := d.encode()
	if err != nil {
		return &scenario.Scenario{}
	}
	if sc, _ := scenario.Draft([]byte(text)); sc != nil {
		return sc
	}
	return &scenario.Scenario{}
}

// fit gives a fault the keys that its kind and its place have: what still
// fits stays.
func (d *Draft) fit(at string) {
	sc := d.sketch()
	do, _ := d.Value(at + ".do")
	place, _ := d.Value(at + ".at")
	kinds := sc.FaultKinds()
	i := slices.IndexFunc(kinds, func(k fault.Kind) bool { return k.Name == do })
	if i < 0 {
		return // refused by the lock, or unknown: the mistake says so
	}
	places := kinds[i].Places
	if len(places) > 0 && !slices.Contains(places, place) {
		place = places[0]
		if slices.Contains(places, fault.AtWork) {
			place = fault.AtWork
		}
	}
	if len(places) == 0 {
		place = ""
	}
	keys := sc.FaultKeys(do, place)
	n := d.node(at)
	for _, key := range []string{"thread", "at", "level", "round", "command", "time", "for", "scope", "by", "behind", "keep", "node"} {
		if !slices.Contains(keys, key) && entry(n, key) >= 0 {
			d.Delete(at + "." + key)
		}
	}
	needs := map[string]string{"time": "100ms", "for": "100ms", "by": "1s", "at": place}
	if names := d.names(); len(places) > 0 && len(names) > 0 {
		needs["thread"] = names[0]
	}
	for _, key := range keys {
		value, needed := needs[key]
		_, there := d.Value(at + "." + key)
		if needed && (!there || key == "at") {
			d.Set(at+"."+key, value)
		}
	}
}

func (d *Draft) act(action string) {
	name, index := action, -1
	if i := strings.LastIndexByte(action, '-'); i >= 0 {
		if n, err := strconv.Atoi(action[i+1:]); err == nil {
			name, index = action[:i], n
		}
	}
	switch name {
	case Unfold:
		d.unfold()
	case AddThread:
		d.addThread()
	case DuplicateThread:
		if index >= 0 && index < d.Len("threads") && d.Len("threads") < scenario.MaxThreads {
			d.Copy("threads", index)
			d.Set(at("threads", index+1)+".name", d.freeName())
		}
	case RemoveThread:
		d.removeThread(index)
	case AddFault:
		d.addFault(true)
	case AddRedisFault:
		d.addFault(false)
	case DuplicateFault:
		if d.Len("faults") < scenario.MaxFaults {
			d.Copy("faults", index)
		}
	case RemoveFault:
		d.removeFault(index)
	}
}

// unfold writes JSON as people write YAML. What is YAML already stays.
func (d *Draft) unfold() {
	root := d.doc.Content[0]
	if root.Style&yaml.FlowStyle == 0 {
		return
	}
	plain(root)
}

// plain leaves quotes to where YAML needs them.
func plain(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, c := range n.Content {
		plain(c)
	}
}

// addThread adds a thread like the last one.
func (d *Draft) addThread() {
	n := d.Len("threads")
	if n >= scenario.MaxThreads || d.Has("threads") && n == 0 && !d.empty("threads") {
		return
	}
	name := d.freeName()
	if n > 0 {
		d.Copy("threads", n-1)
	}
	d.Set(at("threads", n)+".name", name)
}

// empty tells whether a key holds nothing, or an empty list.
func (d *Draft) empty(key string) bool {
	n := d.node(key)
	return n == nil || len(n.Content) == 0 && (n.ShortTag() == "!!seq" || n.ShortTag() == "!!null")
}

func (d *Draft) freeName() string {
	taken := d.names()
	for c := 'A'; c <= 'Z'; c++ {
		if !slices.Contains(taken, string(c)) {
			return string(c)
		}
	}
	return "T" + strconv.Itoa(len(taken))
}

// removeThread takes a thread away, and what is said of it elsewhere.
func (d *Draft) removeThread(i int) {
	if i < 0 || i >= d.Len("threads") {
		return
	}
	name, _ := d.Value(at("threads", i) + ".name")
	d.Delete(at("threads", i))
	if name == "" || slices.Contains(d.names(), name) {
		return
	}
	for f := d.Len("faults") - 1; f >= 0; f-- {
		if v, _ := d.Value(at("faults", f) + ".thread"); v == name {
			d.removeFault(f)
		}
	}
	d.Delete("expect.outcome." + name)
}

func (d *Draft) removeFault(i int) {
	if i < 0 || i >= d.Len("faults") {
		return
	}
	d.Delete(at("faults", i))
	if d.Len("faults") == 0 {
		d.Delete("faults")
	}
}

// addFault adds the first fault that the lock can have, of a thread or of
// Redis.
func (d *Draft) addFault(ofThread bool) {
	n := d.Len("faults")
	if n >= scenario.MaxFaults || n == 0 && !d.empty("faults") {
		return
	}
	for _, k := range d.sketch().FaultKinds() {
		if (len(k.Places) > 0) == ofThread {
			one := at("faults", n)
			if n == 0 {
				d.Delete("faults")
			}
			d.Set(one+".do", k.Name)
			d.fit(one)
			return
		}
	}
}
