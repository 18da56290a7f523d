package page

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/draft"
	"relock/web/words"
)

// Stores that a scenario can be run on.
const (
	StoreVirtual  = "virtual"  // embedded, virtual clock
	StoreWall     = "wall"     // embedded, wall clock
	StoreExternal = "external" // the operator's Redis
)

// Field is an input, named after the scenario's key that it changes.
type Field struct {
	Name     string
	Label    string
	Value    string
	Default  string // what applies while the input is empty
	Hint     string
	Mistakes []string
	Choices  []Choices // of a select
	Numeric  bool
	Wide     bool
	Code     bool // Lua, on several lines
	Late     bool // takes effect when left, not while typing: other inputs depend on it
}

// ID returns the input's id on the page.
func (f Field) ID() string {
	return "f-" + strings.Trim(strings.NewReplacer("[", "-", "].", "-", "]", "", ".", "-").Replace(f.Name), "-")
}

// Rows is how many lines its text has.
func (f Field) Rows() int { return strings.Count(strings.TrimSuffix(f.Value, "\n"), "\n") + 1 }

// Choices are a group of a select's choices, under a label if it has one.
type Choices struct {
	Label string
	List  []Choice
}

// Choice is one choice of a select.
type Choice struct {
	Value    string
	Label    string
	Selected bool
}

// FormPart is a group of inputs.
type FormPart struct {
	Fields   []Field
	Mistakes []string // of keys without an input
}

// Wrong tells whether something in it is.
func (p FormPart) Wrong() bool {
	return len(p.Mistakes) > 0 || slices.ContainsFunc(p.Fields, func(f Field) bool { return len(f.Mistakes) > 0 })
}

// FormThread is a thread's inputs.
type FormThread struct {
	Index int
	Name  string
	Main  FormPart
	More  FormPart // what most threads do not change
	Open  bool     // More has something to show
}

// FormFault is a fault's inputs, which depend on its kind and place.
type FormFault struct {
	Index   int
	Thread  string // "" for Redis
	Ordinal int    // of the thread, -1 for none
	FormPart
}

// Form is a scenario as inputs, with their values as written, right or wrong.
type Form struct {
	Readable   bool // false if the text is not YAML: the form waits
	General    FormPart
	Lock       FormPart
	Scripts    FormPart // of a user's own lock
	Own        bool     // there is one
	Retry      FormPart
	Resource   FormPart
	Threads    []FormThread
	ListWrong  []string // mistakes of the list of threads
	Defaults   FormPart
	ShareOpen  bool // the defaults have something to show
	Faults     []FormFault
	FaultWrong []string // mistakes of the list of faults
	Kept       []string // what else the scenario has, in words
	NoThread   bool     // none can be added
	NoFault    bool
	NoRedis    bool // nothing can happen to Redis: no thread uses it
}

// ThreadsWrong tells whether something of a thread is, or of their defaults.
func (f Form) ThreadsWrong() bool {
	return len(f.ListWrong) > 0 || f.Defaults.Wrong() || slices.ContainsFunc(f.Threads, func(t FormThread) bool { return t.Main.Wrong() || t.More.Wrong() })
}

// FaultsWrong tells whether something of a fault is.
func (f Form) FaultsWrong() bool {
	return len(f.FaultWrong) > 0 || slices.ContainsFunc(f.Faults, func(one FormFault) bool { return one.Wrong() })
}

// former makes a form.
type former struct {
	l        words.Language
	d        *draft.Draft
	sc       *scenario.Scenario
	bare     *scenario.Scenario  // one that says nothing
	mistakes map[string][]string // by key
	used     map[string]bool     // keys whose mistakes have an input
}

