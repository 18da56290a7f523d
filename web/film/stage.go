package film

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// Stage is who believes what, and what Redis says, after a row or after a
// command of one. Between them are cords: each belief is true, false, or waits.
type Stage struct {
	Beliefs []Belief   `json:"beliefs"` // of the threads, in the scenario's order
	Card    Card       `json:"card"`
	Nodes   []NodeCard `json:"nodes,omitempty"` // take the card's place, but for its resource
	Covered bool       `json:"covered,omitempty"`
}

// Cover is the stage while a question is open: what Redis holds, without what each
// thread believes and which rule is broken.
func (s Stage) Cover() Stage {
	s.Covered, s.Beliefs = true, make([]Belief, len(s.Beliefs))
	s.Card.Odd, s.Card.Wrong = "", false
	if r := s.Card.Resource; r != nil {
		told := *r
		told.Wrong = ""
		s.Card.Resource = &told
	}
	return s
}

// same reports whether two stages show the same.
func (s *Stage) same(as *Stage) bool {
	return s.Covered == as.Covered && s.Card.same(&as.Card) && slices.Equal(s.Nodes, as.Nodes) && slices.EqualFunc(s.Beliefs, as.Beliefs, Belief.same)
}

func (b Belief) same(as Belief) bool {
	return b.State == as.State && b.Paused == as.Paused && b.Says == as.Says && b.Does == as.Does && b.Odd == as.Odd &&
		b.Cord == as.Cord && b.Tie == as.Tie && b.Need == as.Need && b.Wrong == as.Wrong && slices.Equal(b.Calls, as.Calls)
}

func (c *Card) same(as *Card) bool {
	return c.Says == as.Says && c.Key == as.Key && c.Held == as.Held && c.Gone == as.Gone && c.Raw == as.Raw && c.Odd == as.Odd && c.Wrong == as.Wrong &&
		c.Left == as.Left && c.Part == as.Part && c.Unsure == as.Unsure && slices.Equal(c.Owners, as.Owners) && slices.Equal(c.Queue, as.Queue) && c.Resource.same(as.Resource)
}

func (r *ResourceLine) same(as *ResourceLine) bool {
	if r == nil || as == nil {
		return r == as
	}
	return r.Name == as.Name && r.Value == as.Value && r.Wrong == as.Wrong && slices.Equal(r.Texts, as.Texts)
}

// State is where a thread is in its life with the lock, as far as it knows.
type State string

// The states of a thread.
const (
	Outside State = "outside"
	Asks    State = "asks"  // its call is under way
	Waits   State = "waits" // it was refused, and asks again
	Holds   State = "holds" // it was told so
	Leaves  State = "leaves"
	Unsure  State = "unsure" // its call got no answer
	LostIt  State = "lost"   // it was told so
	GaveUp  State = "gave-up"
	Failed  State = "failed"
	Crashed State = "crashed"
	Done    State = "done"
)

// Cord is how a belief and Redis are tied.
type Cord string

// The cords.
const (
	NoCord Cord = "none"
	Asking Cord = "asks"
	Kept   Cord = "no"    // out, while it waits
	Agrees Cord = "ok"    // both say that it holds the lock
	Twice  Cord = "two"   // and more than once
	Parted Cord = "false" // it believes so, and Redis names another
	Open   Cord = "open"  // it believes so, and there is no key
	Loose  Cord = "loose" // Redis names it, and it does not believe so
)

// Belief is a thread as it sees itself. It is what the thread heard, never what Redis
// holds.
type Belief struct {
	State  State  `json:"is"`
	Paused bool   `json:"paused,omitempty"`
	Says   string `json:"says"`
	Does   string `json:"does,omitempty"`
	Odd    string `json:"odd,omitempty"`   // after Does: why the belief is false
	Calls  []Call `json:"calls,omitempty"` // business calls, the innermost first, where there are several
	Cord   Cord   `json:"cord"`
	Tie    string `json:"tie,omitempty"`   // what is written at the cord
	Need   string `json:"need,omitempty"`  // below it: how many nodes it takes
	Wrong  bool   `json:"wrong,omitempty"` // Tie tells of a difference
}

// Claims reports whether the thread claims something of the lock.
func (b Belief) Claims() bool {
	return b.State == Holds || b.State == Unsure || b.State == LostIt
}

