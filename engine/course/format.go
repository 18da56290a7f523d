package course

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/strict"

	"go.yaml.in/yaml/v3"
)

// Mistake is one mistake in a course's files.
type Mistake struct {
	strict.Mistake

	File string
}

// wrongIn is a mistake in a file; line 0 is about all of it.
func wrongIn(file string, line int, why phrase.Wording) Mistake {
	return Mistake{strict.Mistake{Line: line, Why: why}, file}
}

// Says is the mistake as compilers word it: file:line: what.
func (m Mistake) Says() phrase.Wording {
	place := m.File
	if m.Line > 0 {
		place += ":" + strconv.Itoa(m.Line)
	}
	return phrase.Wording{Args: []any{place + ": ", m.Clause()}}
}

// String is the mistake in English.
func (m Mistake) String() string { return m.Says().String() }

// Mistakes are all that were found.
type Mistakes []Mistake

// Error lists them, a line each.
func (m Mistakes) Error() string { return phrase.Lines(m).String() }

// Says implements phrase.Speaker: all of them, a line each.
func (m Mistakes) Says() phrase.Wording { return phrase.Lines(m) }

// placed is a text with its line.
type placed struct {
	Text string
	Line int
}

// UnmarshalYAML reads a scalar.
func (p *placed) UnmarshalYAML(n *yaml.Node) error {
	p.Line = n.Line
	return n.Decode(&p.Text)
}

// The YAML of a chapter.
type (
	chapterYAML struct {
		ID      placed     `yaml:"id"`
		Minutes int        `yaml:"minutes"`
		Short   bool       `yaml:"short"`
		Check   bool       `yaml:"check"`
		Items   []itemYAML `yaml:"items"`
	}
	itemYAML struct {
		ID       placed       `yaml:"id"`
		Kind     placed       `yaml:"kind"`
		Scenario placed       `yaml:"scenario"`
		Run      yaml.Node    `yaml:"run"`
		Lab      placed       `yaml:"lab"`
		Review   placed       `yaml:"review"`
		Change   yaml.Node    `yaml:"change"`
		At       placed       `yaml:"at"`
		Until    placed       `yaml:"until"`
		Ask      []placed     `yaml:"ask"`
		Options  []optionYAML `yaml:"options"`
		Goal     placed       `yaml:"goal"`
		Solution yaml.Node    `yaml:"solution"`
		Controls []placed     `yaml:"controls"`
		Within   withinYAML   `yaml:"within"`
		Script   scriptYAML   `yaml:"script"`
		Table    placed       `yaml:"table"`
		Lua      bool         `yaml:"lua"`
		Again    *itemYAML    `yaml:"again"`
		Taught   placed       `yaml:"taught"`
		Extra    bool         `yaml:"extra"`
		Log      []placed     `yaml:"log"`
		Next     []placed     `yaml:"next"`

		Situations []situationYAML `yaml:"situations"`
	}
	withinYAML struct {
		Delays int      `yaml:"delays"`
		Faults []string `yaml:"faults"`
		Max    int      `yaml:"max-faults"`
	}
	optionYAML struct {
		ID       placed    `yaml:"id"`
		Change   yaml.Node `yaml:"change"`
		Scenario placed    `yaml:"scenario"`
		Lab      placed    `yaml:"lab"`
		Until    placed    `yaml:"until"`
		Helps    yaml.Node `yaml:"helps"`
		None     bool      `yaml:"none"`
		Believes string    `yaml:"believes"`
	}
	situationYAML struct {
		ID     placed    `yaml:"id"`
		Change yaml.Node `yaml:"change"`
	}
	scriptYAML struct {
		Lines  linesYAML   `yaml:",inline"`
		Strays []linesYAML `yaml:"strays"`
		Cases  []struct {
			Before [][]string `yaml:"before"`
			Args   []string   `yaml:"args"`
		} `yaml:"cases"`
		Then placed `yaml:"then"`
	}
	linesYAML struct {
		Lock   placed   `yaml:"lock"`
		Name   string   `yaml:"name"`
		Pieces []placed `yaml:"pieces"`
	}
)

