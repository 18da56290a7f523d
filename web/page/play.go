package page

import (
	"encoding/json"
	"slices"
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
	Shows    string // what is seen in it, in one line
	Incident string // the ID of the one that it stages, "" for none
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
			return l.Say("%s: %s", o.Thread, does(l, o))
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
func (o Option) Button(l words.Language) string {
	switch {
	case o.Network && o.Node > 0:
		return l.Say("Deliver what %s sent to node %d", o.Thread, o.Node)
	case o.Network:
		return l.Say("Deliver what %s sent", o.Thread)
	case o.Node > 0:
		return l.Say("Step %s at node %d", o.Thread, o.Node)
	case o.Background:
		return l.Say("Step %s's watchdog", o.Thread)
	default:
		verb, _, _ := strings.Cut(strings.ReplaceAll(o.Does, "：", ":"), ":")
		return o.Thread + " " + verb
	}
}

// Option is what a thread would do next, or why it cannot move.
type Option struct {
	Thread     string `json:"thread"`
	Background bool   `json:"background,omitempty"`
	Node       int    `json:"node,omitempty"`    // that it asks in the background, or sent this to
	Network    bool   `json:"network,omitempty"` // a request of it that was held up
	Can        bool   `json:"can"`               // when it is its turn
	Choice     int    `json:"choice"`
	Does       string `json:"does"`
	Why        string `json:"why,omitempty"`
	Armed      string `json:"armed,omitempty"` // faults that wait for their moment
	Nth        int    `json:"nth,omitempty"`   // of a lab: of several commands of the thread, which
	Label      string `json:"label,omitempty"` // of its button, where it is not who is to step
	Verb       string `json:"verb,omitempty"`  // the button's first line, after the thread's name
	Line       string `json:"line,omitempty"`  // and its second: when, and which call
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
		next := Option{Thread: o.Thread, Background: o.Background, Network: o.Network, Choice: o.Choice, Does: does(l, o), Why: whyNot(l, o)}
		if o.Background || o.Network {
			next.Node = o.Node
		}
		next.Verb, next.Line = l2(l, o)
		if len(o.Armed) > 0 {
			next.Armed = l.Say("⚡ waiting to strike: %s", armed(l, o.Armed))
		}
		next.Can = o.Choice >= 0 || !ready && o.At == first && o.Next != run.NextNothing
		if next.Can && o.Choice < 0 {
			next.Why = l.Say("%s: time passes first", next.Why)
		}
		out = append(out, next)
	}
	return out
}

