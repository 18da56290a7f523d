package page

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

// Play is the page on which a scenario is stepped.
type Play struct {
	Page     Page
	Shows    string  // what is seen in it, in one line
	Incident *Staged // that it stages, nil for none
	Viewer   Viewer
	Ending   Ending
	Gallery  []Group
	Example  string // of it, the one that is stepped; "" for another scenario
	Scenario string // what to open, as a link; "" leaves it to the address
	Text     string // the same as YAML, to run it as a whole
	Files    []File // of the run, for people to save
	Faults   []FaultKind
	Errors   []string // with which Redis can be made to answer
	Calls    []string // a fault on the way waits for one of them
	FaultFor string   // how long a fault lasts unless a person says otherwise
	FaultBy  string   // how far a clock jumps
	Locks    []string // that can be compared
	// Summaries say of each of them what it is, in one line.
	Summaries map[string]string
	Problem   string // why what was asked for is not shown
	Reach     Reach
	Row       int    // where the page is in it, 0: at its end
	Elsewhere bool   // it opens elsewhere than at the start, which the page shows at first
	Room      string // the code of the room that the visitor came from, "" for none
	Scene     string // of the room then
}

// Reach is how far links go that are made on a page.
type Reach struct {
	Alone     bool     // they open on this computer only
	Addresses []string // origins that others in the network may reach, the likeliest first
}

// Strike is a fault with its details, to be struck by one press.
type Strike struct {
	Label string
	Title string
	Move  string // what the page sends, JSON
}

// ThreadStrikes are the faults of a thread that are always at hand.
func ThreadStrikes(l words.Language, thread string) []Strike {
	pause, _ := fault.Named(fault.Pause)
	return []Strike{
		{l.Say("pause"), l.Say("Pause %s for %s", thread, l.Duration(pause.For)), byHand(fault.Pause, thread, "")},
		{l.Say("crash"), l.Say("Crash %s", thread), byHand(fault.Crash, thread, "")},
		{l.Say("lose reply"), l.Say("Lose the reply to the next unlock of %s", thread), byHand(fault.LoseReply, thread, fault.AtUnlock)},
		{l.Say("late copy"), l.Say("The next lock request of %s seems lost, and arrives later", thread), byHand(fault.LateCopy, thread, fault.AtLock)},
	}
}

// RedisStrikes are the faults of Redis that are always at hand.
func RedisStrikes(l words.Language, s film.Scenario) []Strike {
	list := []Strike{
		{l.Say("restart empty"), l.Say("Redis restarts without its data"), byHand(fault.Restart, "", "")},
		{l.Say("fail over"), l.Say("A replica without the last write takes over"), byHand(fault.FailOver, "", "")},
		{l.Say("clock +1 s"), l.Say("The clock of Redis jumps by a second"), byHand(fault.ClockJump, "", "")},
		{l.Say("evict key"), l.Say("Redis evicts the key"), byHand(fault.Evict, "", "")},
	}
	if s.Unheard > 0 {
		other := Strike{l.Say("fail over to %d", s.Unheard), l.Say("Replica %d takes over, which no thread has waited for", s.Unheard), failsOverTo(s.Unheard)}
		list = slices.Insert(list, 2, other)
	}
	return list
}

// byHand is a fault as its kind has it by hand, in JSON.
func byHand(name, thread, at string) string { return struckBy(name, thread, at, 0) }

// failsOverTo is a fail-over to a replica, in JSON.
func failsOverTo(replica int) string { return struckBy(fault.FailOver, "", "", replica) }

func struckBy(name, thread, at string, replica int) string {
	k, _ := fault.Named(name)
	move, err := json.Marshal(struct {
		Do     string `json:"do"`
		Thread string `json:"thread,omitempty"`
		At     string `json:"at,omitempty"`
		For    string `json:"for,omitempty"`
		By     string `json:"by,omitempty"`
		Behind int    `json:"behind,omitempty"`
		Error  string `json:"error,omitempty"`

		Replica int `json:"replica,omitempty"`
	}{k.Name, thread, at, length(k.For), length(k.By), k.Behind, k.Error, replica})
	if err != nil {
		panic("view: a fault that cannot be written: " + err.Error())
	}
	return string(move)
}