// Call is a business call that has not returned.
type Call struct {
	Name string `json:"name"` // "sell(2)"
	Text string `json:"text"`
}

// Card is the lock's key, in words.
type Card struct {
	Says     string        `json:"says"` // "Redis says"
	Key      string        `json:"key"`
	Owners   []Owner       `json:"owners,omitempty"`
	Held     string        `json:"held"` // after the owners: "holds it, ×2"
	Gone     bool          `json:"gone,omitempty"`
	Raw      string        `json:"raw,omitempty"`
	Odd      string        `json:"odd,omitempty"`
	Wrong    bool          `json:"wrong,omitempty"` // Odd is a broken rule's, or a key's without an expiry
	Left     string        `json:"left,omitempty"`  // of the lease, "" where there is none to run out
	Part     int           `json:"part,omitempty"`  // of it that is left, in thousandths
	Queue    []Owner       `json:"queue,omitempty"`
	Unsure   string        `json:"unsure,omitempty"` // what we do not know about the queue
	Resource *ResourceLine `json:"resource,omitempty"`
}

// Owner is a thread by its ordinal, or a name that is no thread's, with -1.
type Owner struct {
	Thread int    `json:"thread"`
	Name   string `json:"name"`
}

// ResourceLine is what the lock protects.
type ResourceLine struct {
	Name  string   `json:"name"`
	Value string   `json:"value"`
	Texts []string `json:"texts,omitempty"`
	Wrong string   `json:"wrong,omitempty"` // what is above its limit
}

// NodeCard is the key on one of several nodes, or the word of one of several
// processes.
type NodeCard struct {
	Name  string `json:"name"`
	Owner Owner  `json:"owner"` // Name "" for nobody
	Left  string `json:"left"`
	Part  int    `json:"part,omitempty"` // of the lease that is left, in thousandths
	Clock string `json:"clock,omitempty"`
	Odd   string `json:"odd,omitempty"` // what befell it
	Down  bool   `json:"down,omitempty"`
}

// mostLines is how many calls, users and waiting threads are shown: more are read
// by nobody.
const mostLines = 48

// mostName is how much of a name that a trace gives is shown, in bytes.
const mostName = 24

// stager shows a run as a stage. It is not safe for concurrent use.
type stager struct {
	*Now

	l     saying
	shown Key // after the last event, as its row has it
}

func stagerOf(l words.Language, now *Now) *stager {
	return &stager{Now: now, l: saying{l, map[said]string{}, map[time.Duration]string{}}}
}

// loss says who told a thread that it had lost the lock, and when; "" where nobody did.
func (s *stager) loss(t *actor) string {
	switch {
	case t.lost == nil:
		return ""
	case t.lost.call == lock.CallRenew:
		return s.l.Say("told by its watchdog, at %s", s.length(t.lost.at))
	default:
		return s.l.Say("told at its %s, at %s", t.lost.call, s.length(t.lost.at))
	}
}

// noAnswer says why a call has failed, as far as its thread knows.
func noAnswer(l words.Language, c trace.Cause) string {
	switch c.Kind {
	case trace.Answered:
		return l.Say("its call was answered with %s", c.Code)
	case trace.NoMajority:
		return l.Say("its call got %d yes and %d no", c.Yes, c.No)
	default:
		return l.Say("its call got no answer")
	}
}

// Stage is the run as it is now. Broken are the rules that the row breaks.
func (s *stager) Stage(broken []Violation) Stage {
	out := Stage{Card: s.card(broken), Beliefs: make([]Belief, 0, len(s.sc.Threads))}
	switch {
	case s.words != nil && len(s.processes) > 1:
		out.Nodes = s.ofWords()
	case len(s.event.Nodes) > 0:
		out.Nodes = s.ofNodes()
	case s.sc.Locks != nil:
		out.Nodes = s.ofLocks()
	}
	for i, t := range s.sc.Threads {
		out.Beliefs = append(out.Beliefs, s.belief(i, t.Name))
	}
	return out
}

func (s *stager) length(at trace.Millis) string { return s.l.Duration(at.Duration()) }