// reader reads a course.
type reader struct {
	languages []Language
	course    fs.FS
	scenarios fs.FS
	mistakes  Mistakes
}

func (r *reader) mistake(file string, line int, text phrase.Text, args ...any) {
	r.mistakes = append(r.mistakes, wrongIn(file, line, phrase.Say(text, args...)))
}

// about is a sentence about an item.
func about(item string, text phrase.Text, args ...any) phrase.Wording {
	return phrase.Wording{Args: []any{item + ": ", phrase.Say(text, args...)}}
}

func readCourse(in []Language, fsys, scenarios fs.FS) (*Course, error) {
	files, err := fs.Glob(fsys, "*/chapter.yaml")
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	if len(files) == 0 {
		return nil, phrase.New("course: there is no chapter")
	}
	r := &reader{languages: in, course: fsys, scenarios: scenarios}
	c := &Course{languages: in, items: map[string]*Item{}, titles: map[string]string{}}
	for n, file := range files {
		ch := r.chapter(fsys, path.Dir(file))
		ch.Number = n
		if _, twice := c.Chapter(ch.ID); twice {
			r.mistake(file, 1, "another chapter has the id %q", ch.ID)
		}
		if ch.check {
			c.Check = ch
		} else {
			c.Chapters = append(c.Chapters, ch)
		}
		for _, i := range ch.all() {
			if c.items[i.Path()] != nil {
				r.mistake(file, i.line, "another item has the id %q", i.ID)
			}
			c.items[i.Path()] = i
		}
	}
	r.titles(fsys, c)
	if c.Check != nil {
		for _, i := range c.Check.Items {
			if i.Taught = c.items[i.taught.Text]; i.Taught != nil && i.Again != nil {
				i.Again.Taught = i.Taught
			}
			if i.Taught == nil {
				r.mistake(c.Check.dir+"/chapter.yaml", cmpLine(i.taught.Line, i.line), "%s: taught is an item of the course, such as lease/who-knows", i.ID)
			} else if i.Taught.Extra {
				r.mistake(c.Check.dir+"/chapter.yaml", cmpLine(i.taught.Line, i.line), "%s: taught is %s, which is extra: the short way would leave it out", i.ID, i.taught.Text)
			}
		}
	}
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	for _, ch := range c.Chapters {
		ch.abridge()
	}
	return c, nil
}

// MaxFile is how many bytes a file of a course may have. The longest of the
// built-in one has 6 KB.
const MaxFile = 1 << 20

// readFile reads a file of a course, if it is one: what has no end is not begun.
func readFile(fsys fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(fsys, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, phrase.New("%s is no regular file", file)
	}
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err = errors.Join(err, f.Close()); err == nil && len(data) > MaxFile {
		err = phrase.New("%s is too large: a file may have %d KiB", file, MaxFile>>10)
	}
	return data, err
}

// name is what an id must look like.
var name = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// reserved are the headings of a text that are no option's.
var reserved = []string{"goal", "nudge", "after"}

func (r *reader) chapter(fsys fs.FS, dir string) *Chapter {
	file := dir + "/chapter.yaml"
	ch := &Chapter{ID: dir, dir: dir, texts: map[string]*text{}}
	data, err := readFile(fsys, file)
	if err != nil {
		r.mistake(file, 0, "%s", err)
		return ch
	}
	var y chapterYAML
	if err := strict.Unmarshal(data, &y); err != nil {
		for _, one := range err {
			r.mistakes = append(r.mistakes, Mistake{one, file})
		}
		return ch
	}
	ch.ID, ch.Minutes, ch.Short, ch.check = y.ID.Text, y.Minutes, y.Short, y.Check
	if !name.MatchString(ch.ID) {
		r.mistake(file, max(y.ID.Line, 1), "id: given %q, allowed: small letters, digits and hyphens", ch.ID)
	}
	if len(y.Items) == 0 {
		r.mistake(file, 1, "a chapter has items")
	}
	for _, one := range y.Items {
		item := r.item(file, one)
		if item == nil {
			continue
		}
		item.Chapter = ch
		ch.Items = append(ch.Items, item)
		if ch.check && !slices.Contains(checked, item.Kind) {
			r.mistake(file, item.line, "%s: the concept check has items of the kinds why, rank, review and diagnose", item.ID)
		}
		if item.Kind == Diagnose && !ch.check && len(item.next) < 2 {
			r.mistake(file, item.line, "%s: diagnose needs two commands or more under next", item.ID)
		}
		if one.Again == nil {
			if ch.check {
				r.mistake(file, item.line, "%s: the concept check asks again: a question on the same idea", item.ID)
			}
			continue
		}
		if item.Again = r.item(file, one.again()); item.Again != nil {
			item.Again.Chapter, item.Again.first = ch, item
		}
	}
	for _, l := range r.languages {
		r.text(fsys, ch, dir+"/"+textFile(l), l.Code())
	}
	for _, l := range r.languages { // a chapter needs one language; whoever asks for another gets the first
		if t := ch.texts[l.Code()]; t != nil {
			ch.fallback = t
			break
		}
	}
	if ch.fallback == nil {
		r.mistake(dir+"/"+textFile(r.languages[0]), 0, "the chapter has no text in any language")
	}
	return ch
}

