package film

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// CardKind says what a card is about.
type CardKind string

// The kinds of card, in the order in which they stand.
const (
	OfResource CardKind = "resource"
	OfCalls    CardKind = "calls"
	OfLine     CardKind = "line"
	OfWords    CardKind = "words"
	OfNodes    CardKind = "nodes"
)

// Card is one of them as it is after a row.
type Card struct {
	Kind   CardKind   `json:"kind"`
	Title  string     `json:"title"`
	Figure string     `json:"figure,omitempty"` // the one that matters, "1" of a stock
	Lines  []CardLine `json:"lines,omitempty"`
	None   string     `json:"none,omitempty"` // what stands where there are no lines
}

// CardLine is a part of a card.
type CardLine struct {
	Thread int    `json:"thread"` // ordinal of the one that it is about, or -1
	Code   string `json:"code,omitempty"`
	Text   string `json:"text"`
	Bad    bool   `json:"bad,omitempty"`
	Within bool   `json:"within,omitempty"` // a call that has called the line before it
}

// mostLines is how many lines a card has at most: more are read by nobody.
const mostLines = 48

// mostName is how much of a name that a trace gives is shown, in bytes.
const mostName = 24

// Actors folds a run. It is not safe for concurrent use.
type Actors struct {
	l        words.Language
	sc       *scenario.Scenario
	protocol *protocol.Protocol
	ordinals map[string]int
	owners   facts.Owners

	resource  facts.Resource
	stacks    facts.Stacks
	line      *facts.Line
	words     *facts.Words
	processes []string
	down      facts.Outages
	clocks    facts.Clocks
	now       trace.Event
}

// NewActors returns the actors of a run of sc before it begins. Owners maps owner ids
// to threads.
func NewActors(l words.Language, sc *scenario.Scenario, owners map[string]string) *Actors {
	a := &Actors{
		l: l, sc: sc, protocol: sc.Lock.Implementation(), ordinals: map[string]int{}, owners: owners,
		stacks: facts.Stacks{}, down: facts.Outages{}, clocks: facts.Clocks{},
	}
	processes := map[string]string{}
	for i, t := range sc.Threads {
		a.ordinals[t.Name] = i
		processes[t.Name] = t.Process
		if !slices.Contains(a.processes, t.Process) {
			a.processes = append(a.processes, t.Process)
		}
	}
	if a.protocol.Waiters != nil {
		a.line = &facts.Line{Key: a.protocol.Waiters(sc.Lock.Key), Owners: owners}
	}
	if a.protocol.Guard == protocol.InProcess {
		a.words = &facts.Words{Process: processes}
	}
	return a
}

// Add takes the next event.
func (a *Actors) Add(e trace.Event) {
	a.now = e
	a.resource.Add(e)
	a.stacks.Add(e)
	if a.line != nil {
		a.line.Add(e)
	}
	if a.words != nil {
		a.words.Add(e)
	}
	if b, ok := e.Body.(trace.Fault); ok {
		a.down.Strike(b)
		a.clocks.Strike(b)
	}
}

// Cards are those of the run as it is now, none for a heartbeat, which has no
// lock.
func (a *Actors) Cards() []Card {
	if a.sc.Kind == scenario.KindHeartbeat {
		return nil
	}
	var cards []Card
	if a.sc.Resource != nil || a.resource.Touched {
		cards = append(cards, a.ofResource())
	}
	cards = append(cards, a.ofCalls())
	if a.line != nil {
		cards = append(cards, a.ofLine())
	}
	if a.words != nil {
		cards = append(cards, a.ofWords())
	}
	if len(a.now.Nodes) > 0 {
		cards = append(cards, a.ofNodes())
	}
	for i := range cards {
		if n := len(cards[i].Lines); n > mostLines {
			cards[i].Lines = append(cards[i].Lines[:mostLines], CardLine{Thread: -1, Text: "…"})
		}
	}
	return cards
}

// thread is the ordinal of a thread, -1 of one that the scenario does not name.
func (a *Actors) thread(name string) int {
	if i, ok := a.ordinals[name]; ok {
		return i
	}
	return -1
}

// inOrder sorts threads as the scenario has them.
func (a *Actors) inOrder(names []string) []string {
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(a.thread(x), a.thread(y)), strings.Compare(x, y)) })
	return names
}

// plainLine is a line about nobody.
func plainLine(text string, bad bool) CardLine { return CardLine{Thread: -1, Text: text, Bad: bad} }

