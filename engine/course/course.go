// Package course is the course: it reads the chapters in lessons/course, plays their
// scenarios, and computes from those runs what a text must not type: the right answers,
// the wrong ones, every number, every line of a script, and whether a learner's moves
// have reached an item's goal. It knows neither HTTP nor HTML: texts leave it as
// Markdown.
//
// # Writing an item
//
// A chapter is a folder, NN-name, of chapter.yaml and a text in at least one
// language, en.md or zh.md; readers of the other language get that one. Beside the
// chapters an en.md or zh.md may have the course's own title: # Its title.
// "playground learn -check lessons/course" reads all of them, plays what they need,
// and lists each mistake with its file and line.
//
// chapter.yaml has the chapter's id, as in addresses, about how many minutes it
// takes, and its items in order:
//
//	id: lease
//	minutes: 10
//	short: true                     # also for those with little time
//	items:
//	  - id: who-knows
//	    extra: true                 # the short way leaves it out
//	    kind: predict               # read, predict, why, rank, break, mend, order, write, review or diagnose
//	    scenario: lease-expiry      # one of lessons/scenarios; or run: and a whole scenario; or lab: or review: and what was recorded
//	    change: {lock: {lease: 1s}} # merged into it; of a list whose entries have a name, the named ones; null removes
//	    at: expired                 # where the stage stands
//	    until: B acquired           # of predict: whose outcome is asked for
//	    ask: [call B, belief A]     # and what of it
//	    options:
//	      - id: renewed
//	        change: {lock: {watchdog: 66ms}}
//	        believes: lease-is-lock # the misconception of who chooses it
//
// A moment is a place in a run: "start", "end", "expired", "broken RULE", "believe A
// B" (all of them at once), "kept" (the key has no expiry), a fault's name, or what
// a thread does: "B acquired" and every other result of a call, "B works", "B
// worked", "B waits", "B reads", "B writes", "B ended", a fault of it, or a Redis
// command in capitals, "A DEL". "B refused 3" is the third; "before B acquired" is
// the step before. The stage shows the state after the whole step of a moment.
//
// An item asks for one of: "call B" (the result of its last call), "key", "belief",
// "belief A", "inside", "count A", "left" (of the lease), "value" (of the counter or
// the stock), "write A", "ended A", "gets-in B" (when), "commands" (how many Redis
// ran), "together" (how many asked for the lock at the same instant as another),
// "token A", and, for a lab's results, "broken RULE" (in how many of its orders).
//
// The kinds:
//
//   - read: a text beside the stage at a moment.
//
//   - predict: the stage stands at at; the question is what is seen after until.
//     The item's own run is right. Each option is another run, one change away,
//     and its text is what was seen there: at the same instant, or after its own
//     until. An option that looks like another one is a mistake.
//
//   - why: goal is a moment that the run comes to. Of the options, each a change,
//     exactly one prevents it; or none does, and one option says so: {id: other, none: true}.
//
//   - rank: the learner puts three mends in order, options:, each a change; who saves the most of
//     two or three situations: comes first. A situation is a change of the item's run, which then
//     comes to goal; a mend saves it if it does not with its change on top. What is right is so
//     what their runs do. Two mends that save as many are a mistake. A situation has a text of its
//     own, under a heading with its id.
//
//   - break: goal is a moment that the run does not come to by itself, mostly
//     "broken RULE". Package explore finds the smallest way to it within:
//     {delays: 2, faults: [pause], max-faults: 1}, which so is proven to be the
//     smallest. For another goal solution are moves, as in a scenario's schedule.
//     controls names what the learner may use beside the threads' own steps:
//     time, and faults.
//
//   - mend: goal is "broken RULE", which some schedule within: breaks. Right is
//     each option under which none does; of the others the smallest that still
//     does is shown.
//
//   - order: a script is put together of its lines. script: names a lock and one
//     of its scripts; pieces are all lines of code in it, in order, "6" or "6-8"
//     where several go together; strays are lines of other scripts, which it does
//     not need. Right is every order that does what the lock's script does in
//     each of cases: how Redis is found before (commands; "key" is the lock's),
//     and args, the owner first. then is a scenario that shows
//     the finished script at work.
//
//   - write: the learner writes one script of a lock. The run's lock is protocol:
//     own, like: a bundled one, and its only script is the one to begin with. Right is
//     whatever breaks no rule within: that the bundled lock keeps, and has every thread end as
//     that does. goal is the rule that the first script breaks, if it is to break one.
//     solution is a script that is right and sends as few commands as are needed; without
//     it that is the bundled lock's.
//
//   - review: the learner reads client code, and marks each line at fault, or says that
//     none is. review: capture is the file of that name in the folder review
//     of the course, NAME.go, .py or .js. What is between the comments "shown" and "folded"
//     is shown; the lines at fault are between "at fault: ID" and "end". NAME.mended.go
//     is the same file with other lines there, between "mended: ID" and "end". Both are
//     workers of the lab, which has searched them: NAME.json and NAME.mended.json, with
//     two faults also NAME.mended-ID.json, where only one is mended. NAME.jsonl is an order
//     of the file as it stands, NAME.lines.json the lines that sent its commands. goal is
//     "broken RULE", which some order breaks, and none of what is mended. A heading with
//     a fault's ID has the text on it.
//
//   - diagnose: the learner reads what was logged of an incident, says the cause, and
//     then which command to run next. log: is what is seen of the run until: a moment, or
//     its end: monitor (with several nodes "monitor 3"), clients, "client B", "metrics
//     500ms". Each option is a cause, and its run has logs of its own; right is the one
//     whose logs are these, so it changes nothing. next: are commands: GET, HGETALL, PTTL,
//     EXISTS or TYPE of the lock's key, CLIENT LIST, INFO stats, INFO server, SLOWLOG GET,
//     with several nodes "GET 3". Right is the one that at: a moment, or at the end, answers
//     something else under the wrong cause whose logs part latest from these.
//
// any-length: true, in within:, tries faults that last for a while with many lengths, from
// a part of the lease to three leases; otherwise they last as long as by hand.
//
// A sentence that says of every order what happens carries it as a claim, which is searched:
//
//	claims:
//	  - id: late                    # the sentence has {{claim "late"}}
//	    option: checked             # of whose run; or scenario: and its name; else the item's own
//	    change: {lock: {lease: 1s}} # of that run
//	    holds: [lost-update]        # rules that no order breaks
//	    within: {faults: [pause], max-faults: 1} # of any length
//
// lab: lost-reply shows what `playground lab` found of somebody's own lock: the
// folder labs of the course has lost-reply.json, as -json printed it,
// lost-reply.jsonl, as -save wrote it, and the worker. Nobody can step or change
// that, so such an item is of the kinds read, predict, why or mend, and each of its
// options has its own lab:. In a mend item, an option is right if none of its orders
// breaks the goal's rule.
//
// A run may have a lock of the course's own, protocol: own, say of readers or permits. Its
// scripts run in a box, which the options' scripts share: those of an item whose own run has
// no such lock have none.
//
// An item may have again:, another question on the same idea for later: with its own run
// or change, options and text, under its id with -again. Keys that again: leaves out are
// as in the first.
//
// A wrong option of why should be half a cure. helps: says for which run: it is a
// change of the item's run, which then reaches the goal without the option, and not
// with it. A right option of mend may have helps:, too: that run is what is shown of it.
//
// A chapter with check: true is the concept check: items of the kinds why, rank, review and
// diagnose, of which it asks the cause alone, each with again:, the question after the course,
// and taught:, the item of the course that teaches it. Its texts have a goal and the texts of
// options or faults, and nothing else.
//
// A text has a title and an introduction, and then a heading for each item:
//
//	# The lease
//	## The lease ends. Who knows? {#who-knows}
//	A works for {{work "A"}} under a lease of {{lease}}.
//	### goal
//	It is {{at "B acquired"}}, and B asks again. What happens?
//	### nudge
//	Who tells A that the lease has ended?
//	### renewed
//	That happens where a watchdog renews the lease.
//	### after
//	A believes what is no longer true.
//
// goal is the question or the task, nudge the first hint, after the text once it is
// solved; a heading with an option's id has the text for learners who chose it, and
// for why and mend its first paragraph is the option's text. The text is Markdown
// without HTML. Never type numbers: a digit outside of {{…}} that belongs to no name
// (T8) is a mistake. The functions are those of Tells; {{in "renewed" "at" "A
// renewed"}} asks an option's run.
package course