// textFile is the name of a text in a language.
func textFile(l Language) string {
	short, _, _ := strings.Cut(l.Code(), "-")
	return short + ".md"
}

// titles reads what the course is called: the first line of a text beside its
// chapters, where there is one.
func (r *reader) titles(fsys fs.FS, c *Course) {
	for _, l := range r.languages {
		data, err := readFile(fsys, textFile(l))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		title, ok := strings.CutPrefix(strings.SplitN(string(data), "\n", 2)[0], "# ")
		switch {
		case err != nil:
			r.mistake(textFile(l), 0, "%s", err)
			continue
		case !ok || strings.TrimSpace(title) == "":
			r.mistake(textFile(l), 1, "the first line is the course's title: # …")
			continue
		}
		c.titles[l.Code()] = strings.TrimSpace(title)
	}
}

// again is the other question on the idea of an item. Anything that it leaves out is as
// in the first; it has its own text and options.
func (y itemYAML) again() itemYAML {
	two := *y.Again
	two.ID = placed{y.ID.Text + "-again", cmpLine(two.ID.Line, y.ID.Line)}
	two.Kind, two.Taught = y.Kind, y.Taught
	if two.Scenario.Text == "" && two.Run.Kind == 0 && two.Lab.Text == "" && two.Review.Text == "" {
		two.Scenario, two.Run, two.Lab = y.Scenario, y.Run, y.Lab
	}
	for _, one := range []struct{ into, from *placed }{{&two.At, &y.At}, {&two.Until, &y.Until}, {&two.Goal, &y.Goal}} {
		if one.into.Text == "" {
			*one.into = *one.from
		}
	}
	for _, one := range []struct{ into, from *[]placed }{{&two.Ask, &y.Ask}, {&two.Log, &y.Log}, {&two.Next, &y.Next}} {
		if len(*one.into) == 0 {
			*one.into = *one.from
		}
	}
	if len(two.Situations) == 0 {
		two.Situations = y.Situations
	}
	return two
}