// NewForm returns the form for a text, and what is wrong with it. For an unreadable
// text, the form waits for a better one.
func NewForm(l words.Language, text string) (Form, []Mistake) {
	sc, found := scenario.Draft([]byte(text))
	mistakes := NewMistakes(l, found)
	if len(text) > scenario.MaxBytes {
		return Form{}, mistakes
	}
	d, err := draft.Read(text)
	if err != nil {
		return Form{}, mistakes
	}
	bare, _ := scenario.Draft([]byte("threads: [{name: A}]"))
	f := &former{l: l, d: d, sc: sc, bare: bare, mistakes: map[string][]string{}, used: map[string]bool{}}
	for _, m := range mistakes {
		f.mistakes[m.Key] = append(f.mistakes[m.Key], m.Short)
	}
	form := f.form()
	for i, m := range mistakes {
		if f.used[m.Key] {
			mistakes[i].Input = Field{Name: m.Key}.ID()
		}
	}
	return form, mistakes
}

func (f *former) form() Form {
	form := Form{Readable: true, General: f.general(), Lock: f.lock(), Resource: f.resource()}
	form.Retry = FormPart{Fields: f.inputs("lock.retry", f.sc.Lock.Retry, scenario.KeysAt("lock.retry").Last("wait"))}
	form.Lock.Mistakes = append(form.Lock.Mistakes, f.rest("lock.retry")...)
	form.Own, form.Scripts = f.sc.Lock.Own(), f.scripts()
	form.Lock.Mistakes = append(form.Lock.Mistakes, f.rest("lock")...)
	for i := range min(f.d.Len("threads"), scenario.MaxThreads) {
		form.Threads = append(form.Threads, f.thread(i))
	}
	form.ListWrong = f.rest("threads")
	usual := f.bare.Threads[0]
	usual.Name, usual.Retry = "", f.sc.Lock.Retry
	work, seldom := f.business("defaults", usual)
	form.Defaults.Fields = slices.Concat(work, seldom)
	form.Defaults.Mistakes = f.rest("defaults")
	form.ShareOpen = f.d.Has("defaults")
	for i := range min(f.d.Len("faults"), scenario.MaxFaults) {
		form.Faults = append(form.Faults, f.fault(i))
	}
	form.FaultWrong = f.rest("faults")
	form.Kept = f.kept()
	form.NoThread = len(form.Threads) >= scenario.MaxThreads
	form.NoFault = len(form.Faults) >= scenario.MaxFaults
	form.NoRedis = !slices.ContainsFunc(f.sc.FaultKinds(), func(k fault.Kind) bool { return k.Target == fault.Redis })
	form.General.Mistakes = f.rest("")
	return form
}

// inputs returns the inputs of keys of a part, a struct: those that it can have, and those
// that somebody has written.
func (f *former) inputs(place string, part any, keys scenario.Keys) []Field {
	var fields []Field
	for _, key := range keys {
		at := strings.TrimPrefix(place+"."+key.Name, ".")
		switch {
		case key.Name == "retry":
			fields = append(fields, f.inputs(at, part.(scenario.Thread).Retry, key.Values.Keys.Last("wait"))...)
		case key.Label == "" || key.Where != nil && !key.Where(f.sc) && !f.d.Has(at) && (key.With == "" || !f.d.Has(place+"."+key.With)):
		default:
			fields = append(fields, f.input(at, key.Value(part)))
		}
	}
	return fields
}

// without are the keys for which something else than their value, or nothing, applies
// while their input is empty.
var without = map[string]string{
	"locks": "", "lock.keep": "", "lock.wait": "", "lock.min-replicas": "",
	"lock.kind": check.Kind{Exclusive: true}.String(), "resource.looks": "true", "resource.once-per": "", "resource.checks": "",
}

// input returns the input of a key, with what applies while it is empty.
func (f *former) input(at, usual string) Field {
	key, _ := scenario.KeyAt(at)
	if other, ok := without[at]; ok {
		usual = other
	}
	if key.Values.Words == nil {
		return f.field(at, usual)
	}
	return f.choice(at, usual, Choices{List: f.options(at, key.Values.Names())})
}