// length is a length of time as scenarios word it, "" for none.
func length(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return phrase.Duration(d)
}

// FaultKind is a fault that can be struck by hand.
type FaultKind struct {
	Do     string
	Label  string
	Thread bool // it happens to a thread
	At     bool // at its next call of a kind
	For    bool // for a length of time
	By     bool // by a length of time
	Behind bool // so many writes
	Keep   bool // with its data
	Error  bool // with an error
}

// SetFaults fills in what the dialog offers, in l.
func (p *Play) SetFaults(l words.Language) {
	pause, _ := fault.Named(fault.Pause)
	jump, _ := fault.Named(fault.ClockJump)
	p.Faults, p.Calls, p.Errors, p.FaultFor, p.FaultBy = FaultKinds(l), fault.Calls(), fault.Codes(), length(pause.For), length(jump.By)
}

// SetLocks sets which locks can be compared, in l.
func (p *Play) SetLocks(l words.Language) {
	p.Locks, p.Summaries = exhibit.Names(), map[string]string{}
	for _, name := range p.Locks {
		p.Summaries[name] = l.Say(exhibit.Named(name).Summary)
	}
}

// FaultKinds lists them in l, those of threads first.
func FaultKinds(l words.Language) []FaultKind {
	var list []FaultKind
	for _, k := range fault.Kinds() {
		has := func(field string) bool {
			return slices.Contains(k.ByHand(), field) && !slices.Contains(k.Optional, field)
		}
		list = append(list, FaultKind{
			Do: k.Name, Label: l.Say(k.Button), Thread: k.Target != fault.Redis || k.One, At: k.AwaitsCall(),
			For: has("for"), By: has("by"), Behind: has("behind"), Keep: has("keep"), Error: has("error"),
		})
	}
	return list
}

// Kind is a kind of fault that a search may have strike.
type Kind struct{ Name, Label string }

// Outlook is what becomes of where you are, in words.
type Outlook struct {
	Here    string   // what follows from here, "" where the search does not know it
	Tone    string   // a space.Tone
	Lost    string   // from where on every order breaks a rule, or ""
	Parting *Parting // from another branch, nil without one
}

// Decision words in l what a move decides where these are the options, as a
// clause.
func Decision(l words.Language, list []run.Option, m scenario.Move) string {
	switch {
	case m.Until > 0:
		return l.Say("nobody moves until %s", l.Duration(m.Until))
	case m.Fault != nil:
		k, _ := fault.Struck(m.Fault.Do, m.Fault.At)
		if m.Fault.Thread == "" {
			return l.Say(k.Button)
		}
		return l.Say("%s: %s", m.Fault.Thread, l.Say(k.Button))
	}
	for _, o := range list {
		if o.Choice == m.Choice {
			return l.Say("%s: %s", o.Thread, NewOptions(l, []run.Option{o})[0].Does)
		}
	}
	return l.Say("somebody moves once time has passed")
}

// Struck is the name of the button with which a person lets a fault strike.
func Struck(l words.Language, f scenario.Fault) string {
	list := append(ThreadStrikes(l, f.Thread), RedisStrikes(l, film.Scenario{})...)
	at := slices.IndexFunc(list, func(s Strike) bool { return s.Move == byHand(f.Do, f.Thread, f.At) })
	switch {
	case at < 0:
		return Decision(l, nil, scenario.Move{Fault: &f})
	case f.Thread != "":
		return l.Say("%s: %s", f.Thread, list[at].Label)
	default:
		return list[at].Label
	}
}

// Button is the name of the button that makes an option's move, as the dock has it.
func (o Option) Button() string {
	return strings.TrimSpace(cmp.Or(o.Name, o.Thread) + " " + o.Verb)
}