// item reads an item, or notes what is wrong with it and returns nil.
func (r *reader) item(file string, y itemYAML) *Item {
	before := len(r.mistakes)
	i := &Item{ID: y.ID.Text, Kind: Kind(y.Kind.Text), Table: y.Table.Text, Lua: y.Lua, Extra: y.Extra, Bundled: y.Scenario.Text != "", taught: y.Taught, line: y.ID.Line}
	at := func(line int, text phrase.Text, args ...any) {
		r.mistakes = append(r.mistakes, wrongIn(file, cmpLine(line, i.line), about(i.ID, text, args...)))
	}
	if !name.MatchString(i.ID) {
		at(y.ID.Line, "id: given %q, allowed: small letters, digits and hyphens", i.ID)
	}
	if !slices.Contains(kinds, i.Kind) {
		at(y.Kind.Line, "kind: given %q, allowed: read, predict, why, rank, break, mend, order, write, review, diagnose", y.Kind.Text)
		return nil
	}
	if i.Table != "" && i.Table != "textbook" {
		at(y.Table.Line, "table: given %q, allowed: textbook", i.Table)
	}
	var base []byte
	var err error
	switch {
	case y.Lab.Text != "":
		i.lab, err = r.ofLab(y, i.Kind)
	case y.Review.Text != "":
		i.review, i.lab, err = r.ofReview(y, i.Kind)
	}
	if err == nil {
		base, err = r.base(y, i.lab)
	}
	if err != nil {
		at(max(y.Scenario.Line, y.Run.Line, y.Lab.Line, y.Review.Line), "%s", err)
		return nil
	}
	if i.Scenario, err = changed(base, &y.Change); err != nil {
		at(y.Change.Line, "%s: %s", "change", err)
		return nil
	}
	if base, err = raw(i.Scenario); err != nil {
		at(0, "%s", err)
		return nil
	}
	moment := func(p placed, sc *scenario.Scenario) Moment {
		if p.Text == "" {
			return Moment{}
		}
		m, err := parseMoment(p.Text, sc)
		if err != nil {
			at(p.Line, "%s", err)
		}
		return m
	}
	i.at, i.until, i.goal = moment(y.At, i.Scenario), moment(y.Until, i.Scenario), moment(y.Goal, i.Scenario)
	if i.at.Zero() {
		i.at = Moment{text: "start", edge: "start"}
	}
	for _, p := range y.Ask {
		one, err := parseSeeing(p.Text, i.Scenario)
		if err != nil {
			at(p.Line, "%s: %s", "ask", err)
		}
		if strings.HasPrefix(p.Text, "broken ") && i.lab == nil {
			at(p.Line, "ask: %q is asked of what a lab found: lab:", p.Text)
		}
		i.ask = append(i.ask, one)
	}
	i.diagnosis(at, y)
	i.situations(at, base, y.Situations)
	if i.Kind == Arrange {
		r.arrangement(at, i, y.Script)
	}
	if i.Kind == Write {
		if err := i.writing(); err != nil {
			at(0, "%s", err)
		} else if y.Solution.Kind != 0 {
			if err := decode(&y.Solution, &i.write.solution); err != nil {
				at(y.Solution.Line, "%s: %s", "solution", err)
			}
		}
	}
	for _, p := range y.Controls {
		if p.Text != "time" && !isFault(p.Text) {
			at(p.Line, "controls: given %q, allowed: time, and faults such as %s", p.Text, fault.Pause)
		}
		i.Controls = append(i.Controls, p.Text)
	}
	for _, o := range y.Options {
		if one := r.option(at, i, base, o); one != nil {
			i.Options = append(i.Options, one)
		}
	}
	i.within = explore.Bounds{Delays: y.Within.Delays, Kinds: y.Within.Faults, MaxFaults: y.Within.Max}
	if len(i.within.Kinds) > 0 && i.within.MaxFaults == 0 {
		i.within.MaxFaults = 1
	}
	if i.lab == nil && i.Kind == Mend || i.Kind == Break && y.Solution.Kind == 0 || i.Kind == Write {
		if _, err := i.within.Check(i.Scenario); err != nil {
			at(0, "%s: %s", "within", err)
		}
		if i.goal.rule == "" && (i.Kind != Write || !i.goal.Zero()) {
			at(y.Goal.Line, "goal: what is searched for is a rule: broken RULE")
		}
	}
	if y.Solution.Kind != 0 && i.Kind != Write {
		if i.solution, err = moves(i.Scenario, &y.Solution); err != nil {
			at(y.Solution.Line, "%s: %s", "solution", err)
		}
	}
	if len(r.mistakes) == before {
		needs(at, i)
	}
	shuffle(i.ID, i.Options)
	if len(r.mistakes) > before {
		return nil
	}
	return i
}

