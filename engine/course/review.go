package course

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strings"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// reviews is the folder of a course that has client code to be reviewed, and what the
// lab found of it.
const reviews = "review"

// Once ends the name of what the lab found of a file if one thread dies right after its deed,
// while a lease may end: what is done once then is done once.
const Once = ".once"

// MaxShown is how many lines of code an item shows: what is read beside the stage
// without scrolling far.
const MaxShown = 30

// MaxFaults is how many faults a file may have: what is left of every choice of them
// was searched.
const MaxFaults = 2

// reviewKind are files whose faulty lines are marked. Its task is read with the run.
var reviewKind = kind{name: ReviewCode, needs: []string{"review"}, minutes: 1, checked: true, task: func() task { return nil }}

type reviewYAML struct {
	Review placed `yaml:"review"`
}

// Review is client code as in a pull request, and what the lab found in it. It is not
// changed after it was read.
type Review struct {
	Name   string
	File   string     // of its text, in the folder of reviews
	Lines  []CodeLine // that are shown
	Faults []string   // their IDs, as they come; none where it is right
	Fixed  []string   // what is shown once they are mended; nil where it is right
	Equal  []string   // what is shown once they are mended in another way, as well; nil where there is none

	Ran   []Ran // of the run that is shown
	Whole *Lab  // as it stands
	Once  *Lab  // mended, if one dies right after its deed and one comes later; nil where nothing must be done once
	left  map[string]*Lab
	whole map[string]*Lab // of what is mended wholly and runs so, by file
	rule  string          // that an order breaks, "" for none

	source []sourceLine
	mended map[string][]string // by region
}

// CodeLine is a line of code.
type CodeLine struct {
	Text   string
	Fault  string // that it is a part of, or ""
	Around bool   // it stands at a fault, and in each mended file as well: whoever marks it is not wrong, and has not found it
	Equal  bool   // it is at fault in the other way to mend it alone
	Markup bool   // it only holds others together, or is a comment: nobody can find fault with it
}

// AtFault reports whether the line is at fault: it is not only around it.
func (l CodeLine) AtFault() bool { return l.Fault != "" && !l.Around && !l.Markup }

// Ran is a line that ran, in a step of the run.
type Ran struct {
	Step   int
	Thread string
	Line   int // that is shown, from 1
}

// Suspects are lines of which one may be at fault, by number, at most so many: one that
// is, if there is any, and others that ran, or else any that could be marked.
func (r *Review) Suspects(most int) []int {
	var list []int
	add := func(n int) {
		if line := r.Lines[n-1]; len(list) < most && !line.Markup && (line.Fault == "" || len(list) == 0) && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for n, line := range r.Lines {
		if line.AtFault() && len(list) == 0 {
			add(n + 1)
		}
	}
	for _, ran := range r.Ran {
		add(ran.Line)
	}
	for n := range r.Lines {
		add(n + 1)
	}
	slices.Sort(list)
	return list
}

// sourceLine is a line of a file, without its markers.
type sourceLine struct {
	text   string
	number int    // in the file, from 1
	shown  bool   // it is between shown and folded
	region string // "del 1": the first one at fault of that ID, or ""
}

// commentOf is what comments begin with, by the endings of files that can be reviewed.
var commentOf = map[string]string{".go": "//", ".py": "#", ".js": "//"}

// equal is what is called the file that is mended in another way.
const equal = ".equal"

// ReadReview reads the texts of a review in the folder review of a course: NAME.go, what is
// mended, NAME.mended.go, and where it can be mended elsewhere just as well, NAME.equal.go (or
// .py, .js); and nothing of what the lab found. It fails with what is wrong with them.
func ReadReview(course fs.FS, name string) (*Review, error) {
	if !nameLike(name) {
		return nil, phrase.New("review: given %q, allowed: the name of a file in %s, such as capture", name, reviews)
	}
	for _, ending := range []string{".go", ".py", ".js"} {
		file := reviews + "/" + name + ending
		data, err := readFile(course, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, phrase.New("%s: %s", "review", err)
		}
		r := &Review{Name: name, File: name + ending}
		if r.source, err = readSource(string(data), commentOf[ending], "at fault: "); err != nil {
			return nil, phrase.New("%s:%s", file, err)
		}
		if err := r.show(); err != nil {
			return nil, phrase.New("%s: %s", file, err)
		}
		if len(r.Faults) == 0 {
			return r, nil
		}
		return r, r.readMended(course, ending)
	}
	return nil, phrase.New("review: there is no %s/%s.go, .py or .js", reviews, name)
}

// readMended reads what is mended, in one way or two.
func (r *Review) readMended(course fs.FS, ending string) error {
	changed := map[string]bool{}
	for _, way := range []string{".mended", equal} {
		file := reviews + "/" + r.Name + way + ending
		data, err := readFile(course, file)
		if way == equal && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return phrase.New("%s: %s", "review", err)
		}
		mended, err := readSource(string(data), commentOf[ending], "mended: ")
		if err != nil {
			return phrase.New("%s:%s", file, err)
		}
		if err := r.compare(mended, way == equal, changed); err != nil {
			return phrase.New("%s: %s", file, err)
		}
	}
	for _, line := range r.source {
		if line.region != "" && !changed[line.region] {
			return phrase.New("%s is not mended", line.region)
		}
	}
	return nil
}