// options are the choices between some words of a key.
func (f *former) options(at string, some []string) []Choice {
	key, _ := scenario.KeyAt(at)
	var list []Choice
	for _, word := range key.Values.Words {
		one := Choice{Value: word.Name, Label: word.Name}
		if word.Label != "" {
			one.Label = f.l.Say(word.Label)
		}
		if slices.Contains(some, word.Name) {
			list = append(list, one)
		}
	}
	return list
}

// field returns a text input, with the default that applies while it is empty.
func (f *former) field(at, usual string) Field {
	key, _ := scenario.KeyAt(at)
	value, _ := f.d.Value(at)
	f.used[at] = true
	one := Field{Name: at, Value: value, Default: usual, Mistakes: f.mistakes[at], Numeric: key.Values.Numeric, Wide: key.Wide, Code: key.Values.Lua}
	if key.Label != "" {
		one.Label = f.l.Say(key.Label)
	}
	if key.Hint != "" {
		one.Hint = f.l.Say(key.Hint)
	}
	return one
}

// choice returns a select. A missing key has the value "", and shows the
// default.
func (f *former) choice(at, usual string, groups ...Choices) Field {
	one := f.field(at, "")
	known := false
	for _, g := range groups {
		for i := range g.List {
			o := &g.List[i]
			o.Selected = o.Value == one.Value || one.Value == "" && o.Value == usual
			if one.Value == "" && o.Value == usual {
				o.Value = ""
			}
			known = known || o.Selected
		}
	}
	if !known {
		// The text stays as somebody wrote it, and is reported as a mistake.
		other := Choices{List: []Choice{{Value: one.Value, Label: one.Value, Selected: true}}}
		groups = append([]Choices{other}, groups...)
	}
	one.Choices = groups
	return one
}

// plainChoices returns choices that are labelled with their names.
func plainChoices(names ...string) Choices {
	var o Choices
	for _, n := range names {
		o.List = append(o.List, Choice{Value: n, Label: n})
	}
	return o
}

func (f *former) option(value string, label phrase.Text) Choice {
	return Choice{Value: value, Label: f.l.Say(label)}
}

func (f *former) general() FormPart {
	return FormPart{Fields: f.inputs("", *f.bare, scenario.KeysAt("").Without("locks").Last("seed"))}
}

func (f *former) lock() FormPart {
	lock := f.sc.Lock
	fields := f.inputs("lock", lock, scenario.KeysAt("lock").Without("retry", "like", "keys").Last("keep", "wait", "min-replicas", "kind", "nodes"))
	for i := range fields {
		switch one := &fields[i]; one.Name {
		case "lock.protocol":
			for _, p := range exhibit.All() {
				if p.Name == lock.Protocol {
					one.Hint = f.l.Say(p.Summary)
				}
			}
		case "lock.max-hold":
			if lock.MaxHold == 0 {
				one.Default = "1h"
			}
		case "lock.kind":
			one.Hint = f.l.Say("%s; readers share it while the key is a hash whose field mode is read.", check.Kinds)
		}
	}
	lease := slices.IndexFunc(fields, func(one Field) bool { return one.Name == "lock.lease" })
	fields = slices.Insert(fields, lease, f.inputs("", *f.sc, scenario.Keys{scenario.KeysAt("").Named("locks")})...)
	return FormPart{Fields: fields}
}

