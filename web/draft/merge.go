package draft

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/strict"
)

// Actions of Merge; some are followed by a dash and the number of an entry.
const (
	AddThread       = "add-thread"
	DuplicateThread = "duplicate-thread"
	RemoveThread    = "remove-thread"
	AddFault        = "add-fault"       // in a thread
	AddRedisFault   = "add-redis-fault" // to Redis, at a time
	DuplicateFault  = "duplicate-fault"
	RemoveFault     = "remove-fault"
	Unfold          = "open" // rewrite a text from elsewhere, perhaps JSON, as YAML
)

// settable reports whether a form can change a key.
func settable(place string) bool {
	if place == countKey {
		return true
	}
	key, _ := scenario.KeyAt(place)
	return key.Label != "" || key.Values.Lua
}

// countKey is the form's alone: how many threads there are.
const countKey = "threads"

// saysOfScripts are the keys that say how the scripts of an own lock are called.
var saysOfScripts = []string{"lock.args", "lock.keys", "lock.replies"}

var (
	nameOfThread = regexp.MustCompile(`^threads\[\d+\]\.name$`)
	keyOfFault   = regexp.MustCompile(`^(faults\[\d+\])\.(do|at)$`)
	blanksAtEnd  = regexp.MustCompile(`[ \t]+(\n|$)`)
)

// Line returns a value as a text input has it: on one line, trimmed.
func Line(value string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(strings.ToValidUTF8(value, "")))
}

var (
	// aTime matches a time or a range of two, as pages and people write them.
	aTime = regexp.MustCompile(`^-?[\d.]+[\s\p{Z}]*[a-zµ]*(?:[\s\p{Z}]*-[\s\p{Z}]*[\d.]+[\s\p{Z}]*[a-zµ]*)?$`)
	// lengthOfTime matches one time.
	lengthOfTime = regexp.MustCompile(`[\d.]+[a-zµ]+`)
	unitless     = regexp.MustCompile(`\d$`)
)

// Lines returns a text with uniform line ends.
func Lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\r\n", "\n"), "\r", "\n")
}

// Input returns a key's value as the form's input has it: a script in lines that
// end without blanks, a time with its unit, ms where none is said, anything else as [Line].
func Input(place, value string) string {
	key, _ := scenario.KeyAt(place)
	if !key.Values.Lua {
		line := Line(value)
		if !key.Values.Times || !aTime.MatchString(line) {
			return line
		}
		return unitless.ReplaceAllString(strings.Join(strings.Fields(line), ""), "${0}ms") // Fields cuts at no-break spaces, too
	}
	text := strings.TrimRight(blanksAtEnd.ReplaceAllString(Lines(value), "$1"), "\n")
	if text == "" {
		return ""
	}
	return text + "\n" // as YAML writes a block
}

// Merge applies to text what a form has changed since it showed base, then an
// action, if any. Values are by key; an emptied value removes its key. Without
// changes the text is returned as it is. Merge fails with ErrUnreadable if text
// cannot take the changes.
func Merge(base, text, action string, values url.Values) (string, error) {
	changed := changes(base, values)
	if len(changed) == 0 && action == "" {
		return text, nil
	}
	d, err := Read(text)
	if err != nil {
		return text, err
	}
	lock, whole := "", false
	if slices.Contains(changed, "lock.protocol") {
		lock, whole = d.sketch().Lock.Protocol, d.Len("threads") > 0
	}
	for _, key := range changed {
		d.change(key, Input(key, values.Get(key)))
	}
	d.settle(changed, lock)
	// Not where it is the default, and said now, and not of what is no scenario yet.
	if whole && d.sketch().Lock.Protocol != lock {
		d.forget()
	}
	if n, err := strconv.Atoi(values.Get(countKey)); err == nil && slices.Contains(changed, countKey) {
		for range min(n, scenario.MaxThreads) - d.Len("threads") {
			d.addThread()
		}
		for range d.Len("threads") - max(n, 1) {
			d.removeThread(d.Len("threads") - 1)
		}
	}
	if action != "" {
		d.act(action)
	}
	return d.String()
}