// Option is what a thread would do next, or why it cannot move, in words. Its button has two
// lines, neither ever cut: who and what, then when and which call. The title has all of it,
// as sentences.
type Option struct {
	Thread     string `json:"thread"`
	Background bool   `json:"background,omitempty"`
	Node       int    `json:"node,omitempty"`    // that it asks in the background, or sent this to
	Network    bool   `json:"network,omitempty"` // a request of it that was held up
	Can        bool   `json:"can"`               // when it is its turn
	Choice     int    `json:"choice"`
	Nth        int    `json:"nth,omitempty"`   // of a lab: of several commands of the thread, which
	Name       string `json:"name,omitempty"`  // who, where it is not the thread: "A's watchdog"
	Verb       string `json:"verb,omitempty"`  // "asks again", "" where it does nothing
	When       string `json:"when,omitempty"`  // "at 150 ms"
	Which      string `json:"which,omitempty"` // "4 of 5"
	Does       string `json:"does"`            // "asks again: EXISTS … in lock, level 1, retry 4"
	Why        string `json:"why,omitempty"`   // it cannot: "waits until 150 ms"
	Armed      string `json:"armed,omitempty"` // faults that wait for their moment
}

// NewOptions words in l what every thread would do.
func NewOptions(l words.Language, list []run.Option) []Option {
	out := make([]Option, 0, len(list))
	ready := slices.ContainsFunc(list, func(o run.Option) bool { return o.Choice >= 0 })
	first := time.Duration(-1)
	for _, o := range list {
		if (o.Reason == run.Waits || o.Reason == run.IsPaused) && o.Next != run.NextNothing && (first < 0 || o.At < first) {
			first = o.At
		}
	}
	for _, o := range list {
		next := Option{Thread: o.Thread, Background: o.Background, Network: o.Network, Choice: o.Choice}
		if o.Background || o.Network {
			next.Node = o.Node
		}
		next.does(l, o)
		next.cannot(l, o)
		if len(o.Armed) > 0 {
			next.Armed, next.Which = l.Say("⚡ waiting to strike: %s", armed(l, o.Armed)), "⚡ "+armedInShort(l, o.Armed)
		}
		next.Can = o.Choice >= 0 || !ready && o.At == first && o.Next != run.NextNothing
		if next.Can && o.Choice < 0 {
			next.Why = l.Say("%s: time passes first", next.Why)
		}
		out = append(out, next)
	}
	return out
}

// armed lists faults, each with the call that it waits for.
func armed(l words.Language, faults []scenario.Fault) string {
	names := make([]string, 0, len(faults))
	for _, f := range faults {
		name := l.Clause(fault.Word(f.Do))
		if f.At != "" {
			name = l.Say("%s (%s)", name, f.At)
		}
		names = append(names, name)
	}
	return strings.Join(names, l.Say(", "))
}

// armedInShort is the first of some faults, and how many there are besides.
func armedInShort(l words.Language, faults []scenario.Fault) string {
	name := strings.ReplaceAll(l.Clause(fault.Word(faults[0].Do)), "-", " ")
	if more := len(faults) - 1; more > 0 {
		name += " +" + strconv.Itoa(more)
	}
	return name
}

