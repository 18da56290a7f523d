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
	"relock/engine/phrase"
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
	out := Stage{Card: s.card(broken), Nodes: s.shape().cards(s), Beliefs: make([]Belief, len(s.sc.Threads))}
	for i, t := range s.sc.Threads {
		s.believe(&out.Beliefs[i], i, t.Name)
	}
	return out
}

func (s *stager) length(at trace.Millis) string { return s.l.Duration(at.Duration()) }

// believe fills in what a thread believes now.
func (s *stager) believe(b *Belief, i int, name string) {
	t := s.thread(name)
	b.State, b.Cord = s.state(name), NoCord
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
		b.Says, b.Does = s.shape().claim(s, name, levels), s.works(name)
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
	if b.Paused {
		b.Does = s.paused(name)
	}
	s.shape().tie(s, b, name, levels)
	if s.first(i) {
		b.Does, b.Cord, b.Tie = s.l.Say("asks at %s", s.length(trace.MillisOf(s.sc.Threads[i].Start))), Asking, s.l.Say("about to ask")
	}
}

// Tied are the words of its cord, for who does not see that.
func (b Belief) Tied() string {
	return strings.Join(slices.DeleteFunc([]string{b.Tie, b.Need}, func(text string) bool { return text == "" }), ", ")
}

// first tells whether nothing has happened yet, and no thread asks before this one.
func (s *stager) first(i int) bool {
	return s.event.Seq == 0 && !s.framed && s.inRedis() && !s.heartbeat() &&
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
	case !s.framed && (stack.Doing == facts.Working || stack.Doing == facts.Worked):
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

// waiting ties a thread that asks or waits, and says what keeps it from knowing more.
func (s *stager) waiting(b *Belief, name string) {
	if b.Cord == NoCord && b.State == Asks {
		b.Cord = Asking
	}
	if b.Cord == NoCord && b.State == Waits {
		b.Cord, b.Tie = Kept, s.keptOut(name)
	}
	if b.State == Holds && (b.Cord == Parted || b.Cord == Open) {
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

// parted is the cord of a false belief.
func (s *stager) parted() Cord {
	if s.event.Key.Exists() {
		return Parted
	}
	return Open
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
	c = s.shape().card(s, c)
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
		case check.ForeignRelease, check.ForeignRenewal, check.Replaced, check.ShutOut, check.CountMismatch:
			c.Odd, c.Wrong = v.Title, true
		}
	}
	return c
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

// haveRead says who has read what, those together who have read the same.
func (s *stager) haveRead(seen map[string]int) (says []string) {
	by := map[int]phrase.Names{}
	var values []int
	for _, name := range s.inOrder(slices.Collect(maps.Keys(seen))) {
		value := seen[name]
		if by[value] == nil {
			values = append(values, value)
		}
		by[value] = append(by[value], words.Short(name, mostName))
	}
	for _, value := range values {
		if names := by[value]; len(names) == 1 {
			says = append(says, s.l.Say("%s has read %d", names[0], value))
		} else {
			says = append(says, s.l.Say("%s have read %d", s.l.List(names), value))
		}
	}
	return says
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
		out.Value = cmp.Or(words.Short(r.Text, mostName), strconv.Itoa(value))
	}
	out.Texts = append(out.Texts, s.haveRead(r.Seen)...)
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