// scripts returns the inputs of a user's own lock.
func (f *former) scripts() FormPart {
	lock := f.sc.Lock
	if !lock.Own() {
		return FormPart{}
	}
	names := plainChoices(scenario.Writable()...)
	names.List = append([]Choice{f.option("", "an empty frame")}, names.List...)
	like := f.choice("lock.like", "", names)
	like.Hint = f.l.Say("Its scripts replace yours. A script that you leave empty is that lock's own.")
	if lock.Like == "" {
		like.Hint = f.l.Say("Choose an existing lock, and its scripts replace yours.")
	}
	part := FormPart{Fields: []Field{like}}
	for _, call := range lock.Calls() {
		one := f.field("lock.scripts."+call, "")
		one.Label, one.Hint = call, f.given(call)
		part.Fields = append(part.Fields, one)
		if one.Value != "" {
			part.Fields = append(part.Fields, f.argv(call))
		}
	}
	if keys := f.field("lock.keys", protocol.KeyPlace); keys.Value != "" || strings.Contains(lock.Scripts.Lock+lock.Scripts.Unlock, "KEYS[2]") {
		keys.Hint = f.l.Say("{key} is the lock's, and comes first; {owner} is who calls, {request} each call.")
		part.Fields = append(part.Fields, keys)
	}
	part.Mistakes = f.rest("lock.scripts")
	for _, key := range []string{"lock.args", "lock.keys", "lock.replies"} {
		part.Mistakes = append(part.Mistakes, f.rest(key)...)
		for _, call := range lock.Calls() {
			part.Mistakes = append(part.Mistakes, f.rest(key+"."+call)...)
		}
	}
	return part
}

// argMeans says what each word of args: is.
var argMeans = map[string]phrase.Text{
	protocol.ArgOwner:    "the owner",
	protocol.ArgLevel:    "the level, from 1",
	protocol.ArgLeaseMS:  "the lease in milliseconds",
	protocol.ArgLeaseS:   "the lease in seconds",
	protocol.ArgDeadline: "the lease's end in milliseconds",
	protocol.ArgToken:    "a token of this hold",
}

// argv is the input of what the script of a call gets as ARGV.
func (f *former) argv(call string) Field {
	var usual []string
	for _, s := range f.sc.Lock.Implementation().Scripts {
		if s.Call == call {
			usual = protocol.ArgTexts(s.Args())
		}
	}
	one := f.field("lock.args."+call, strings.Join(usual, " "))
	if call == protocol.CallLock {
		one.Hint = f.l.Say("Its words: %s; or a number.", strings.Join(protocol.ArgWords, ", "))
	}
	return one
}

// given says what the script of a call gets, "" where that is not known.
func (f *former) given(call string) string {
	var list []string
	for _, s := range f.sc.Lock.Implementation().Scripts {
		if s.Call != call {
			continue
		}
		for i, key := range f.sc.Lock.Implementation().Keys(f.sc.Lock.Key) {
			list = append(list, "KEYS["+strconv.Itoa(i+1)+"] "+key)
		}
		for i, arg := range s.Args() {
			means := arg.Text
			if text, ok := argMeans[arg.Word]; ok {
				means = f.l.Say(text)
			}
			list = append(list, "ARGV["+strconv.Itoa(i+1)+"] "+means)
		}
		if s.Args() == nil {
			return ""
		}
	}
	return strings.Join(list, " · ")
}

func (f *former) resource() FormPart {
	r, keys := scenario.Resource{}, scenario.KeysAt("resource").Last("checks")
	switch {
	case f.sc.Resource != nil:
		r = *f.sc.Resource
	case !f.d.Has("resource"):
		keys = keys[:1]
	}
	kind := r.Kind
	r.Kind, r.Limit = "", max(r.Limit, 1)
	fields := f.inputs("resource", r, keys)
	fields[0] = f.orNothing("resource.kind", "nothing watched", keys[0].Values.Names())
	if len(keys) > 1 {
		fields[len(fields)-1] = f.orNothing("resource.checks", "every write", scenario.ChecksOf(kind))
	}
	return FormPart{Fields: fields, Mistakes: f.rest("resource")}
}

// orNothing is the select of a key that need not be there, with what that means, and some
// of its words.
func (f *former) orNothing(at string, nothing phrase.Text, some []string) Field {
	return f.choice(at, "", Choices{List: append([]Choice{f.option("", nothing)}, f.options(at, some)...)})
}