// does words what comes next.
func (o *Option) does(l words.Language, of run.Option) {
	if of.At > 0 && of.Choice < 0 {
		o.When = l.Say("at %s", l.Duration(of.At))
	}
	call, command := callInShort(l, of), commandInWords(l, of)
	say := func(verb, which, command string) {
		o.Verb, o.Which, o.Does = verb, which, l.Say("%s: %s", verb, command)
	}
	retry := of.Call.Attempt - 1
	switch {
	case of.Next == run.NextNothing:
	case of.Next == run.NextArrive:
		o.Name, o.Which, o.Does = l.Say("%s's late %s", of.Thread, of.Call.Name), l.Say("arrives"), l.Say("arrives late: %s", levelInWords(l, of.Call))
	case of.Next == run.NextCopy:
		o.Name, o.Which, o.Does = l.Say("%s's late copy", of.Thread), of.Call.Name, l.Say("late copy of %s", levelInWords(l, of.Call))
	case of.Node > 0:
		say(l.Say("asks node %d", of.Node), of.First, command)
	case of.Next == run.NextRenew:
		o.Which, o.Does = strings.TrimSpace(l.Say("renews")+" "+words.Short(of.Lock, shortKey)), command
	case of.Next == run.NextStart:
		say(l.Say("starts"), call, command)
	case of.Next == run.NextWork:
		say(l.Say("ends its work"), call, command)
	case of.Next == run.NextEnd:
		say(l.Say("gives up"), l.Say("no retry is left"), l.Say("no retry is left"))
	case of.Handed:
		o.Verb, o.Does = l.Say("hears of its lock"), l.Say("hears that the lock is now its own")
	case of.Next == run.NextRetry && retry > 0 && of.Call.Name == lock.CallLock && of.Retries != scenario.Unlimited:
		say(l.Say("asks again"), l.Say("%d of %d", retry, of.Retries), command)
	case of.Next == run.NextRetry && retry > 0 && of.Call.Name == lock.CallLock:
		say(l.Say("asks again"), l.Say("retry %d", retry), command)
	case of.Next == run.NextRetry && retry > 0 && !inRounds(of.Call):
		say(l.Say("repeats %s", of.Call.Name), l.Say("retry %d", retry), command)
	case of.Next == run.NextCall && of.First != "":
		o.Verb, o.Which, o.Does = l.Say("sends %s", of.First), call, l.Say("sends %s", command)
	default:
		say(l.Say("goes on"), call, command)
	}
	if of.Next == run.NextRenew {
		o.Name, o.Does = l.Say("%s's watchdog", of.Thread), l.Say("watchdog: %s", o.Does)
	}
	if of.Network && of.Node > 0 {
		o.Name, o.Verb = "", l.Say("→ node %d", of.Node)
	}
	if of.Call.GivesBack {
		o.Does = l.Say("gives back a lock that it may have acquired: %s", o.Does)
	}
}

// cannot words why it does not come now.
func (o *Option) cannot(l words.Language, of run.Option) {
	at := l.Duration(of.At)
	switch of.Reason {
	case "":
		return
	case run.Waits:
		switch {
		case of.Next == run.NextWork:
			o.Why = l.Say("works until %s", at)
		case of.Network:
			o.Why = l.Say("on its way until %s", at)
		default:
			o.Why = l.Say("waits until %s", at)
		}
		return
	case run.IsPaused:
		o.Why = l.Say("paused until %s", at)
		if of.Next == run.NextWork {
			o.Why = l.Say("paused; its work ends at %s", at)
		}
		switch {
		case of.Background || of.Network:
		case of.Next == run.NextWork:
			o.Verb, o.When, o.Which = l.Say("is paused"), l.Say("works until %s", at), ""
		default:
			o.Verb, o.When = l.Say("is paused"), l.Say("until %s", at)
		}
		return
	case run.Hangs:
		o.Why = l.Say("hangs for ever")
	case run.AwaitsOwn:
		o.Why = l.Say("waits for its watchdog")
	case run.AwaitsNode:
		o.Why = l.Say("waits for the nodes")
	case run.AwaitsLate:
		o.Why = l.Say("waits for an answer")
	default:
		o.Why = l.Say("ended with the run")
	}
	o.Verb, o.When, o.Which = "", "", o.Why
	if of.Ended != "" {
		o.Which, o.Why = film.Result(l, of.Ended), l.Say("ended: %s", film.Result(l, of.Ended))
	}
}

// shortKey is how much of a lock's key a button shows, in bytes.
const shortKey = 16

// inRounds is whether a call is one of a device's rounds, which no attempt before has failed.
func inRounds(c lock.Call) bool { return c.Name == trace.CallBeat || c.Name == trace.CallLook }

// callInShort names the call that an option comes with, and its level from the second on.
func callInShort(l words.Language, o run.Option) string {
	switch {
	case o.Lock != "":
		return o.Call.Name + " " + words.Short(o.Lock, shortKey)
	case inRounds(o.Call):
		return callInWords(l, o.Call)
	case o.Call.Level > 1:
		return levelInWords(l, o.Call)
	}
	return o.Call.Name
}

// commandInWords is the first command of the call that an option comes with, and the call.
func commandInWords(l words.Language, o run.Option) string {
	switch {
	case o.First == "":
		return callInWords(l, o.Call)
	case o.Lock != "":
		return l.Say("%s %s … in %s", o.First, o.Lock, o.Call.Name)
	}
	return l.Say("%s … in %s", o.First, callInWords(l, o.Call))
}