import (
	"cmp"
	"crypto/sha256"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/explore"
	"relock/engine/scenario"
	"relock/lessons"
)

// MaxWords is how long the text of an item may be, before its goal: what you can
// read without losing sight of the stage. Two Han characters count as a word.
const MaxWords = 90

// Language is a language that a course is taught in.
type Language interface {
	Code() string                    // "en", "zh-CN"; the text of a chapter is en.md, zh.md
	Duration(d time.Duration) string // as people write it
}

// Course is the chapters in order. It is not changed after it was read, and so
// is safe for concurrent use.
type Course struct {
	Chapters []*Chapter
	Check    *Chapter // the concept check: its questions, and then the same on other runs

	languages []Language
	items     map[string]*Item  // by address
	titles    map[string]string // by language
}

// Chapter is some items that belong together.
type Chapter struct {
	ID      string // as in addresses
	Number  int    // 0 is the first
	Minutes int
	Short   bool // it belongs to the short way, for those with little time
	Items   []*Item

	check    bool
	dir      string
	texts    map[string]*text // by language
	fallback *text            // where a language has none
	brief    struct{ items, minutes int }
}

// Item is one thing to read or to do.
type Item struct {
	Chapter  *Chapter
	ID       string
	Kind     Kind
	Scenario *scenario.Scenario
	Bundled  bool      // the scenario is one of lessons/scenarios, perhaps changed
	Options  []*Option // as they are shown
	Lua      bool      // the stage shows the scripts of the lock
	Extra    bool      // the short way through the course leaves it out
	Taught   *Item     // of the concept check: where the course teaches it
	Again    *Item     // another question on the same idea, asked later, or nil

	lab *Run // what a lab recorded, in the place of a run of Scenario, which is its frame only; or nil

	at, until, goal Moment
	within          explore.Bounds // what is searched
	anyLength       bool           // with faults of many lengths
	claims          []claim
	task            task
	taught          placed
	line            int   // in chapter.yaml
	first           *Item // whose Again it is, or nil

	kept     map[string]keptFound // searches that were made already
	searched map[string]keptFound // and those that were not

	once sync.Once
	made *Made
	err  error
}