// business returns the inputs of what a thread does: those that nearly every scenario
// uses, and the others.
func (f *former) business(place string, t scenario.Thread) (work, seldom []Field) {
	keys := scenario.KeysAt("defaults").Last("retry", "on-lost", "process", "drift", "client-retries", "user")
	often := slices.Index(keys.Names(), "work") + 1
	t.User = t.BuysFor()
	return f.inputs(place, t, keys[:often]), f.inputs(place, t, keys[often:])
}

func (f *former) thread(i int) FormThread {
	key := "threads[" + strconv.Itoa(i) + "]"
	var t scenario.Thread
	if i < len(f.sc.Threads) {
		t = f.sc.Threads[i]
	}
	name := f.field(key+".name", "")
	name.Late = true
	work, seldom := f.business(key, t)
	form := FormThread{Index: i, Name: name.Value, Main: FormPart{Fields: append([]Field{name}, work...)}, More: FormPart{Fields: seldom}}
	for _, one := range form.More.Fields {
		form.Open = form.Open || one.Value != "" || len(one.Mistakes) > 0
	}
	form.Main.Mistakes = append(f.rest(key), f.rest(key+".retry")...)
	return form
}

func (f *former) fault(i int) FormFault {
	key := "faults[" + strconv.Itoa(i) + "]"
	do, _ := f.d.Value(key + ".do")
	place, _ := f.d.Value(key + ".at")
	form := FormFault{Index: i, Ordinal: -1}
	keys := f.sc.FaultKeys(do, place)
	for _, name := range scenario.KeysAt("faults[0]").Names() {
		if name != "do" && !slices.Contains(keys, name) && f.d.Has(key+"."+name) {
			keys = append(keys, name) // not of this kind: shown so that it can be removed
		}
	}
	// The kind comes first: it decides about the rest.
	keys = append([]string{"do"}, slices.DeleteFunc(keys, func(k string) bool { return k == "do" })...)
	for _, name := range keys {
		if name == "round" && !f.repeats(key) && !f.d.Has(key+".round") {
			continue
		}
		form.Fields = append(form.Fields, f.faultField(key, name, do))
	}
	if thread, _ := f.d.Value(key + ".thread"); thread != "" && place != "" && slices.Contains(keys, "at") {
		form.Thread = thread
		form.Ordinal = slices.IndexFunc(f.sc.Threads, func(t scenario.Thread) bool { return t.Name == thread })
	}
	form.Mistakes = f.rest(key)
	return form
}

// repeats reports whether a fault's thread makes several rounds.
func (f *former) repeats(fault string) bool {
	name, _ := f.d.Value(fault + ".thread")
	return slices.ContainsFunc(f.sc.Threads, func(t scenario.Thread) bool { return t.Name == name && t.Repeat > 1 })
}

func (f *former) faultField(key, name, do string) Field {
	key += "." + name
	place, _ := f.d.Value(strings.TrimSuffix(key, name) + "at")
	switch name {
	case "do":
		return f.faultKind(key)
	case "thread":
		return f.faultThread(key, do, place)
	case "at":
		return f.place(key, do)
	case "level":
		one := f.input(key, "1")
		if place == fault.AtRenew {
			one.Default = f.l.Say("any")
		}
		return one
	case "error":
		var codes Choices
		for _, a := range fault.ErrorReplies() {
			codes.List = append(codes.List, Choice{Value: a.Code, Label: f.answerLabel(a)})
		}
		return f.choice(key, "", codes)
	case "for":
		one := f.input(key, "")
		if k, _ := fault.Struck(do, place); slices.Contains(k.Optional, "for") {
			one.Hint = f.l.Say("Empty: until Redis is up.")
			if place != "" {
				one.Hint = f.l.Say("Empty: this one command.")
			}
		}
		return one
	case "round", "command", "behind", "replica", "node":
		return f.input(key, "1")
	case "scope":
		return f.input(key, fault.ScopeAll)
	case "keep":
		return f.input(key, "false")
	default:
		return f.input(key, "")
	}
}