// readSource reads a file, whose regions begin with a word in a comment. It fails with
// the line and what is wrong with it.
func readSource(text, comment, begins string) ([]sourceLine, error) {
	var list []sourceLine
	shown, region, times := false, "", map[string]int{}
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		said, marker := strings.CutPrefix(strings.TrimSpace(line), comment+" ")
		id, at := strings.CutPrefix(said, begins)
		switch {
		case marker && said == "shown" && !shown && region == "":
			shown = true
		case marker && said == "folded" && shown && region == "":
			shown = false
		case marker && at && shown && region == "" && nameLike(id):
			times[id]++
			region = fmt.Sprintf("%s %d", id, times[id])
		case marker && said == "end" && region != "":
			region = ""
		case marker && (at || said == "shown" || said == "folded" || said == "end"):
			return nil, phrase.New("%d: %q is out of place; allowed: shown, then regions (%sID … end), then folded", n+1, said, begins)
		default:
			list = append(list, sourceLine{line, n + 1, shown, region})
		}
	}
	if shown || region != "" {
		return nil, phrase.New("1: what is shown, or a region, has no end")
	}
	return list, nil
}

// idOf is the fault that a region belongs to.
func idOf(region string) string {
	id, _, _ := strings.Cut(region, " ")
	return id
}

// show fills in the lines that are shown, and the faults.
func (r *Review) show() error {
	for _, line := range r.source {
		if !line.shown {
			continue
		}
		r.Lines = append(r.Lines, CodeLine{Text: line.text, Fault: idOf(line.region), Around: line.region != "", Markup: markup(line.text)})
		if id := idOf(line.region); id != "" && !slices.Contains(r.Faults, id) {
			r.Faults = append(r.Faults, id)
		}
	}
	for len(r.Lines) > 0 && strings.TrimSpace(r.Lines[len(r.Lines)-1].Text) == "" {
		r.Lines = r.Lines[:len(r.Lines)-1]
	}
	switch {
	case len(r.Lines) == 0 || len(r.Lines) > MaxShown:
		return phrase.New("it shows %d lines; allowed: 1 to %d", len(r.Lines), MaxShown)
	case len(r.Faults) > MaxFaults:
		return phrase.New("it has %d faults; allowed: up to %d", len(r.Faults), MaxFaults)
	}
	return nil
}

// markup reports whether a line has brackets alone, or a comment.
func markup(text string) bool {
	text = strings.Trim(text, " \t{}()")
	return text == "" || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "# ") || strings.HasPrefix(text, `"""`)
}

// block is a region, or what is between two.
type block struct {
	region string
	shown  bool
	lines  []string
}