// Option is one of an item's answers: a run one change away, or of mend and why
// what is changed.
type Option struct {
	ID       string
	None     bool   // of why: none of the others prevents it
	Believes string // the misconception of who chooses it, a tag
	Scenario *scenario.Scenario

	lab               *Run // what a lab recorded, as of the item
	until             Moment
	elsewhere, helped *scenario.Scenario // a run that the option would have mended, before and after; nil for none
	line              int
}

// Lab is what a lab found of the lock that the item shows, or nil. Its run cannot be
// stepped or changed: nobody has its worker but the lab.
func (i *Item) Lab() *Lab {
	if i.lab == nil {
		return nil
	}
	return i.lab.Lab
}

// Rule is the rule that an item's goal is about, "" for none.
func (i *Item) Rule() string { return i.goal.rule }

// Path is the item's address below /learn/.
func (i *Item) Path() string { return i.Chapter.ID + "/" + i.ID }

// First is the item that this one asks again, or itself: an answer counts for it.
func (i *Item) First() *Item {
	if i.first != nil {
		return i.first
	}
	return i
}

// Number is the item's place in its chapter, from 1.
func (i *Item) Number() int { return slices.Index(i.Chapter.Items, i.First()) + 1 }

// Option finds an option by its id, nil where there is none.
func (i *Item) Option(id string) *Option {
	for _, o := range i.Options {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// Chapter finds a chapter by its id.
func (c *Course) Chapter(id string) (*Chapter, bool) {
	for _, ch := range c.Chapters {
		if ch.ID == id {
			return ch, true
		}
	}
	return nil, false
}

// Item finds an item by its address, "lease/who-knows".
func (c *Course) Item(path string) (*Item, bool) {
	i, ok := c.items[path]
	return i, ok
}

// Items are all items in order, without the concept check's.
func (c *Course) Items() []*Item {
	var all []*Item
	for _, ch := range c.Chapters {
		all = append(all, ch.Items...)
	}
	return all
}

// All are all items, each followed by the item that asks it again; those of the concept
// check come last.
func (c *Course) All() []*Item {
	var all []*Item
	for _, ch := range c.Chapters {
		all = append(all, ch.all()...)
	}
	if c.Check != nil {
		all = append(all, c.Check.all()...)
	}
	return all
}

// all are the chapter's items, each followed by what is asked again of it.
func (ch *Chapter) all() []*Item {
	var all []*Item
	for _, i := range ch.Items {
		all = append(all, i)
		if i.Again != nil {
			all = append(all, i.Again)
		}
	}
	return all
}

// When says to which half of the concept check an item belongs: "before",
// "after", or "" to none.
func (i *Item) When() string {
	switch {
	case !i.Chapter.check:
		return ""
	case i.first != nil:
		return "after"
	default:
		return "before"
	}
}

// Half are the items of a chapter, or of the concept check those of the item's
// half.
func (i *Item) Half() []*Item {
	if i.When() != "after" {
		return i.Chapter.Items
	}
	half := make([]*Item, 0, len(i.Chapter.Items))
	for _, one := range i.Chapter.Items {
		half = append(half, one.Again)
	}
	return half
}

// Around are the items before and after one, nil at the ends.
func (c *Course) Around(i *Item) (before, after *Item) {
	all := c.Items()
	if i.Chapter.check {
		all = i.Half()
	}
	at := slices.Index(all, i)
	if at > 0 {
		before = all[at-1]
	}
	if at >= 0 && at+1 < len(all) {
		after = all[at+1]
	}
	return before, after
}

// Without is where one goes on after an item without what is extra, nil at the end.
func (c *Course) Without(i *Item) *Item {
	_, next := c.Around(i)
	for next != nil && next.Extra {
		_, next = c.Around(next)
	}
	return next
}

// wordsAMinute is how fast a text about code is read.
const wordsAMinute = 180

// Takes is about how many minutes an item of a chapter takes: to read its text, all of its
// replies and what is reviewed, and to answer.
func (i *Item) Takes() float64 {
	words := 0
	if code, is := i.task.(*Review); is {
		for _, line := range code.Lines {
			words += len(strings.Fields(line.Text))
		}
	}
	for _, p := range i.Chapter.fallback.items[i.ID].parts {
		words += len(strings.Fields(p.source))
	}
	return float64(words)/wordsAMinute + kindOf(i.Kind).minutes
}

// Brief is how many items of the chapter are not extra, and about how many minutes they
// take.
func (ch *Chapter) Brief() (items, minutes int) { return ch.brief.items, ch.brief.minutes }

// abridge works out what Brief says.
func (ch *Chapter) abridge() {
	kept := 0.0
	for _, i := range ch.Items {
		if !i.Extra {
			kept += i.Takes()
			ch.brief.items++
		}
	}
	ch.brief.minutes = int(math.Round(kept))
}

// MostEarlier is how many earlier questions a chapter ends with.
const MostEarlier = 3

// Earlier are questions on the ideas of earlier chapters, at the end of a chapter;
// none elsewhere. If an idea has another question, it asks that one. Each idea comes as
// seldom as it can, and those of the chapters before as soon as they can.
func (c *Course) Earlier(i *Item) []*Item {
	if i.Chapter.check || i.Chapter.Items[len(i.Chapter.Items)-1] != i {
		return nil
	}
	times := map[*Item]int{} // how often it was asked already
	var asked, out []*Item
	for _, ch := range c.Chapters {
		seldom := slices.Clone(asked)
		slices.SortStableFunc(seldom, func(a, b *Item) int { return times[a] - times[b] })
		out = out[:0]
		for _, one := range seldom[:min(MostEarlier, len(seldom))] {
			times[one]++
			out = append(out, one)
		}
		if ch == i.Chapter {
			break
		}
		for _, one := range ch.Items {
			if kindOf(one.Kind).earlier {
				asked = append(asked, one)
			}
		}
	}
	for n, one := range out {
		if one.Again != nil {
			out[n] = one.Again
		}
	}
	return out
}

// shuffle puts options in an order that tells nothing, and is always the same.
func shuffle(of string, list []*Option) {
	slices.SortFunc(list, func(a, b *Option) int {
		switch { // none is about the others, and comes after them
		case a.None && !b.None:
			return 1
		case b.None && !a.None:
			return -1
		}
		return cmp.Compare(weight(of+"/"+a.ID), weight(of+"/"+b.ID))
	})
}

// weight sorts texts in an order that says nothing about them.
func weight(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// BuiltIn is the course that comes with the program, in some languages, read
// once for them. It fails with Mistakes. It keeps the results of its searches, and does
// not search again. It is safe for concurrent use.
func BuiltIn[L Language](in []L) (*Course, error) {
	builtIn.Lock()
	defer builtIn.Unlock()
	var codes strings.Builder
	for _, l := range in {
		codes.WriteString(l.Code() + " ")
	}
	if c := builtIn.courses[codes.String()]; c != nil {
		return c, nil
	}
	c, err := ReadCourse(in, lessons.Course(), lessons.Scenarios())
	if err != nil {
		return nil, err
	}
	kept, err := keptFounds()
	if err != nil {
		return nil, err
	}
	for _, i := range c.All() {
		i.kept = kept
	}
	builtIn.courses[codes.String()] = c
	return c, nil
}

// builtIn are the built-in courses by the codes of their languages.
var builtIn = struct {
	sync.Mutex
	courses map[string]*Course
}{courses: map[string]*Course{}}

// ReadCourse reads a course in some languages: a folder for each chapter at the
// top of fsys, in the order of their names, with a text in each language.
// Scenarios are those that items name. It fails with Mistakes. It plays nothing:
// see [Course.Prove].
func ReadCourse[L Language](in []L, fsys, scenarios fs.FS) (*Course, error) {
	languages := make([]Language, len(in))
	for n, l := range in {
		languages[n] = l
	}
	return readCourse(languages, fsys, scenarios)
}