func (f *former) faultKind(key string) Field {
	thread, redis := Choices{Label: f.l.Say("In a thread")}, Choices{Label: f.l.Say("To Redis")}
	for _, k := range f.sc.FaultKinds() {
		one := Choice{Value: k.Name, Label: f.l.Say(k.Label)}
		if len(k.Places) > 0 {
			thread.List = append(thread.List, one)
		} else {
			redis.List = append(redis.List, one)
		}
	}
	groups := []Choices{thread}
	if len(redis.List) > 0 {
		groups = append(groups, redis)
	}
	return f.choice(key, "", groups...)
}

func (f *former) faultThread(key, do, at string) Field {
	var names []string
	for _, t := range f.sc.Threads {
		if t.Name != "" {
			names = append(names, t.Name)
		}
	}
	list := plainChoices(names...)
	if k, _ := fault.Struck(do, at); k.Alone && !k.One {
		list.List = append([]Choice{f.option("", "everybody")}, list.List...)
		one := f.choice(key, "", list)
		one.Label = f.l.Say("For")
		return one
	}
	return f.choice(key, "", list)
}

func (f *former) place(key, do string) Field {
	var list Choices
	for _, k := range f.sc.FaultKinds() {
		if k.Name != do {
			continue
		}
		if k.Wide != nil {
			list.List = append(list.List, f.option("", "everywhere: every command, from an instant on"))
		}
		list.List = append(list.List, f.options(key, k.Places)...)
	}
	return f.choice(key, "", list)
}

// answerLabel says to which commands Redis answers so.
func (f *former) answerLabel(a fault.ErrorReply) string {
	switch a.Refused {
	case fault.Writing:
		return f.l.Say("%s: to what would write", a.Code)
	case fault.Growing:
		return f.l.Say("%s: to what needs memory", a.Code)
	case fault.ByDigest:
		return f.l.Say("%s: to a script that is sent by its digest", a.Code)
	default:
		return f.l.Say("%s: to every command", a.Code)
	}
}

// kept returns what the form has no inputs for, in words.
func (f *former) kept() []string {
	var list []string
	if n := f.d.Len("schedule"); n > 0 {
		list = append(list, f.l.Say("Its schedule, with %d entries: who moves, decision by decision.", n))
	}
	if f.d.Has("expect") {
		list = append(list, f.l.Say("Expected: the rules that break, and how each thread ends."))
	}
	return list
}

var below = regexp.MustCompile(`^[^.\[]+$|^\[\d+\]$`)

// rest returns the mistakes of a part that no input shows: its own, and the mistakes of
// the keys right below it that have no input.
func (f *former) rest(key string) []string {
	var list []string
	for at, found := range f.mistakes {
		name, under := strings.CutPrefix(at, key)
		name = strings.TrimPrefix(name, ".")
		if f.used[at] || !under || at != key && !below.MatchString(name) {
			continue
		}
		if key == "" && slices.Contains([]string{"lock", "resource", "threads", "defaults", "faults"}, at) {
			continue // shown there
		}
		for _, one := range found {
			if at == key || at == "" {
				list = append(list, one)
			} else {
				list = append(list, name+": "+one)
			}
		}
	}
	slices.Sort(list)
	return list
}

// SlowMotion returns the factor of slow motion in a form's values; 1 on the
// virtual clock, which needs none. It returns false if the factor is not from 1
// to scenario.MaxSlow.
func SlowMotion(v url.Values) (int, bool) {
	text := strings.TrimSpace(v.Get("slow"))
	if text == "" || StoreOf(v, true) == StoreVirtual {
		return 1, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= scenario.MaxSlow
}

// StoreOf returns where a form's values want the scenario to run: on the virtual
// clock unless they say otherwise, and if there is no external Redis.
func StoreOf(v url.Values, external bool) string {
	switch s := v.Get("store"); {
	case s == StoreWall, s == StoreExternal && external:
		return s
	default:
		return StoreVirtual
	}
}