func (a *Actors) ofResource() Card {
	r, kind, size, checks := a.resource, scenario.KindCounter, 0, ""
	if sc := a.sc.Resource; sc != nil {
		kind, size, checks = sc.Kind, sc.Size, sc.Checks
	}
	switch {
	case r.Stock:
		kind = scenario.KindStock
	case r.Effect:
		kind = scenario.KindEffect
	}
	c := Card{Kind: OfResource, Title: ResourceName(a.l, kind)}
	switch {
	case kind == scenario.KindPurchases || r.Limit > 0:
		if limit := r.Limit; limit > 0 {
			c.Title = a.l.Say("purchases, at most %d for each user", limit)
		}
		for _, user := range r.Users {
			c.Lines = append(c.Lines, plainLine(a.l.Say("user %s: %d", words.Short(user, mostName), r.Values[user]), r.Limit > 0 && r.Values[user] > r.Limit))
		}
	default:
		value, any := r.Values[""]
		if !any {
			value = size
		}
		c.Figure = strconv.Itoa(value)
	}
	for _, name := range a.inOrder(slices.Collect(maps.Keys(r.Seen))) {
		c.Lines = append(c.Lines, CardLine{Thread: a.thread(name), Text: a.l.Say("%s has read %d and has not written yet", words.Short(name, mostName), r.Seen[name])})
	}
	if r.Writes > 0 {
		c.Lines = append(c.Lines, plainLine(a.l.Say("writes: %d", r.Writes), false))
	}
	if checks == scenario.ChecksToken || r.Token > 0 {
		newest := a.l.Say("newest token seen: none")
		if r.Token > 0 {
			newest = a.l.Say("newest token seen: %d", r.Token)
		}
		c.Lines = append(c.Lines, plainLine(newest, false))
	}
	if checks != "" || r.Token > 0 || r.Refused > 0 {
		c.Lines = append(c.Lines, plainLine(a.l.Say("writes refused: %d", r.Refused), false))
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

// call is a business call as it would be written.
func (a *Actors) call(thread string, level int) string {
	name := "work"
	if r := a.sc.Resource; r != nil {
		name = map[string]string{scenario.KindCounter: "increment", scenario.KindStock: "sell", scenario.KindPurchases: "buy", scenario.KindEffect: "send"}[r.Kind]
	}
	i, ok := a.ordinals[thread]
	if ok {
		if names := strings.Fields(a.sc.Threads[i].Calls); level <= len(names) {
			return names[level-1] + "()"
		}
	}
	if ok && a.sc.Threads[i].Depth > 1 {
		return fmt.Sprintf("%s(%d)", name, level)
	}
	return name + "()"
}

func (a *Actors) ofCalls() Card {
	c := Card{Kind: OfCalls, Title: a.l.Say("call stack"), None: a.l.Say("nobody is in a business call")}
	for _, thread := range a.inOrder(a.stacks.Threads()) {
		s := a.stacks[thread]
		at := a.thread(thread)
		for level := s.Levels; level > 0 && len(c.Lines) <= mostLines; level-- {
			line := CardLine{Thread: at, Code: a.call(thread, level), Text: a.doing(s, level), Within: level < s.Levels}
			if level < s.Levels {
				line.Text = a.l.Say("level %d, has called %s", level, a.call(thread, level+1))
			}
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

// doing says what the innermost call is at.
func (a *Actors) doing(s facts.Stack, level int) string {
	switch s.Doing {
	case facts.Asking:
		return a.l.Say("asks for level %d, attempt %d", level, s.Attempt)
	case facts.Entered:
		return a.l.Say("has level %d", level)
	case facts.Working:
		return a.l.Say("works at level %d", level)
	case facts.Leaving:
		return a.l.Say("is leaving level %d", level)
	default:
		return a.l.Say("level %d, its work is done", level)
	}
}

func (a *Actors) ofLine() Card {
	c := Card{Kind: OfLine, Title: a.l.Say("waiting in Redis"), None: a.l.Say("nobody")}
	names, certain := a.line.Threads(mostLines + 1)
	for i, name := range names {
		text := a.l.Say("%d. is woken next", i+1)
		switch {
		case i > 0:
			text = a.l.Say("%d.", i+1)
		case a.protocol.Granting:
			text = a.l.Say("%d. is served next", i+1)
		}
		c.Lines = append(c.Lines, CardLine{Thread: a.thread(name), Text: text})
	}
	if !certain {
		c.Lines = append(c.Lines, plainLine(a.l.Say("the fail-over may have lost some"), true))
	}
	return c
}

func (a *Actors) ofWords() Card {
	c := Card{Kind: OfWords, Title: a.l.Say("the lock's word in memory")}
	for _, process := range a.processes {
		word := a.words.Of(process)
		line := CardLine{Thread: -1, Code: words.Short(process, mostName), Text: a.l.Say("free")}
		switch {
		case word.Thread != "" && word.Count > 1:
			line.Thread, line.Text = a.thread(word.Thread), a.l.Say("%s, %d times", word.Thread, word.Count)
		case word.Thread != "":
			line.Thread, line.Text = a.thread(word.Thread), word.Thread
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

func (a *Actors) ofNodes() Card {
	c := Card{Kind: OfNodes, Title: a.l.Say("nodes, each with its key and clock")}
	for i, k := range a.now.Nodes {
		line := CardLine{Thread: -1, Code: strconv.Itoa(i + 1), Text: a.l.Say("no key")}
		if holders := a.owners.Holders(k); len(holders) > 0 {
			line.Thread = a.thread(holders[0])
			line.Text = a.l.Say("%s, no expiry", holders[0])
			if k.PTTL >= 0 {
				line.Text = a.l.Say("%s, %s left", holders[0], a.l.Duration(trace.Millis(k.PTTL).Duration()))
			}
		}
		if by := a.clocks[i]; by != 0 {
			sign := "+"
			if by < 0 {
				sign, by = "−", -by
			}
			line.Text = a.l.Say("%s; its clock: %s", line.Text, sign+phrase.Duration(by.Duration()))
			line.Bad = true
		}
		if a.down.Down(i) {
			line.Text, line.Bad = a.l.Say("%s; down", line.Text), true
		} else if answer := a.down.Answers(i); answer != "" {
			line.Text, line.Bad = a.l.Say("%s; answers %s", line.Text, answer), true
		} else if cut := a.down.CutOff(i); len(cut) > 0 {
			line.Text, line.Bad = a.l.Say("%s; down for %s", line.Text, a.l.List(cut)), true
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