func blocks(source []sourceLine) []block {
	var list []block
	for _, line := range source {
		if n := len(list); n == 0 || list[n-1].region != line.region || list[n-1].shown != line.shown {
			list = append(list, block{region: line.region, shown: line.shown})
		}
		last := &list[len(list)-1]
		last.lines = append(last.lines, line.text)
	}
	return list
}

// around tells of each line of a region whether it stands in what is mended, too: without it
// the two are less alike. Where something is only added, nothing is around it.
func (b *block) around(mended []string) []bool {
	list := make([]bool, len(b.lines))
	all, some := alike(b.lines, mended), false
	for n, line := range b.lines {
		list[n] = alike(slices.Delete(slices.Clone(b.lines), n, n+1), mended) < all
		some = some || !list[n] && !markup(line)
	}
	if !some {
		clear(list)
	}
	return list
}

// alike is how many lines two texts share, in the same order.
func alike(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + alike(a[1:], b[1:])
	default:
		return max(alike(a[1:], b), alike(a, b[1:]))
	}
}

// compare reads what is mended, in one way or in the other: the same file but for its regions.
// It notes which of them are changed.
func (r *Review) compare(mended []sourceLine, other bool, changed map[string]bool) error {
	way, fixed := map[string][]string{}, []string{}
	own, theirs := blocks(r.source), blocks(mended)
	if len(own) != len(theirs) {
		return phrase.New("it has not the same regions as the file at fault")
	}
	ids := map[string]bool{}
	shown := 0
	for n, b := range own {
		same := slices.Equal(b.lines, theirs[n].lines)
		switch {
		case b.region != theirs[n].region || b.shown != theirs[n].shown || b.region == "" && !same:
			return phrase.New("it differs from the file at fault outside of a region: near %q", strings.TrimSpace(theirs[n].lines[0]))
		case b.region != "":
			way[b.region] = theirs[n].lines
		}
		if !same {
			changed[b.region], ids[idOf(b.region)] = true, true
			for k, around := range b.around(theirs[n].lines) {
				if line := &r.Lines[shown+k]; !around {
					line.Equal, line.Around = other && line.Around, false
				}
			}
		}
		if b.shown {
			shown += len(b.lines)
			fixed = append(fixed, theirs[n].lines...)
		}
	}
	for len(fixed) > 0 && strings.TrimSpace(fixed[len(fixed)-1]) == "" {
		fixed = fixed[:len(fixed)-1]
	}
	if other {
		r.Equal = fixed
	} else {
		r.mended, r.Fixed = way, fixed
	}
	for _, id := range r.Faults {
		if !ids[id] {
			return phrase.New("%s is not mended", id)
		}
	}
	return nil
}