// belief is what a thread believes now.
func (s *stager) belief(i int, name string) Belief {
	t := s.thread(name)
	b := Belief{State: s.state(name), Cord: NoCord}
	levels := s.event.Belief[name]
	b.Paused = t.ended == "" && t.doing(s.event.At) == Paused
	switch b.State {
	case Outside:
		b.Says, b.Does = s.l.Say("Outside"), s.outside(i, name)
	case Asks:
		b.Says, b.Does = s.l.Say("I ask"), s.asks(name)
	case Waits:
		b.Says, b.Does = s.l.Say("I wait"), s.waits(name)
	case Holds:
		b.Says, b.Does = s.claims(name, levels), s.works(name)
		b.Calls = s.calls(name)
	case Leaves:
		b.Says, b.Does = s.l.Say("I am leaving"), s.l.Say("it only has to unlock")
	case Unsure:
		b.Says, b.Odd = s.l.Say("I do not know"), noAnswer(s.l.Language, t.cause)
	case LostIt:
		b.Says, b.Does = s.l.Say("I lost it"), s.loss(t)
	case GaveUp:
		b.Says, b.Does = s.l.Say("I gave up"), s.l.Say("at %s", s.length(t.left))
	case Failed:
		b.Says, b.Does = s.l.Say("I failed"), s.l.Say("at %s", s.length(t.left))
		if t.lost != nil {
			b.Does = s.l.Say("the lock was lost: %s", s.loss(t))
		}
	case Crashed:
		b.Says, b.Does = s.l.Say("Crashed"), s.l.Say("believes nothing any more")
	case Done:
		b.Says, b.Does = s.l.Say("Done"), s.l.Say("left at %s", s.length(t.left))
		if t.wrote != "" {
			b.Does = s.l.Say("wrote %s, left at %s", t.wrote, s.length(t.left))
		}
	}
	if s.heartbeat() {
		s.beats(&b, name)
		return b
	}
	if b.Paused {
		b.Does = s.paused(name)
	}
	if s.sc.Locks != nil {
		s.several(&b, name)
	} else {
		s.tie(&b, name, levels)
	}
	if s.first(i) {
		b.Does, b.Cord, b.Tie = s.l.Say("asks at %s", s.length(trace.MillisOf(s.sc.Threads[i].Start))), Asking, s.l.Say("about to ask")
	}
	return b
}

// Tied are the words of its cord, for who does not see that.
func (b Belief) Tied() string {
	return strings.Join(slices.DeleteFunc([]string{b.Tie, b.Need}, func(text string) bool { return text == "" }), ", ")
}

// first tells whether nothing has happened yet, and no thread asks before this one.
func (s *stager) first(i int) bool {
	return s.event.Seq == 0 && !s.framed && s.protocol.Guard == protocol.InRedis &&
		!slices.ContainsFunc(s.sc.Threads, func(t scenario.Thread) bool { return t.Start < s.sc.Threads[i].Start })
}

// state is where a thread is, as far as it knows.
func (s *stager) state(name string) State {
	t := s.thread(name)
	switch {
	case t.ended == trace.Crashed:
		return Crashed
	case t.ended == trace.Done:
		return Done
	case t.ended == trace.Exhausted:
		return GaveUp
	case t.ended == trace.Lost:
		return LostIt
	case t.ended != "":
		return Failed
	case facts.Leaves(s.event, name):
		return Leaves
	case s.event.Belief[name] > 0:
		return Holds
	case t.unsure:
		return Unsure
	case t.asking:
		return Asks
	case t.refusals > 0:
		return Waits
	case t.lost != nil:
		return LostIt
	default:
		return Outside
	}
}

func (s *stager) claims(name string, levels int) string {
	switch {
	case s.protocol.Guard == protocol.Nothing && levels == 1:
		return s.l.Say("I am inside")
	case s.protocol.Guard == protocol.Nothing:
		return s.l.Say("I am inside, %d times", levels)
	case levels == 1 && s.sc.Lock.Kind.Permits > 0:
		return s.l.Say("I hold a permit")
	case levels == 1 && s.truth.Shares(name):
		return s.l.Say("I read")
	case levels == 1 && s.truth.Writes(name):
		return s.l.Say("I write")
	case levels == 1:
		return s.l.Say("I hold the lock")
	case levels == 2:
		return s.l.Say("I hold it twice")
	default:
		return s.l.Say("I hold it %d times", levels)
	}
}

// paused says how long a thread stands still.
func (s *stager) paused(name string) string {
	if t := s.thread(name); !t.byHand {
		return s.l.Say("paused until %s", s.length(t.still))
	}
	return s.l.Say("paused by hand")
}