// needs says what an item of its kind lacks.
func needs(at func(int, phrase.Text, ...any), i *Item) {
	lacks := func(missing bool, what phrase.Text) {
		if missing {
			at(0, "%s needs %s", string(i.Kind), phrase.Say(what))
		}
	}
	n := needed[i.Kind]
	there := map[string]bool{"until": !i.until.Zero(), "ask": len(i.ask) > 0, "goal": !i.goal.Zero(), "script": i.arrangement != nil, "review": i.review != nil, "log": len(i.logs) > 0, "situations": len(i.Situations) > 0}
	for _, key := range n.keys {
		if !there[key] {
			at(0, "%s needs %s", string(i.Kind), key)
		}
	}
	if n.most > 0 {
		lacks(len(i.Options) < n.least || len(i.Options) > n.most, n.options)
	}
	searched := i.within.Delays+i.within.MaxFaults > 0
	switch i.Kind {
	case Break:
		lacks(len(i.solution) == 0 && !searched, "within, or a solution")
	case Mend:
		lacks(i.lab == nil && !searched, "within")
	case Arrange:
		lacks(i.arrangement != nil && i.arrangement.own < 3, "a script of three pieces or more")
		lacks(i.arrangement != nil && len(i.arrangement.cases) == 0, "cases in which the script is tried")
	case Write:
		lacks(!searched, "within")
		lacks(len(i.Options) > 0, "no options")
	case Rank:
		lacks(len(i.Situations) == 1 || len(i.Situations) > 3, "two or three situations")
	case Read, Predict, Why, ReviewCode, Diagnose:
	}
}

// manyOptions is more than an item has.
const manyOptions = 1 << 16

// needed is what an item of each kind must have, and how many options.
var needed = map[Kind]struct {
	keys        []string
	least, most int
	options     phrase.Text // how many, in words
}{
	Read:    {},
	Predict: {[]string{"until", "ask"}, 2, 4, "two to four options"},
	Why:     {[]string{"goal"}, 2, 5, "two to five options"},
	Rank:    {[]string{"goal", "situations"}, 3, 3, "three options"},
	Break:   {[]string{"goal"}, 0, 0, ""},
	Mend:    {[]string{"goal"}, 2, manyOptions, "two options or more"},
	Arrange: {[]string{"script"}, 0, 0, ""},
	Write:   {},

	ReviewCode: {keys: []string{"review"}},
	Diagnose:   {[]string{"log"}, 3, 5, "three to five options"},
}

func cmpLine(line, other int) int {
	if line > 0 {
		return line
	}
	return max(other, 1)
}

func (r *reader) option(at func(int, phrase.Text, ...any), i *Item, base []byte, y optionYAML) *Option {
	o := &Option{ID: y.ID.Text, None: y.None, Believes: y.Believes, line: y.ID.Line}
	if !name.MatchString(o.ID) || slices.Contains(reserved, o.ID) || i.Option(o.ID) != nil {
		at(y.ID.Line, "option %q: allowed: an id of its own in small letters, and none of %s", o.ID, strings.Join(reserved, ", "))
		return nil
	}
	if y.Scenario.Text != "" {
		var err error
		if base, err = r.bundled(y.Scenario.Text); err != nil {
			at(y.Scenario.Line, "option %s: %s", o.ID, err)
			return nil
		}
	}
	if o.None && (i.Kind != Why || i.lab != nil || y.Scenario.Text != "" || y.Change.Kind != 0 || y.Helps.Kind != 0) {
		at(o.line, "option %s: none is for items of the kind why, and changes nothing", o.ID)
		return nil
	}
	var err error
	if (i.lab != nil) != (y.Lab.Text != "") || i.lab != nil && (y.Scenario.Text != "" || y.Change.Kind != 0 || y.Helps.Kind != 0) {
		at(o.line, "option %s: an option of a lab's trace is another one, lab: and its name, and of nothing else", o.ID)
		return nil
	}
	if i.lab != nil {
		if o.lab, err = recorded(r.course, labs, y.Lab.Text); err != nil {
			at(y.Lab.Line, "option %s: %s", o.ID, err)
			return nil
		}
		if base, err = raw(o.lab.Scenario); err != nil {
			at(y.Lab.Line, "option %s: %s", o.ID, err)
			return nil
		}
	}
	if o.Scenario, err = changed(base, &y.Change); err != nil {
		at(cmpLine(y.Change.Line, o.line), "option %s: %s: %s", o.ID, "change", err)
		return nil
	}
	if y.Helps.Kind != 0 {
		if err := o.helps(base, &y); err != nil {
			at(cmpLine(y.Helps.Line, o.line), "option %s: %s: %s", o.ID, "helps", err)
		}
	}
	if i.Kind == Rank {
		if y.Until.Text != "" || y.Helps.Kind != 0 || y.Scenario.Text != "" {
			at(o.line, "option %s: a mend is a change, and nothing else: it is played in each situation", o.ID)
		}
		o.mends(at, i, &y.Change)
	}
	if i.Kind == Diagnose && (y.Until.Text != "" || y.Helps.Kind != 0) {
		at(o.line, "option %s: a cause has no until or helps: its logs are shown for as long as the item's", o.ID)
	}
	if y.Until.Text != "" {
		if o.until, err = parseMoment(y.Until.Text, o.Scenario); err != nil {
			at(y.Until.Line, "option %s: %s", o.ID, err)
		}
	}
	return o
}

