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
	f := &former{l: l, d: d, sc: sc, mistakes: map[string][]string{}, used: map[string]bool{}}
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
	form.Retry = FormPart{Fields: f.retry("lock.retry", f.sc.Lock.Retry)}
	form.Lock.Mistakes = append(form.Lock.Mistakes, f.rest("lock.retry")...)
	form.Own, form.Scripts = f.sc.Lock.Own(), f.scripts()
	form.Lock.Mistakes = append(form.Lock.Mistakes, f.rest("lock")...)
	for i := range min(f.d.Len("threads"), scenario.MaxThreads) {
		form.Threads = append(form.Threads, f.thread(i))
	}
	form.ListWrong = f.rest("threads")
	usual := scenario.Thread{}
	if bare, _ := scenario.Draft([]byte("threads: [{name: A}]")); bare != nil {
		usual = bare.Threads[0]
	}
	usual.Name, usual.Retry = "", f.sc.Lock.Retry
	form.Defaults.Fields = append(f.work("defaults", usual), f.seldom("defaults", usual)...)
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

// field returns a text input, with the default that applies while it is empty.
func (f *former) field(key string, label phrase.Text, usual string) Field {
	value, _ := f.d.Value(key)
	f.used[key] = true
	return Field{Name: key, Label: f.l.Say(label), Value: value, Default: usual, Mistakes: f.mistakes[key]}
}

func (f *former) digits(key string, label phrase.Text, usual int) Field {
	one := f.field(key, label, strconv.Itoa(usual))
	one.Numeric = true
	return one
}