// outside says what a thread without the lock does.
func (s *stager) outside(i int, name string) string {
	t := s.thread(name)
	start := trace.MillisOf(s.sc.Threads[i].Start)
	switch {
	case s.framed:
		return ""
	case t.timed && t.until > s.event.At:
		return s.l.Say("asks at %s", s.length(t.until))
	case start > s.event.At:
		return s.l.Say("comes at %s", s.length(start))
	default:
		return ""
	}
}

// asks says for what a thread asks.
func (s *stager) asks(name string) string {
	switch stack, known := s.stacks[name]; {
	case !known:
		return ""
	case stack.Levels > 1:
		return s.l.Say("for level %d", stack.Levels)
	case s.sc.Lock.Kind.Permits > 0 && stack.Attempt > 1:
		return s.l.Say("for a permit, retry %d", stack.Attempt-1)
	case s.sc.Lock.Kind.Permits > 0:
		return s.l.Say("for a permit")
	case stack.Attempt > 1:
		return s.l.Say("for the lock, retry %d", stack.Attempt-1)
	default:
		return s.l.Say("for the lock")
	}
}

// waits says how often a thread was refused, and what it waits for.
func (s *stager) waits(name string) string {
	t := s.thread(name)
	refused := s.l.Say("refused once")
	if t.refusals > 1 {
		refused = s.l.Say("refused %d times", t.refusals)
	}
	switch {
	case !t.timed || t.until <= s.event.At:
		return refused
	case t.message:
		return s.l.Say("for a message, until %s at most", s.length(t.until))
	default:
		return s.l.Say("%s, again at %s", refused, s.length(t.until))
	}
}

// works says what a thread does that believes it holds the lock.
func (s *stager) works(name string) string {
	t := s.thread(name)
	stack := s.stacks[name]
	does := ""
	switch {
	case t.timed && t.level > 0 && t.until > s.event.At:
		does = s.l.Say("works until %s", s.length(t.until))
	case t.asking:
		does = s.l.Say("asks for level %d", max(stack.Levels, 1))
	case t.refusals > 0:
		does = s.waits(name)
	case stack.Doing == facts.Working && t.idle != moving:
		does = t.idles(s.l.Language)
	case stack.Doing == facts.Leaving:
		does = s.l.Say("is leaving level %d", stack.Levels)
	case stack.Doing == facts.Working || stack.Doing == facts.Worked:
		does = s.l.Say("its work is done")
	}
	switch until := t.relies; {
	case until <= 0:
		return does
	case does == "":
		return s.l.Say("valid until %s", s.length(until))
	default:
		return s.l.Say("%s, valid until %s", does, s.length(until))
	}
}

// calls are a thread's business calls, where there are several or they have
// names.
func (s *stager) calls(name string) []Call {
	stack, known := s.stacks[name]
	if !known || s.framed || s.sc.Locks != nil || stack.Levels < 2 && s.sc.Threads[s.ordinals[name]].Calls == "" {
		return nil
	}
	var list []Call
	for level := stack.Levels; level > 0 && len(list) < mostLines; level-- {
		text := s.doing(stack, level)
		if level < stack.Levels {
			text = s.l.Say("level %d", level)
		}
		if text == s.l.Say("level %d", level) && s.sc.Threads[s.ordinals[name]].Calls == "" {
			text = "" // its name has the number
		}
		list = append(list, Call{s.named(name, level), text})
	}
	return list
}

// named is a business call as it would be written.
func (s *stager) named(thread string, level int) string {
	name := "work"
	if r := s.sc.Resource; r != nil {
		name = map[string]string{scenario.KindCounter: "increment", scenario.KindStock: "sell", scenario.KindPurchases: "buy", scenario.KindEffect: "send"}[r.Kind]
	}
	of := s.sc.Threads[s.ordinals[thread]]
	if names := strings.Fields(of.Calls); level <= len(names) {
		return names[level-1] + "()"
	}
	if of.Depth > 1 {
		return fmt.Sprintf("%s(%d)", name, level)
	}
	return name + "()"
}