// changes returns the keys whose values differ from base's, in a fixed order.
func changes(base string, values url.Values) []string {
	from, err := Read(base)
	if err != nil {
		return nil // such a base has no form
	}
	var keys []string
	for key, v := range values {
		if !settable(key) || len(v) == 0 {
			continue
		}
		had, _ := from.Value(key)
		if Input(key, had) != Input(key, v[0]) {
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

// Rescripted reports whether a form has changed an own lock's script since it showed base.
func Rescripted(base string, values url.Values) bool {
	return slices.ContainsFunc(changes(base, values), func(key string) bool { return strings.HasPrefix(key, "lock.scripts.") })
}

func (d *Draft) change(key, value string) {
	switch {
	case key == countKey: // when the others are as they are to be
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

// EnterOnce has all threads take the lock once, and reports whether one did not.
func (d *Draft) EnterOnce() (changed bool) {
	for _, one := range append(d.threads(), "defaults") {
		changed = changed || d.Has(one+".depth")
		d.Delete(one + ".depth")
	}
	return changed
}

// Call says how an own lock's scripts are called and what they return, and takes out those of
// the lock that it is like which do nothing.
func (d *Draft) Call(args map[string][]protocol.Arg, keys []string, replies map[string]protocol.Replies, idle []string) {
	for _, call := range slices.Sorted(maps.Keys(args)) {
		d.Set("lock.args."+call, strings.Join(protocol.ArgTexts(args[call]), " "))
	}
	if keys != nil {
		d.Set("lock.keys", strings.Join(keys, " "))
	}
	for _, call := range slices.Sorted(maps.Keys(replies)) {
		d.Delete("lock.replies." + call)
		for _, outcome := range protocol.Outcomes(call) {
			one, said := replies[call][outcome]
			if !said {
				continue
			}
			key, text := "lock.replies."+call+"."+outcome, one.String()
			if one.Kind == protocol.AnswerText {
				text = one.Text
			}
			if d.Set(key, text); one.Kind == protocol.AnswerText {
				d.node(key).Style = yaml.DoubleQuotedStyle
			}
		}
	}
	for _, call := range idle {
		d.Delete("lock.scripts." + call)
		d.Delete("lock.like")
	}
}

// WholeSeconds makes the lease whole seconds where scripts get it so or make it so, and all
// other times as many times as long; it reports whether it did.
func (d *Draft) WholeSeconds(made bool) bool {
	lock := d.sketch().Lock
	lease, _ := d.Value("lock.lease")
	if !made && !lock.InSeconds() || lock.Lease%time.Second == 0 || lease == "" {
		return false
	}
	whole := lock.Lease.Truncate(time.Second) + time.Second
	var longer func(n *yaml.Node, place string)
	longer = func(n *yaml.Node, place string) {
		for i, one := range n.Content {
			switch {
			case n.Kind == yaml.SequenceNode:
				longer(one, at(place, i))
			case i%2 > 0:
				longer(one, strings.TrimPrefix(place+"."+n.Content[i-1].Value, "."))
			}
		}
		if key, _ := scenario.KeyAt(place); n.Kind == yaml.ScalarNode && key.Values.Times {
			n.Value = lengthOfTime.ReplaceAllStringFunc(n.Value, func(text string) string {
				length, err := time.ParseDuration(text)
				if err != nil {
					return text
				}
				return (length * (whole / time.Millisecond) / (lock.Lease / time.Millisecond)).Round(time.Millisecond).String()
			})
		}
	}
	longer(d.doc.Content[0], "")
	return true
}

// threads returns the place of each thread.
func (d *Draft) threads() []string {
	var list []string
	for i := range d.Len("threads") {
		list = append(list, at("threads", i))
	}
	return list
}

// names returns the names of all threads.
func (d *Draft) names() []string {
	var list []string
	for i := range d.Len("threads") {
		name, _ := d.Value(at("threads", i) + ".name")
		list = append(list, name)
	}
	return list
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// rename makes references to a thread follow its new name, unless another
// thread has or had the same name.
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

// settle removes what a new choice rules out, and adds what it needs. Before is the lock
// that another one has replaced.
func (d *Draft) settle(changed []string, before string) {
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
	d.begin(changed, before)
	for _, key := range changed {
		call, is := strings.CutPrefix(key, "lock.scripts.")
		if _, has := d.Value(key); is && !has {
			for _, said := range saysOfScripts {
				d.Delete(said + "." + call)
			}
		}
	}
	if slices.Contains(changed, "resource.kind") {
		kind, _ := d.Value("resource.kind")
		if checks, ok := d.Value("resource.checks"); ok && !slices.Contains(scenario.ChecksOf(kind), checks) {
			d.Delete("resource.checks")
		}
	}
}

// begin gives a user's own lock the scripts that it begins with: those of the lock that
// it replaces, or that it is to be like now. Another lock has none.
func (d *Draft) begin(changed []string, before string) {
	switch name, _ := d.Value("lock.protocol"); {
	case name != protocol.Own:
		if slices.Contains(changed, "lock.protocol") {
			for _, key := range append([]string{"lock.like", "lock.scripts", "lock.release", "lock.kind"}, saysOfScripts...) {
				d.Delete(key)
			}
		}
		return
	case slices.Contains(changed, "lock.protocol") && !d.Has("lock.scripts"):
		if slices.Contains(scenario.Writable(), before) && !d.Has("lock.like") {
			d.Set("lock.like", before)
		}
	case !slices.Contains(changed, "lock.like"):
		return
	}
	like, _ := d.Value("lock.like")
	d.Delete("lock.scripts")
	for _, key := range saysOfScripts { // of other scripts
		d.Delete(key)
	}
	for call, source := range scenario.Beginning(like) {
		d.Set("lock.scripts."+call, source)
	}
}

// forget removes what was said about another lock: what the scenario expects, and the
// comments at its head and on the lock. Comments on threads and faults are about what is
// still there.
func (d *Draft) forget() {
	d.Delete("expect")
	d.doc.HeadComment, d.doc.LineComment, d.doc.FootComment = "", "", ""
	root := d.doc.Content[0]
	root.HeadComment, root.LineComment, root.FootComment = "", "", ""
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key := root.Content[i]; {
		case key.Value == "lock":
			uncomment(key)
			uncomment(root.Content[i+1])
		case i == 0:
			key.HeadComment = ""
		}
		if i+2 == len(root.Content) {
			root.Content[i].FootComment, root.Content[i+1].FootComment = "", "" // it was before or below what was expected
		}
	}
}

// uncomment removes all comments of a value.
func uncomment(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		uncomment(c)
	}
}

// Forgot reports whether a text has another lock than before, and so lost what was said
// about that: what the scenario expected, or comments.
func Forgot(before, after string) bool {
	if before == after {
		return false // without reading what may be large
	}
	was, err := Read(before)
	if err != nil {
		return false
	}
	is, err := Read(after)
	if err != nil {
		return false
	}
	return was.sketch().Lock.Protocol != is.sketch().Lock.Protocol && (was.Has("expect") && !is.Has("expect") || comments(was.doc) > comments(is.doc))
}

// comments counts the comments of a value.
func comments(n *yaml.Node) int {
	count := 0
	for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		if c != "" {
			count++
		}
	}
	for _, c := range n.Content {
		count += comments(c)
	}
	return count
}

// sketch returns the scenario as far as it can be read.
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

// fit gives a fault the keys of its kind and place, keeping those that still
// fit.
func (d *Draft) fit(at string) {
	sc := d.sketch()
	do, _ := d.Value(at + ".do")
	place, _ := d.Value(at + ".at")
	kinds := sc.FaultKinds()
	i := slices.IndexFunc(kinds, func(k fault.Kind) bool { return k.Name == do })
	if i < 0 {
		return // ruled out by the lock, or unknown: the mistake says so
	}
	places := kinds[i].Places
	kind, _ := fault.Struck(do, place)
	if len(places) > 0 && len(kind.Places) > 0 && !slices.Contains(places, place) {
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
	for _, key := range keysOf("faults[0]") {
		if key != "do" && !slices.Contains(keys, key) && entry(n, key) >= 0 {
			d.Delete(at + "." + key)
		}
	}
	needs := map[string]string{"time": "100ms", "for": "100ms", "by": "1s", "error": kind.Error}
	if place != "" {
		needs["at"] = place
	}
	for _, key := range kind.Optional {
		delete(needs, key)
	}
	if names := d.names(); (place != "" || kind.One) && len(names) > 0 {
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

// unfold rewrites JSON as people write YAML, and leaves YAML as it is.
func (d *Draft) unfold() {
	root := d.doc.Content[0]
	if root.Style&yaml.FlowStyle == 0 {
		return
	}
	plain(root)
}

// plain removes quotes that YAML does not need.
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

// empty reports whether a key has no value or an empty list.
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

// Fit removes what a form's change has made wrong elsewhere: the moves from the first on that names
// what is gone, and after another lock whatever that does not have. It names the keys. A mistake in
// one of the form's own values stays: people are to see it.
func Fit(text string, values url.Values) (fitted string, gone []string) {
	for range scenario.MaxFaults + scenario.MaxThreads {
		d, err := Read(text)
		if err != nil {
			break
		}
		_, found := scenario.Draft([]byte(text))
		i := slices.IndexFunc(found, func(m strict.Mistake) bool {
			return strings.HasPrefix(m.Key, "schedule[") || values.Has("lock.protocol") && !values.Has(m.Key) && d.Has(m.Key)
		})
		if i < 0 {
			break
		}
		name := d.drop(found[i].Key)
		if !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
		if text, err = d.String(); err != nil {
			break
		}
	}
	return text, gone
}

var entryOfList = regexp.MustCompile(`^(schedule|faults)\[(\d+)\]`)

// drop removes a key; of a fault all of it, of a move those after it, too. It returns the key's name.
func (d *Draft) drop(key string) string {
	m := entryOfList.FindStringSubmatch(key)
	if m == nil {
		d.Delete(key)
		return key[strings.LastIndexByte(key, '.')+1:]
	}
	i, _ := strconv.Atoi(m[2])
	for n := d.Len(m[1]) - 1; n >= i; n-- {
		if m[1] == "schedule" || n == i {
			d.Delete(at(m[1], n))
		}
	}
	if d.Len(m[1]) == 0 {
		d.Delete(m[1])
	}
	return m[1]
}

// removeThread removes a thread and all references to it.
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

// addFault adds the first fault the lock can have, of a thread or of Redis.
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