// choice returns a select. A missing key has the value "", and shows the
// default.
func (f *former) choice(key string, label phrase.Text, usual string, groups ...Choices) Field {
	one := f.field(key, label, "")
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

// wide returns a field for sentences.
func (f *former) wide(one Field) Field {
	one.Wide = true
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
	title := f.field("title", "Title", "")
	title.Wide = true
	kind := f.choice("kind", "What the threads do", scenario.KindLock, Choices{List: []Choice{
		f.option(scenario.KindLock, "work under a lock"),
		f.option(scenario.KindHeartbeat, "heartbeat: the first thread keeps its key alive, the others look"),
	}})
	policy := f.choice("policy", "Who moves when several can", scenario.PolicyInOrder, Choices{List: []Choice{
		f.option(scenario.PolicyInOrder, "in-order: the thread that has been ready longest"),
		f.option(scenario.PolicyRandom, "random: drawn by the seed"),
	}})
	seed := f.field("seed", "Seed", "1")
	kind.Wide, policy.Wide, seed.Wide, seed.Numeric = true, true, true, true
	seed.Hint = f.l.Say("Settles every random choice: the same seed gives the same run.")
	return FormPart{Fields: []Field{title, kind, policy, seed}}
}

func (f *former) lock() FormPart {
	lock := f.sc.Lock
	var groups Choices
	summary := ""
	for _, p := range exhibit.All() {
		groups.List = append(groups.List, Choice{Value: p.Name, Label: p.Name})
		if p.Name == lock.Protocol {
			summary = f.l.Say(p.Summary)
		}
	}
	groups.List = append(groups.List, f.option(protocol.Own, "own: you write its scripts"))
	name := f.choice("lock.protocol", "Lock", exhibit.All()[0].Name, groups)
	name.Hint, name.Wide = summary, true
	key := f.field("lock.key", "Key in Redis", lock.Key)
	key.Wide = true // so that the lease and the watchdog are beside each other
	fields := []Field{name}
	if f.ofOneLock("lock.key") {
		fields = append(fields, key)
	}
	if f.sc.Locks != nil || f.d.Has("locks") {
		several := f.wide(f.field("locks", "Several locks: their keys", ""))
		several.Hint = f.l.Say("With spaces between. Each thread says in which order it takes them.")
		fields = append(fields, several)
	}
	fields = append(fields,
		f.field("lock.lease", "Lease", phrase.Duration(lock.Lease)),
	)
	if lock.Implementation().HasWatchdog() || f.d.Has("lock.watchdog") {
		watchdog := phrase.Duration(lock.Watchdog)
		if lock.Watchdog == 0 {
			watchdog = "off"
		}
		most := f.field("lock.max-hold", "Renews for at most", "1h")
		if lock.MaxHold > 0 {
			most.Default = phrase.Duration(lock.MaxHold)
		}
		most.Hint = f.l.Say("Then the watchdog stops and the lease runs out: a hanging holder does not keep the lock for ever.")
		fields = append(fields, f.field("lock.watchdog", "Watchdog, or off", watchdog), f.wide(most))
	}
	if lock.Implementation().CanKeep() && f.ofOneLock("lock.keep") || f.d.Has("lock.keep") {
		keep := f.wide(f.field("lock.keep", "Keeps its key after the work for", ""))
		keep.Hint = f.l.Say("A tick that is done once in this time, even by several servers: the last release leaves the key.")
		fields = append(fields, keep)
	}
	if lock.Implementation().CanSync() && f.ofOneLock("lock.wait") || f.d.Has("lock.wait") {
		wait := f.wide(f.field("lock.wait", "Waits for replicas", ""))
		wait.Hint = f.l.Say("For example 1 of 2 in 50ms: the thread relies on a lock or a renewal once one of two replicas has acknowledged it.")
		fields = append(fields, wait)
	}
	if f.d.Has("lock.min-replicas") {
		fields = append(fields, f.wide(f.field("lock.min-replicas", "A master takes writes while it hears from", "")))
	}
	if lock.Own() || f.d.Has("lock.kind") {
		kind := f.wide(f.field("lock.kind", "Who may be inside at once", check.Kind{Exclusive: true}.String()))
		kind.Hint = f.l.Say("%s; readers share it while the key is a hash whose field mode is read.", check.Kinds)
		fields = append(fields, kind)
	}
	if lock.Nodes > 1 || f.d.Has("lock.nodes") {
		fields = append(fields, f.digits("lock.nodes", "Redis nodes", lock.Nodes))
	}
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
	like := f.choice("lock.like", "Start from", "", names)
	like.Hint = f.l.Say("Its scripts replace yours. A script that you leave empty is that lock's own.")
	if lock.Like == "" {
		like.Hint = f.l.Say("Choose an existing lock, and its scripts replace yours.")
	}
	part := FormPart{Fields: []Field{like, f.shape()}}
	for _, call := range lock.Calls() {
		one := f.field("lock.scripts."+call, "", "")
		one.Label, one.Code, one.Hint = call, true, f.given(call)
		part.Fields = append(part.Fields, one)
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

// shape returns the choice of what one's own scripts get and return.
func (f *former) shape() Field {
	is := f.sc.Lock.Shape()
	list := []Choice{f.option("", "Relock's: owner, level, lease in milliseconds; 1 is yes, 0 is no")}
	for _, s := range scenario.Shapes() {
		list = append(list, f.option(s.Name, s.Title))
	}
	if is == scenario.OtherShape {
		list = append(list, f.option(is, "as the YAML says"))
	}
	for i := range list {
		list[i].Selected = list[i].Value == is
	}
	hint := f.l.Say("As the scripts were printed. In the YAML: args, replies.")
	return Field{Name: "lock.shape", Label: f.l.Say("What they get and return"), Choices: []Choices{{List: list}}, Hint: hint}
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

func (f *former) retry(key string, r scenario.Retry) []Field {
	fields := []Field{
		f.field(key+".times", "Retries, or unlimited", retriesInWords(r.Times)),
		f.field(key+".interval", "Retry every", phrase.Duration(r.Interval)),
		f.field(key+".jitter", "Jitter on top", scenario.Range{Min: r.JitterMin, Max: r.JitterMax}.String()),
	}
	if f.sc.Locks != nil || f.d.Has(key+".give-back") {
		back := f.wide(f.choice(key+".give-back", "Refused its second lock", strconv.FormatBool(r.GiveBack), Choices{List: []Choice{
			f.option("false", "it keeps the first, and asks again"), f.option("true", "it gives the first back, and starts over"),
		}}))
		fields = append(fields, back)
	}
	if f.d.Has(key + ".wait") {
		fields = append(fields, f.choice(key+".wait", "How it waits", r.Wait, plainChoices(scenario.WaitPoll, scenario.WaitNotify)))
	}
	return fields
}

// retriesInWords returns how often an acquisition is retried, as scenarios
// write it.
func retriesInWords(times int) string {
	if times == scenario.Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(times)
}

// checksMean says what each check refuses.
var checksMean = map[string]phrase.Text{
	scenario.ChecksToken:   "token: refuses a write with an older fencing token",
	scenario.ChecksVersion: "version: refuses a write by a thread that read an older version",
	scenario.ChecksKey:     "key: once for each idempotency key",
}

func (f *former) resource() FormPart {
	kind := f.choice("resource.kind", "What the lock protects", "", Choices{List: []Choice{
		f.option("", "nothing watched"),
		f.option(scenario.KindCounter, "counter: work reads it, and writes one more"),
		f.option(scenario.KindStock, "stock: work checks whether any is left, and takes one"),
		f.option(scenario.KindPurchases, "purchases: work checks how often its user has bought, and buys within the limit"),
		f.option(scenario.KindEffect, "effect: work checks whether it was done, and does it if not: a mail, an invoice"),
	}})
	kind.Wide = true
	fields := []Field{kind}
	if r := f.sc.Resource; r != nil || f.d.Has("resource") {
		size := 0
		if r != nil {
			size = r.Size
		}
		fields = append(fields, f.digits("resource.size", "It begins with", size))
		if limited := r != nil && r.Kind == scenario.KindPurchases; limited || f.d.Has("resource.limit") {
			limit := 1
			if limited {
				limit = r.Limit
			}
			fields = append(fields, f.digits("resource.limit", "Allowed for each user", limit))
		}
		if effect := r != nil && r.Kind == scenario.KindEffect; effect || f.d.Has("resource.looks") || f.d.Has("resource.once-per") {
			fields = append(fields,
				f.choice("resource.looks", "Before it does it", "true", Choices{List: []Choice{
					f.option("true", "it checks whether it was done"), f.option("false", "it does not check"),
				}}),
				f.field("resource.once-per", "Due once in", ""))
		}
		kind := ""
		if r != nil {
			kind = r.Kind
		}
		checks := []Choice{f.option("", "every write")}
		for _, one := range scenario.ChecksOf(kind) {
			checks = append(checks, f.option(one, checksMean[one]))
		}
		fields = append(fields, f.wide(f.choice("resource.checks", "It takes", "", Choices{List: checks})))
	}
	return FormPart{Fields: fields, Mistakes: f.rest("resource")}
}

// work returns the thread's inputs that nearly every scenario uses.
func (f *former) work(key string, t scenario.Thread) []Field {
	fields := []Field{f.field(key+".start", "Starts at", phrase.Duration(t.Start))}
	if f.sc.Locks != nil || f.d.Has(key+".takes") {
		fields = append(fields, f.wide(f.field(key+".takes", "Takes, in this order", strings.Join(t.Takes.Keys(), " "))))
	}
	if f.ofOneLock(key + ".depth") {
		fields = append(fields, f.digits(key+".depth", "Depth", t.Depth))
	}
	return append(fields, f.field(key+".work", "Work per level", t.Work.String()))
}

// ofOneLock reports whether to show a key that only a scenario with one lock has.
func (f *former) ofOneLock(key string) bool { return f.sc.Locks == nil || f.d.Has(key) }

// seldom returns the thread's other inputs.
func (f *former) seldom(key string, t scenario.Thread) []Field {
	var fields []Field
	if f.ofOneLock(key + ".after") {
		after := f.field(key+".after", "Work after the inner call", t.After.String())
		after.Hint = f.l.Say("What each level but the innermost still does when its inner call has returned.")
		fields = append(fields, f.wide(after))
	}
	calls := f.field(key+".calls", "Functions", t.Calls)
	calls.Hint = f.l.Say("What the levels are called in the call stack, outermost first: order pay")
	fields = append(append(fields, f.wide(calls), f.digits(key+".repeat", "Rounds", t.Repeat)), f.retry(key+".retry", t.Retry)...)
	lost := f.choice(key+".on-lost", "When it loses its lease", t.OnLost, Choices{List: []Choice{
		f.option(scenario.OnLostIgnore, "ignore: it works on"), f.option(scenario.OnLostStop, "stop: it looks, and stops"),
	}})
	process := f.field(key+".process", "Process", t.Process)
	process.Hint = f.l.Say("A server, for instance: its threads share its memory.")
	drift := f.field(key+".drift", "Drift of its clock", t.Drift.String())
	drift.Hint = f.l.Say("How much faster its clock runs than the others; with a - slower: -5%.")
	resends := f.digits(key+".client-retries", "Requests its client repeats", t.ClientRetries)
	resends.Hint = f.l.Say("How often the client library repeats a request by itself when it gets no answer. The lock does not know.")
	fields = append(fields, f.wide(lost), f.wide(process), f.wide(drift), f.wide(resends))
	if r := f.sc.Resource; r != nil && r.Kind == scenario.KindPurchases || f.d.Has(key+".user") {
		user := f.field(key+".user", "User", t.BuysFor())
		user.Hint = f.l.Say("Who buys: the limit is for each user.")
		fields = append(fields, f.wide(user))
	}
	return fields
}

func (f *former) thread(i int) FormThread {
	key := "threads[" + strconv.Itoa(i) + "]"
	var t scenario.Thread
	if i < len(f.sc.Threads) {
		t = f.sc.Threads[i]
	}
	name := f.field(key+".name", "Name", "")
	name.Late = true
	form := FormThread{Index: i, Name: name.Value, Main: FormPart{Fields: append([]Field{name}, f.work(key, t)...)}}
	form.More.Fields = f.seldom(key, t)
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
	for _, name := range fault.Keys() {
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
	switch name {
	case "do":
		return f.faultKind(key, do)
	case "thread":
		return f.faultThread(key, do)
	case "at":
		return f.place(key, do)
	case "time":
		return f.field(key, "At the time", "")
	case "level":
		if at, _ := f.d.Value(strings.TrimSuffix(key, "level") + "at"); at == fault.AtRenew {
			one := f.field(key, "Level", "")
			one.Default, one.Numeric = f.l.Say("any"), true
			return one
		}
		return f.digits(key, "Level", 1)
	case "round":
		return f.digits(key, "Round", 1)
	case "command":
		return f.digits(key, "Command of the call", 1)
	case "error":
		var codes Choices
		for _, a := range fault.ErrorReplies() {
			codes.List = append(codes.List, Choice{Value: a.Code, Label: f.answerLabel(a)})
		}
		return f.wide(f.choice(key, "What Redis answers", "", codes))
	case "for":
		at, _ := f.d.Value(strings.TrimSuffix(key, "for") + "at")
		one := f.field(key, "For how long", "")
		if k, _ := fault.Struck(do, at); slices.Contains(k.Optional, "for") {
			one.Hint = f.l.Say("Empty: until Redis is up.")
			if at != "" {
				one.Hint = f.l.Say("Empty: this one command.")
			}
		}
		return one
	case "scope":
		return f.wide(f.choice(key, "What is paused", fault.ScopeAll, Choices{List: []Choice{
			f.option(fault.ScopeAll, "all: the whole thread, its watchdog too"), f.option(fault.ScopeWork, "work: the watchdog goes on"),
		}}))
	case "by":
		one := f.field(key, "By", "")
		one.Hint = f.l.Say("-1s turns the clock back.")
		return one
	case "behind":
		return f.digits(key, "Writes that the replica lacks", 1)
	case "replica":
		return f.digits(key, "Replica that takes over", 1)
	case "lose":
		one := f.field(key, "Loses the writes of the last", "")
		one.Hint = f.l.Say("An append-only file synced every second loses 1s. Empty: all, unless it keeps its data.")
		return f.wide(one)
	case "keep":
		return f.choice(key, "It comes back", "false", Choices{List: []Choice{f.option("false", "empty"), f.option("true", "with its data")}})
	default:
		return f.digits(key, "Node", 1)
	}
}

func (f *former) faultKind(key, do string) Field {
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
	one := f.choice(key, "What goes wrong", "", groups...)
	one.Wide = true
	return one
}

func (f *former) faultThread(key, do string) Field {
	var names []string
	for _, t := range f.sc.Threads {
		if t.Name != "" {
			names = append(names, t.Name)
		}
	}
	list := plainChoices(names...)
	at, _ := f.d.Value(strings.TrimSuffix(key, "thread") + "at")
	if k, _ := fault.Struck(do, at); k.Alone && !k.One {
		list.List = append([]Choice{f.option("", "everybody")}, list.List...)
		return f.choice(key, "For", "", list)
	}
	return f.choice(key, "Thread", "", list)
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
		for _, p := range k.Places {
			list.List = append(list.List, f.option(p, placeLabel(p)))
		}
	}
	return f.wide(f.choice(key, "Where", "", list))
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

func placeLabel(place string) phrase.Text {
	switch place {
	case fault.AtStart:
		return "start: before its first call"
	case fault.AtLock:
		return "lock: as it asks for the lock"
	case fault.AtWork:
		return "work: as its work begins"
	case fault.AtUnlock:
		return "unlock: as it leaves a level"
	default:
		return "renew: as its watchdog renews"
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