// doing says what the innermost call is at.
func (s *stager) doing(stack facts.Stack, level int) string {
	switch stack.Doing {
	case facts.Asking:
		return s.l.Say("asks for level %d, attempt %d", level, stack.Attempt)
	case facts.Entered:
		return s.l.Say("has level %d", level)
	case facts.Working:
		return s.l.Say("level %d", level) // until when, the line below it says
	case facts.Leaving:
		return s.l.Say("is leaving level %d", level)
	default:
		return s.l.Say("level %d, its work is done", level)
	}
}

// beats is the belief of a device that says it is there, or of who looks.
func (s *stager) beats(b *Belief, name string) {
	t := s.thread(name)
	if t.ended != "" {
		return
	}
	b.State, b.Says, b.Does = Outside, s.l.Say("Outside"), ""
	switch {
	case b.Paused:
		b.Does = s.paused(name)
	case t.timed && t.until > s.event.At:
		b.Does = s.l.Say("next at %s", s.length(t.until))
	}
	switch {
	case t.looked == trace.Online:
		b.State, b.Says = Holds, s.l.Say("The device is online")
	case t.looked == trace.Offline:
		b.State, b.Says = Holds, s.l.Say("The device is offline")
	case t.renewed >= 0:
		b.State, b.Says = Holds, s.l.Say("I am here")
		if b.Cord = Open; s.holds(s.event.Key, name) {
			b.Cord = Agrees
		} else {
			b.Tie, b.Wrong = s.l.Say("not in Redis"), true
		}
	}
}

// tie ties a belief to what Redis says.
func (s *stager) tie(b *Belief, name string, levels int) {
	held := b.State == Holds
	switch {
	case s.protocol.Guard == protocol.Nothing:
		if held {
			b.Cord = Agrees
		}
		return
	case s.protocol.Guard == protocol.InProcess:
		if held && levels > 1 {
			b.Cord = Twice
		} else if held {
			b.Cord = Agrees
		}
	case len(s.event.Nodes) > 0:
		s.ofMany(b, name)
	case held && s.thread(name).aside:
		b.Cord, b.Tie, b.Wrong = s.parted(), s.l.Say("asks the old master"), true
	case held:
		s.agree(b, name, levels)
	case s.holds(s.event.Key, name):
		b.Cord = Agrees
		if b.State != Leaves {
			b.Cord, b.Tie = Loose, s.loose(b.State)
		}
	}
	if b.Cord == NoCord && b.State == Asks {
		b.Cord = Asking
	}
	if b.Cord == NoCord && b.State == Waits {
		b.Cord, b.Tie = Kept, s.keptOut(name)
	}
	if held && (b.Cord == Parted || b.Cord == Open) {
		b.Odd = s.l.Say("nobody has told it")
		if b.Paused {
			b.Odd = s.l.Say("it cannot know")
		}
	}
}

// keptOut says what keeps a thread out that waits.
func (s *stager) keptOut(name string) string {
	if place := s.place(name); place > 0 {
		return s.l.Say("number %d", place)
	}
	says := ""
	switch {
	case full(s.sc.Lock.Kind, s.event.Key):
		says = allTaken(s.l.Language, s.sc.Lock.Kind)
	case s.event.Key.Mode() != "":
		says = sayMode(s.l.Language, s.event.Key, s.holding().Holders(s.event.Key))
	}
	return cmp.Or(says, s.l.Say("refused"))
}

// loose says why Redis names a thread that does not claim the lock.
func (s *stager) loose(state State) string {
	switch state {
	case Done, Crashed, Failed, GaveUp, LostIt:
		if shared(s.sc.Lock.Kind, s.event.Key) {
			return s.l.Say("is still in the key")
		}
		return s.l.Say("its key is there")
	case Asks:
		return s.l.Say("under way")
	default:
		return s.l.Say("was not told")
	}
}

// agree ties a thread that believes that it holds the lock at so many levels to
// one key.
func (s *stager) agree(b *Belief, name string, levels int) {
	if !s.holds(s.event.Key, name) {
		b.Cord, b.Tie, b.Wrong = s.parted(), s.l.Say("not in Redis"), true
		return
	}
	b.Cord = Agrees
	count := s.truth.Count(s.event.Key, name)
	switch {
	case count != "" && count != strconv.Itoa(levels):
		b.Cord, b.Tie, b.Wrong = Twice, s.l.Say("Redis: %s", words.Short(count, mostName)), true
		if count == "1" {
			b.Cord = Agrees
		}
	case count != "" && levels > 1:
		b.Cord, b.Tie = Twice, s.l.Say("agree: %s", count)
	case levels > 1:
		b.Cord = Twice
	}
}