// helps reads the run in which an answer helps: base with a change, and the
// option's own after it.
func (o *Option) helps(base []byte, y *optionYAML) error {
	var err error
	if o.elsewhere, err = changed(base, &y.Helps); err != nil {
		return err
	}
	text, err := raw(o.elsewhere)
	if err != nil {
		return err
	}
	o.helped, err = changed(text, &y.Change)
	return err
}

// ofLab reads the trace of a lab's that an item shows.
func (r *reader) ofLab(y itemYAML, kind Kind) (*Run, error) {
	switch {
	case kind == Break || kind == Arrange || kind == Write || kind == ReviewCode || kind == Diagnose || kind == Rank:
		return nil, phrase.New("lab: nobody can step what a lab recorded; allowed: read, predict, why, mend")
	case y.Change.Kind != 0 || y.Lua || y.Within.Delays > 0 || y.Within.Max > 0:
		return nil, phrase.New("lab: what was recorded cannot be changed, has its own scripts, and its own bounds")
	}
	return recorded(r.course, labs, y.Lab.Text)
}

// base is the scenario of an item before its change, as YAML; of a lab's trace, its
// frame.
func (r *reader) base(y itemYAML, lab *Run) ([]byte, error) {
	given := 0
	for _, one := range []bool{y.Scenario.Text != "", y.Run.Kind != 0, y.Lab.Text != "", y.Review.Text != ""} {
		if one {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, phrase.New("an item has either scenario, run, lab or review")
	case lab != nil:
		return raw(lab.Scenario)
	case y.Scenario.Text != "":
		return r.bundled(y.Scenario.Text)
	default:
		var tree map[string]any // an anchor's alias is no text of its own
		if err := decode(&y.Run, &tree); err != nil {
			return nil, phrase.New("%s: %s", "run", err)
		}
		return yaml.Marshal(tree)
	}
}

func (r *reader) bundled(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.scenarios, name+".yaml")
	if err != nil {
		return nil, phrase.New("there is no scenario %q", name)
	}
	return data, nil
}

// decode reads a node, and fails with what is wrong with it.
func decode(n *yaml.Node, into any) error {
	if err := n.Decode(into); err != nil {
		return phrase.New("%s", strict.WhyUnread(err)[0].What)
	}
	return nil
}

// raw is a scenario as YAML, to be changed.
func raw(sc *scenario.Scenario) ([]byte, error) {
	b, err := sc.Compact()
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	return b, nil
}

// changed is scenario.Changed with a change as a chapter writes it; one that is left out
// changes nothing.
func changed(base []byte, change *yaml.Node) (*scenario.Scenario, error) {
	var with map[string]any
	if change.Kind != 0 {
		if err := decode(change, &with); err != nil {
			return nil, err
		}
	}
	sc, err := scenario.Changed(base, with)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	return sc, nil
}

// moves reads a list of moves of sc.
func moves(sc *scenario.Scenario, list *yaml.Node) ([]scenario.Move, error) {
	var tree []any
	if err := decode(list, &tree); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	out, err := sc.ParseMoves(text)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	return out, nil
}