// l2 are the two lines of an option's button: what is done, then when and with which call.
// Neither is ever cut, so both are short; the commands are in its title and in the script.
func l2(l words.Language, o run.Option) (verb, line string) {
	when := ""
	if o.At > 0 && o.Choice < 0 {
		when = l.Say("at %s", l.Duration(o.At))
	}
	join := func(parts ...string) string {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		return strings.Join(parts, " · ")
	}
	if len(o.Armed) > 0 {
		defer func() {
			names := make([]string, len(o.Armed))
			for i, f := range o.Armed {
				names[i] = l.Clause(fault.Word(f.Do))
			}
			line = join(when, "⚡ "+strings.Join(names, l.Say(", ")))
		}()
	}
	call := levelInWords(l, o.Call)
	if at := strings.LastIndex(call, " "); at > 0 {
		call = call[:at] + "\u00a0" + call[at+1:]
	}
	if o.Call.Level <= 1 {
		call = o.Call.Name
	}
	if o.Lock != "" {
		call = o.Call.Name + " " + o.Lock
	}
	switch o.Reason {
	case run.HasEnded:
		if o.Ended == "" {
			return "", l.Say("has ended")
		}
		return "", film.Result(l, o.Ended)
	case run.Hangs:
		return "", l.Say("hangs for ever")
	case run.AwaitsOwn:
		return "", l.Say("waits for its watchdog")
	case run.AwaitsNode:
		return "", l.Say("waits for the nodes")
	case run.AwaitsLate:
		return "", l.Say("waits for an answer")
	case run.IsPaused:
		if !o.Background && !o.Network {
			if o.Next == run.NextWork {
				return l.Say("is paused"), l.Say("works until %s", l.Duration(o.At))
			}
			return l.Say("is paused"), join(when, call)
		}
	}
	switch o.Next {
	case run.NextStart:
		return l.Say("starts"), join(when, call)
	case run.NextRetry:
		if o.Handed {
			return l.Say("has the lock"), join(when, l.Say("and hears of it"))
		}
		if retry := o.Call.Attempt - 1; retry > 0 && o.Call.Name == lock.CallLock {
			if o.Retries != scenario.Unlimited {
				return l.Say("asks again"), join(when, l.Say("%d of %d", retry, o.Retries))
			}
			return l.Say("asks again"), join(when, l.Say("retry %d", retry))
		}
		return l.Say("goes on"), join(when, callInWords(l, o.Call))
	case run.NextWork:
		return l.Say("ends its work"), join(when, call)
	case run.NextCall:
		if o.First != "" {
			return l.Say("sends %s", o.First), join(when, call)
		}
		return l.Say("goes on"), join(when, call)
	case run.NextAsk:
		return "→ " + l.Say("node %d", o.Node), join(when, o.First)
	case run.NextRenew:
		if o.Node > 0 {
			return "↻ → " + l.Say("node %d", o.Node), join(when, o.First)
		}
		return l.Say("watchdog"), join(l.Say("renews"), when)
	case run.NextArrive:
		if o.Node > 0 {
			return "→ " + l.Say("node %d", o.Node), join(when, l.Say("arrives"))
		}
		return l.Say("late %s", o.Call.Name), join(when, l.Say("arrives"))
	case run.NextCopy:
		return l.Say("copy of %s", o.Call.Name), join(when, l.Say("arrives"))
	case run.NextEnd:
		return l.Say("gives up"), join(when, l.Say("no retry is left"))
	default:
		return "", when
	}
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

func does(l words.Language, o run.Option) string {
	call := callInWords(l, o.Call)
	if o.First != "" {
		call = l.Say("%s … in %s, level %d", o.First, o.Call.Name, o.Call.Level)
	}
	if o.First != "" && o.Lock != "" {
		call = l.Say("%s %s … in %s", o.First, o.Lock, o.Call.Name)
	}
	if o.Call.GivesBack {
		call = l.Say("gives back a lock that it may have acquired: %s", call)
	}
	if o.Node > 0 {
		call = l.Say("asks node %d: %s", o.Node, call)
	}
	switch o.Next {
	case run.NextStart:
		return l.Say("starts: %s", call)
	case run.NextRetry:
		return again(l, o, call)
	case run.NextWork:
		return l.Say("ends its work: %s", call)
	case run.NextCall, run.NextAsk:
		return call
	case run.NextRenew:
		if o.Node > 0 {
			return l.Say("watchdog: asks node %d: %s … in renew", o.Node, o.First)
		}
		if o.Lock != "" {
			return l.Say("watchdog: %s", call)
		}
		return l.Say("watchdog: %s … in renew", o.First)
	case run.NextArrive:
		if o.Call.Name == lock.CallRenew {
			return l.Say("%s's delayed %s arrives", o.Thread, o.Call.Name)
		}
		return l.Say("%s's delayed %s, level %d, arrives", o.Thread, o.Call.Name, o.Call.Level)
	case run.NextCopy:
		if o.Call.Name == lock.CallRenew {
			return l.Say("a late copy of %s's %s arrives", o.Thread, o.Call.Name)
		}
		return l.Say("a late copy of %s's %s, level %d, arrives", o.Thread, o.Call.Name, o.Call.Level)
	case run.NextEnd:
		return l.Say("gives up: no retry is left")
	default:
		return ""
	}
}

// again words what a thread does after it has waited: its next retry, or the
// first attempt at a call that waited in the middle, or a device's next round.
func again(l words.Language, o run.Option, call string) string {
	if o.Handed {
		return l.Say("hears that the lock is now its own")
	}
	retry := o.Call.Attempt - 1
	if retry < 1 || o.Call.Name == trace.CallBeat || o.Call.Name == trace.CallLook {
		return call
	}
	if o.First == "" { // the call's own words number the retry, too
		call = levelInWords(l, o.Call)
	}
	if o.Call.Name == lock.CallLock && o.Retries != scenario.Unlimited {
		return l.Say("retry %d of %d: %s", retry, o.Retries, call)
	}
	return l.Say("retry %d: %s", retry, call)
}

func whyNot(l words.Language, o run.Option) string {
	switch o.Reason {
	case "":
		return ""
	case run.Waits:
		if o.Next == run.NextWork {
			return l.Say("works until %s", l.Duration(o.At))
		}
		if o.Network {
			return l.Say("on its way until %s", l.Duration(o.At))
		}
		return l.Say("waits until %s", l.Duration(o.At))
	case run.IsPaused:
		if o.Next == run.NextWork {
			return l.Say("paused; its work ends at %s", l.Duration(o.At))
		}
		return l.Say("paused until %s", l.Duration(o.At))
	case run.Hangs:
		return l.Say("hangs for ever")
	case run.AwaitsOwn:
		return l.Say("waits for its watchdog")
	case run.AwaitsNode:
		return l.Say("waits for the nodes that it asks")
	case run.AwaitsLate:
		return l.Say("waits for an answer")
	default:
		if o.Ended == "" {
			return l.Say("ended with the run")
		}
		return l.Say("ended: %s", film.Result(l, o.Ended))
	}
}