// parted is the cord of a false belief.
func (s *stager) parted() Cord {
	if s.event.Key.Exists() {
		return Parted
	}
	return Open
}

// ofMany ties a belief to how many nodes share it.
func (s *stager) ofMany(b *Belief, name string) {
	nodes, has := len(s.event.Nodes), 0
	for _, k := range s.event.Nodes {
		if s.owners.Hold(k, name) {
			has++
		}
	}
	tie := s.l.Say("%d of %d", has, nodes)
	switch {
	case b.State == Holds && has >= quorum(s.event.Nodes):
		b.Cord, b.Tie, b.Need = Agrees, tie, s.l.Say("enough")
	case b.State == Holds:
		b.Cord, b.Tie, b.Need, b.Wrong = Parted, tie, s.l.Say("%d are needed", quorum(s.event.Nodes)), true
	case has > 0:
		b.Cord, b.Tie = Loose, tie
	}
}

// place is a thread's number in the queue, 0 for none.
func (s *stager) place(name string) int {
	if s.line == nil {
		return 0
	}
	names, _ := s.line.Threads(mostLines)
	return slices.Index(names, name) + 1
}

// ownerOf is a thread, or a name that is no thread's.
func (s *stager) ownerOf(name string) Owner {
	if i := s.ordinal(name); i >= 0 {
		return Owner{i, name}
	}
	return Owner{-1, words.Short(name, mostName)}
}

// card is the key in words.
func (s *stager) card(broken []Violation) Card {
	c := Card{Says: s.l.Say("Redis says"), Key: s.sc.Lock.Key, Held: s.l.Say("nobody holds it"), Gone: true, Resource: s.ofResource()}
	switch {
	case s.protocol.Guard == protocol.Nothing && !s.heartbeat():
		c.Says, c.Key, c.Held = s.l.Say("There is no lock"), "", s.l.Say("nobody is kept out")
		return c
	case s.words != nil:
		s.ofWord(&c)
	case s.heartbeat():
		s.ofDevice(&c)
	case s.event.Key.Exists():
		s.ofKey(&c)
	case s.sc.Lock.Key == scenario.NoKey:
		c.Key, c.Held, c.Raw = "", s.l.Say("no key seen yet"), s.l.Say("The first command of a lock shows it, or you name it.")
	default:
		c.Raw, c.Left = s.l.Say("no key"), "–"
		if c.Held = cmp.Or(allFree(s.l.Language, s.sc.Lock.Kind), c.Held); s.holding().Tokens() {
			c.Held = freeTokens(s.l.Language, s.event.Key)
		}
	}
	if s.line != nil {
		names, certain := s.line.Threads(mostLines)
		for _, name := range names {
			c.Queue = append(c.Queue, s.ownerOf(name))
		}
		if !certain {
			c.Unsure = s.l.Say("the fail-over may have lost some")
		}
	}
	for _, v := range broken {
		switch v.Rule {
		case check.ForeignRelease, check.ForeignRenewal, check.Replaced, check.Orphan, check.CountMismatch:
			c.Odd, c.Wrong = v.Title, true
		}
	}
	return c
}