// With is the whole file with some of its faults mended.
func (r *Review) With(faults ...string) string {
	var out strings.Builder
	for _, b := range blocks(r.source) {
		lines := b.lines
		if b.region != "" && slices.Contains(faults, idOf(b.region)) {
			lines = r.mended[b.region]
		}
		for _, line := range lines {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// Variants are the choices of faults that are mended together, each with what its files
// are called: none, where there are several one alone, and all of them.
func (r *Review) Variants() map[string][]string {
	out := map[string][]string{r.Name: nil}
	if len(r.Faults) > 0 {
		out[r.Name+".mended"] = r.Faults
	}
	if len(r.Equal) > 0 {
		out[r.Name+equal] = r.Faults
	}
	if len(r.Faults) > 1 {
		for _, id := range r.Faults {
			out[r.Name+".mended-"+id] = []string{id}
		}
	}
	return out
}

// choice tells a choice of faults from others.
func (r *Review) choice(mended []string) string {
	var list []string
	for _, id := range r.Faults {
		if slices.Contains(mended, id) {
			list = append(list, id)
		}
	}
	return strings.Join(list, " ")
}

// Left is what the lab found with some of the faults mended.
func (r *Review) Left(mended ...string) *Lab { return r.left[r.choice(mended)] }

// Mended is what the lab found with all faults mended; if the code has no fault, in the
// code itself.
func (r *Review) Mended() *Lab { return r.Left(r.Faults...) }

// Breaks is in how many orders of a search a fault shows: of those in which any rule is
// broken, or, where some are broken whatever is mended, of those that break the item's.
func (r *Review) Breaks(found *Lab) *big.Int {
	if r.Mended().Broken.Sign() == 0 {
		return found.Broken
	}
	return found.Breaks(r.rule)
}

func (*Review) read(*itemReader) {}

func (r *Review) headings() (labels, says []string) { return nil, r.Faults }

// runs are what the lab found with all faults mended.
func (r *Review) runs(m *Made) map[string]*Run {
	return map[string]*Run{"mended": {Scenario: m.Run.Scenario, Header: m.Run.Header, Events: m.Run.Events, Lab: r.Mended()}}
}

// ofReview reads the code of an item, and what the lab found of it.
func (r *reader) ofReview(y *itemYAML, kind Kind) (*Review, *Run, error) {
	switch {
	case kind != ReviewCode:
		return nil, nil, phrase.New("review: it is for items of the kind review")
	case y.Again != nil && y.Again.Review.Text == "" || y.Change.Kind != 0 || y.Lua || len(y.Options) > 0 || y.Within.Delays > 0 || y.Within.Max > 0:
		return nil, nil, phrase.New("review: what was recorded has no options, changes or bounds of its own, and what is asked again another review")
	}
	name := y.Review.Text
	code, err := ReadReview(r.course, name)
	if err != nil {
		return nil, nil, err
	}
	run, err := recorded(r.course, reviews, name)
	if err != nil {
		return nil, nil, err
	}
	code.Whole, code.left, code.whole = run.Lab, map[string]*Lab{}, map[string]*Lab{}
	for file, mended := range code.Variants() {
		found, err := readLab(r.course, reviews, file)
		if err == nil && len(mended) == len(code.Faults) {
			if code.whole[file] = found; found.once {
				code.Once, err = readLab(r.course, reviews, file+Once)
				code.whole[file+Once] = code.Once
			}
		}
		if err != nil {
			return nil, nil, err
		}
		if !strings.HasSuffix(file, equal) {
			code.left[code.choice(mended)] = found
		}
	}
	if code.Ran, err = code.lines(r.course, run); err != nil {
		return nil, nil, err
	}
	return code, run, nil
}

// sentLine is a command of a worker, and the lines of its file that sent it, the
// innermost first.
type sentLine struct {
	Verb  string `json:"verb"`
	Lines []int  `json:"lines"`
}

// lines reads which lines sent the commands of a run: in NAME.lines.json are those of
// each thread, in their order. Without that file nobody knows.
func (r *Review) lines(course fs.FS, run *Run) ([]Ran, error) {
	file := reviews + "/" + r.Name + ".lines.json"
	data, err := readFile(course, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var sent map[string][]sentLine
	if err == nil {
		err = notJSON(json.Unmarshal(data, &sent))
	}
	if err != nil {
		return nil, phrase.New("%s: %s", file, err)
	}
	var out []Ran
	for n, e := range run.Events {
		verb, sends := verbOf(e)
		if !sends || n > 0 && run.Events[n-1].Step == e.Step {
			continue
		}
		for _, same := range run.Events[n:] { // where a fault strikes it, that comes first
			if of, ok := verbOf(same); ok && same.Step == e.Step && verb == "" {
				verb = of
			}
		}
		list := sent[e.Thread]
		if len(list) == 0 || !strings.HasPrefix(list[0].Verb, verb) {
			return nil, phrase.New("%s: step %d of %s is %q, which no line sends then", file, e.Step, e.Thread, verb)
		}
		sent[e.Thread] = list[1:]
		if n := r.shown(list[0].Lines); n > 0 {
			out = append(out, Ran{e.Step, e.Thread, n})
		}
	}
	for thread, list := range sent {
		if len(list) > 0 {
			return nil, phrase.New("%s: of %s nobody has seen %q", file, thread, list[0].Verb)
		}
	}
	return out, nil
}

// verbOf is the command that an event tells of, "" where a fault has taken it, and
// whether it tells of one.
func verbOf(e trace.Event) (verb string, sends bool) {
	switch b := e.Body.(type) {
	case trace.Command:
		if b.Script != "" {
			return "EVAL", true // which EVALSHA is, too
		}
		return strings.ToUpper(b.Args[0]), true
	case trace.Work:
		return "ECHO", true
	case trace.Fault:
		return "", e.Thread != ""
	}
	return "", false
}

// shown is the innermost of some lines of the file that is shown, as it is counted
// there; 0 where none is.
func (r *Review) shown(lines []int) int {
	for _, number := range lines {
		n := 0
		for _, line := range r.source {
			if line.shown {
				n++
			}
			if line.number == number && line.shown {
				return n
			}
		}
	}
	return 0
}

// make holds a review to what the lab found.
func (r *Review) make(_ context.Context, i *Item, m *Made) error {
	m.Solved, r.rule = m.Run, i.goal.rule
	for _, file := range slices.Sorted(maps.Keys(r.whole)) {
		if found := r.whole[file]; found.Breaks(check.DoneTwice).Sign() > 0 {
			return i.wrong(0, "%s: in %s of %s orders it is done twice, by one that comes later or after a crash", file, found.Breaks(check.DoneTwice), found.Orders)
		}
	}
	if len(r.Faults) == 0 {
		if r.Whole.Broken.Sign() > 0 {
			return i.wrong(0, "no line of %s is at fault, and %s of %s orders break a rule", r.File, r.Whole.Broken, r.Whole.Orders)
		}
		return nil
	}
	if i.goal.rule == "" {
		return i.wrong(0, "goal: what the fault breaks is a rule: broken RULE")
	}
	for _, file := range slices.Sorted(maps.Keys(r.whole)) {
		mended := r.whole[file]
		if n := mended.Breaks(i.goal.rule); n.Sign() > 0 && !strings.HasSuffix(file, Once) {
			return i.wrong(0, "with its faults mended, %s of %s orders break %s", n, mended.Orders, i.goal.rule)
		}
	}
	if _, ok := i.goal.find(m.Run.Events); !ok {
		return i.wrong(0, "goal: what is kept of the lab %s does not come to %q", r.Name, i.goal)
	}
	for file, ids := range r.Variants() {
		if found := r.Left(ids...); len(ids) < len(r.Faults) && r.Breaks(found).Sign() == 0 {
			return i.wrong(0, "%s breaks nothing: a fault that is left does no harm", file)
		}
	}
	return nil
}

// Marked is what came of the lines that somebody has marked.
type Marked struct {
	Solved bool
	Found  []string // faults of which a line is marked
	Idle   []int    // lines that are marked, and not at fault
	Missed int      // faults of which none is
	Equal  bool     // what is marked is mended in the other way
	Left   *Lab     // what the lab finds where Found are mended
}

// Mark judges lines, from 1, that somebody marks as at fault: right is every fault, each
// by any of its lines that a mended file does not have in its place, and nothing else.
// Lines that stand around a fault, are not there, or hold only others together, do not count.
func (r *Review) Mark(lines []int) Marked {
	m := Marked{}
	for n, line := range r.Lines {
		switch {
		case !slices.Contains(lines, n+1) || line.Markup:
		case line.Fault == "":
			m.Idle = append(m.Idle, n+1)
		case line.AtFault():
			m.Equal = line.Equal
			if !slices.Contains(m.Found, line.Fault) {
				m.Found = append(m.Found, line.Fault)
			}
		}
	}
	m.Missed, m.Left = len(r.Faults)-len(m.Found), r.Left(m.Found...)
	m.Solved = m.Missed == 0 && len(m.Idle) == 0
	return m
}