// ofKey fills in a key that is there.
func (s *stager) ofKey(c *Card) {
	k := s.event.Key
	c.Gone, c.Part, c.Left = false, s.shown.Fraction, s.leaseLeft()
	believed := false
	for _, h := range s.shown.Holds[:min(len(s.shown.Holds), mostLines)] {
		if one := (Owner{h.Ordinal, cmp.Or(h.Thread, h.Owner)}); !slices.Contains(c.Owners, one) {
			c.Owners = append(c.Owners, one)
		}
		believed = believed || h.Thread != "" && (s.event.Belief[h.Thread] > 0 || slices.Contains([]State{Asks, Unsure, Waits, Leaves}, s.state(h.Thread)))
	}
	switch {
	case k.Type == trace.TypeList && s.holding().Tokens():
		c.Held = freeTokens(s.l.Language, k)
	case len(c.Owners) == 0:
		c.Held = s.l.Say("not a lock")
	case !believed && s.shown.Holds[0].Thread != "":
		c.Held, c.Odd = s.l.Say("is written there"), s.l.Say("nobody believes that it holds it")
		if len(c.Owners) > 1 {
			c.Held = s.l.Say("are written there")
		}
	default:
		c.Held = s.verb(len(c.Owners))
	}
	entries, calls := s.shown.Entries(), s.shown.Calls
	entries, calls = entries[:min(len(entries), mostLines)], calls[:min(len(calls), mostLines)]
	switch {
	case len(entries) == 0:
		c.Raw = strings.ToUpper(k.Type)
	case s.shown.Quoted():
		c.Raw = `STRING "` + entries[0].Owner + `"`
	case k.Type == trace.TypeHash && len(entries) == 1 && len(calls) == 0: // as nearly always
		c.Raw = "HASH { " + entries[0].Owner + ": " + entries[0].Count + " }"
	default:
		var fields []string
		for _, h := range entries {
			fields = append(fields, h.Text())
		}
		for _, call := range calls {
			fields = append(fields, call.String())
		}
		c.Raw = strings.ToUpper(k.Type) + " { " + strings.Join(fields, ", ") + " }"
	}
	if k.PTTL < 0 && k.Type != trace.TypeList {
		c.Odd, c.Wrong = s.l.Say("no expiry"), true
	}
}

// verb says what so many owners of the key have.
func (s *stager) verb(owners int) string {
	k, count := s.shown, ""
	if k.Type == trace.TypeHash && len(k.Holds) == 1 {
		count = words.Short(k.Holds[0].Count, mostName)
	}
	switch {
	case k.Quoted():
		return s.l.Say("is the owner")
	case s.sc.Lock.Kind.Permits > 0:
		return s.permits(owners)
	case k.Mode == trace.ModeRead && owners > 1:
		return s.l.Say("read it")
	case k.Mode == trace.ModeRead && count != "" && count != "1":
		return s.l.Say("reads it, ×%s", count)
	case k.Mode == trace.ModeRead:
		return s.l.Say("reads it")
	case k.Mode == trace.ModeWrite && count != "" && count != "1":
		return s.l.Say("writes it, ×%s", count)
	case k.Mode == trace.ModeWrite && owners == 1:
		return s.l.Say("writes it")
	case owners > 1:
		return s.l.Say("hold it")
	case count == "":
		return s.l.Say("holds it")
	default:
		return s.l.Say("holds it, ×%s", count)
	}
}

// permits says how many of them so many owners have, of a key that has members.
func (s *stager) permits(owners int) string {
	n, all := len(s.shown.Holds), s.sc.Lock.Kind.Permits
	switch {
	case n > all && owners == n:
		return s.l.Say("are %d for %d permits", n, all)
	case n > all:
		return s.l.Say("%d members for %d permits", n, all)
	case owners == 1:
		return s.l.Say("holds %d of %d permits", n, all)
	default:
		return s.l.Say("hold %d of %d permits", n, all)
	}
}

// leaseLeft says how much of the lease is left.
func (s *stager) leaseLeft() string {
	left, lease := s.event.Key.PTTL, s.sc.Lock.Lease
	whole := time.Duration(left) * time.Millisecond
	switch {
	case left < 0:
		return s.l.Say("for ever")
	case whole >= 24*time.Hour && whole > 10*lease: // days, where far less was asked for
		return s.l.Say("%d d %d h, where %s were meant", int(whole.Hours())/24, int(whole.Hours())%24, s.l.Duration(lease))
	case lease < time.Minute:
		return s.l.Say("%d of %d ms", left, lease.Milliseconds())
	default:
		return s.l.Say("%s of %s", s.l.Duration(whole), s.l.Duration(lease))
	}
}

// ofDevice fills in the key with which a device says that it is there.
func (s *stager) ofDevice(c *Card) {
	c.Held, c.Left = s.l.Say("no key: offline"), "–"
	if s.event.Key.Exists() {
		c.Gone, c.Held, c.Part, c.Left = false, s.l.Say("the key is there: online"), s.shown.Fraction, s.leaseLeft()
	}
}

// ofWord fills in the word of a spin lock, where there is one process.
func (s *stager) ofWord(c *Card) {
	c.Says, c.Key, c.Raw = s.l.Say("The word in memory says"), "", s.l.Say("Redis is not asked")
	if len(s.processes) > 1 {
		return
	}
	if word := s.words.Of(s.processes[0]); word.Thread != "" {
		c.Gone, c.Owners, c.Held = false, []Owner{s.ownerOf(word.Thread)}, s.l.Say("holds it, ×%s", strconv.Itoa(word.Count))
	}
}

// ofWords are the words of several processes.
func (s *stager) ofWords() []NodeCard {
	var list []NodeCard
	for _, process := range s.processes {
		n := NodeCard{Name: words.Short(process, mostName), Left: s.l.Say("free")}
		if word := s.words.Of(process); word.Thread != "" {
			n.Owner, n.Left = s.ownerOf(word.Thread), s.l.Say("×%d", word.Count)
		}
		list = append(list, n)
	}
	return list
}

// ofNodes are the keys on several nodes.
func (s *stager) ofNodes() []NodeCard {
	var list []NodeCard
	for i, k := range s.event.Nodes {
		n := NodeCard{Name: s.l.Say("node %d", i+1), Left: s.l.Say("no key")}
		if holders := s.owners.Holders(k); len(holders) > 0 {
			n.Owner = s.ownerOf(holders[0])
		}
		if k.Exists() {
			n.Left = s.l.Say("no expiry")
			if n.Part = 1000; k.PTTL >= 0 {
				n.Left = s.l.Duration(trace.Millis(k.PTTL).Duration())
				n.Part = s.left(k.PTTL)
			}
		}
		if by := s.clocks[i]; by != 0 {
			sign := "+"
			if by < 0 {
				sign, by = "−", -by
			}
			n.Clock = s.l.Say("its clock: %s", sign+s.l.Duration(by.Duration()))
		}
		if s.down.Down(i) {
			n.Odd, n.Down = s.l.Say("down"), true
		} else if answer := s.down.Answers(i); answer != "" {
			n.Odd = s.l.Say("answers %s", answer)
		} else if cut := s.down.CutOff(i); len(cut) > 0 {
			n.Odd = s.l.Say("down for %s", s.l.List(cut))
		}
		list = append(list, n)
	}
	return list
}

// ResourceName is what a kind of resource is called.
func ResourceName(l words.Language, kind string) string {
	switch kind {
	case scenario.KindStock:
		return l.Say("stock")
	case scenario.KindPurchases:
		return l.Say("purchases")
	case scenario.KindEffect:
		return l.Say("done, times")
	default:
		return l.Say("counter")
	}
}

// inOrder sorts threads as the scenario has them.
func (s *stager) inOrder(names []string) []string {
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(s.ownerOf(x).Thread, s.ownerOf(y).Thread), strings.Compare(x, y))
	})
	return names
}

// ofResource is what the lock protects, nil where the scenario has nothing of it.
func (s *stager) ofResource() *ResourceLine {
	r, kind, size := &s.resource, scenario.KindCounter, 0
	if sc := s.sc.Resource; sc != nil {
		kind, size = sc.Kind, sc.Size
	} else if !r.Touched {
		return nil
	}
	switch {
	case r.Stock:
		kind = scenario.KindStock
	case r.Effect:
		kind = scenario.KindEffect
	}
	out := &ResourceLine{Name: ResourceName(s.l.Language, kind)}
	switch {
	case kind == scenario.KindPurchases || r.Limit > 0:
		for _, user := range r.Users[:min(len(r.Users), mostLines)] {
			text := s.l.Say("user %s: %d of %d", words.Short(user, mostName), r.Values[user], r.Limit)
			if r.Limit > 0 && r.Values[user] > r.Limit && out.Wrong == "" {
				out.Wrong = text
				continue
			}
			out.Texts = append(out.Texts, text)
		}
	default:
		value, touched := r.Values[""]
		if !touched {
			value = size
		}
		out.Value = strconv.Itoa(value)
	}
	for _, name := range s.inOrder(slices.Collect(maps.Keys(r.Seen))) {
		out.Texts = append(out.Texts, s.l.Say("%s has read %d", words.Short(name, mostName), r.Seen[name]))
	}
	if r.Token > 0 {
		out.Texts = append(out.Texts, s.l.Say("newest token: %d", r.Token))
	}
	if r.Refused > 0 {
		out.Texts = append(out.Texts, s.l.Say("writes refused: %d", r.Refused))
	}
	if len(out.Texts) > mostLines {
		out.Texts = append(out.Texts[:mostLines], "…")
	}
	return out
}
