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
		Change   yaml.Node    `yaml:"change"`
		At       placed       `yaml:"at"`
		Until    placed       `yaml:"until"`
		Options  []optionYAML `yaml:"options"`
		Goal     placed       `yaml:"goal"`
		Solution yaml.Node    `yaml:"solution"`
		Within   withinYAML   `yaml:"within"`
		Claims   []claimYAML  `yaml:"claims"`
		Lua      bool         `yaml:"lua"`
		Again    *itemYAML    `yaml:"again"`
		Taught   placed       `yaml:"taught"`
		Extra    bool         `yaml:"extra"`

		// What only one kind has is in its file.
		readYAML     `yaml:",inline"`
		predictYAML  `yaml:",inline"`
		rankYAML     `yaml:",inline"`
		breakYAML    `yaml:",inline"`
		orderYAML    `yaml:",inline"`
		reviewYAML   `yaml:",inline"`
		diagnoseYAML `yaml:",inline"`
	}
	withinYAML struct {
		Delays int      `yaml:"delays"`
		Faults []string `yaml:"faults"`
		Max    int      `yaml:"max-faults"`
		Any    bool     `yaml:"any-length"`
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
)

// bounds are how far is searched.
func (y *withinYAML) bounds() explore.Bounds {
	b := explore.Bounds{Delays: y.Delays, Kinds: y.Faults, MaxFaults: y.Max}
	if len(b.Kinds) > 0 && b.MaxFaults == 0 {
		b.MaxFaults = 1
	}
	return b
}

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
		item := r.item(file, &one)
		if item == nil {
			continue
		}
		item.Chapter = ch
		ch.Items = append(ch.Items, item)
		if ch.check && !kindOf(item.Kind).checked {
			r.mistake(file, item.line, "%s: the concept check has items of the kinds why, rank, review and diagnose", item.ID)
		}
		if d, ok := item.task.(*Diagnosis); ok && !ch.check && len(d.next) < 2 {
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
func (y *itemYAML) again() *itemYAML {
	two := y.Again
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

// manyOptions is more than an item has.
const manyOptions = 1 << 16

// itemReader reads an item.
type itemReader struct {
	*reader

	file   string
	y      *itemYAML
	i      *Item
	base   []byte        // its scenario, as options change it
	lacked []phrase.Text // of what its kind needs
}

// at notes a mistake; line 0 is the item's.
func (r *itemReader) at(line int, text phrase.Text, args ...any) {
	r.mistakes = append(r.mistakes, wrongIn(r.file, cmpLine(line, r.i.line), about(r.i.ID, text, args...)))
}

// lacks notes what an item of its kind needs, if it is missing: a mistake if nothing else is
// wrong.
func (r *itemReader) lacks(missing bool, what phrase.Text) {
	if missing {
		r.lacked = append(r.lacked, what)
	}
}

// search checks the bounds of an item's search; aims says whether its goal must be a rule.
func (r *itemReader) search(aims bool) {
	if _, err := r.i.within.Check(r.i.Scenario); err != nil {
		r.at(0, "%s: %s", "within", err)
	}
	if aims && r.i.goal.rule == "" {
		r.at(r.y.Goal.Line, "goal: what is searched for is a rule: broken RULE")
	}
}

// searches reports whether an item says how far is searched.
func (i *Item) searches() bool { return i.within.Delays+i.within.MaxFaults > 0 }

// item reads an item, or notes what is wrong with it and returns nil.
func (r *reader) item(file string, y *itemYAML) *Item {
	before := len(r.mistakes)
	i := &Item{ID: y.ID.Text, Kind: Kind(y.Kind.Text), Lua: y.Lua, Extra: y.Extra, Bundled: y.Scenario.Text != "", taught: y.Taught, line: y.ID.Line}
	in := &itemReader{reader: r, file: file, y: y, i: i}
	if !name.MatchString(i.ID) {
		in.at(y.ID.Line, "id: given %q, allowed: small letters, digits and hyphens", i.ID)
	}
	k := kindOf(i.Kind)
	if k == nil {
		in.at(y.Kind.Line, "kind: given %q, allowed: read, predict, why, rank, break, mend, order, write, review, diagnose", y.Kind.Text)
		return nil
	}
	i.task = k.task()
	if !in.run() {
		return nil
	}
	i.at, i.until, i.goal = in.moment(y.At), in.moment(y.Until), in.moment(y.Goal)
	if i.at.Zero() {
		i.at = Moment{text: "start", edge: "start"}
	}
	if i.within, i.anyLength = y.Within.bounds(), y.Within.Any; i.anyLength && i.Kind != Mend {
		in.at(0, "any-length is for items of the kind mend: by hand a fault lasts as long as it does")
	}
	for _, other := range kinds {
		if other != k && other.stray != nil {
			other.stray(in)
		}
	}
	if i.task != nil {
		i.task.read(in)
	}
	for _, o := range y.Options {
		if one := in.option(o); one != nil {
			i.Options = append(i.Options, one)
		}
	}
	for n := range y.Claims {
		in.claim(&y.Claims[n])
	}
	if len(r.mistakes) == before {
		in.needs(k)
	}
	shuffle(i.ID, i.Options)
	if len(r.mistakes) > before {
		return nil
	}
	return i
}

// run reads what an item is about, and reports whether that is a run.
func (r *itemReader) run() bool {
	y, i := r.y, r.i
	var err error
	switch {
	case y.Lab.Text != "":
		i.lab, err = r.ofLab(y, i.Kind)
	case y.Review.Text != "":
		i.task, i.lab, err = r.ofReview(y, i.Kind)
	}
	if err == nil {
		r.base, err = r.reader.base(y, i.lab)
	}
	if err != nil {
		r.at(max(y.Scenario.Line, y.Run.Line, y.Lab.Line, y.Review.Line), "%s", err)
		return false
	}
	if i.Scenario, err = changed(r.base, &y.Change); err != nil {
		r.at(y.Change.Line, "%s: %s", "change", err)
		return false
	}
	if r.base, err = raw(i.Scenario); err != nil {
		r.at(0, "%s", err)
		return false
	}
	return true
}

// moment reads a moment of the item's run.
func (r *itemReader) moment(p placed) Moment {
	if p.Text == "" {
		return Moment{}
	}
	m, err := parseMoment(p.Text, r.i.Scenario)
	if err != nil {
		r.at(p.Line, "%s", err)
	}
	return m
}

// needs says what an item of its kind lacks.
func (r *itemReader) needs(k *kind) {
	y, i := r.y, r.i
	there := map[string]bool{
		"until": !i.until.Zero(), "goal": !i.goal.Zero(), "ask": len(y.Ask) > 0, "script": true, // without it its lines are missed
		"review": i.task != nil, "log": len(y.Log) > 0, "situations": len(y.Situations) > 0,
	}
	for _, key := range k.needs {
		if !there[key] {
			r.at(0, "%s needs %s", string(k.name), key)
		}
	}
	if n := len(i.Options); k.most > 0 && (n < k.least || n > k.most) {
		r.lacked = append([]phrase.Text{k.options}, r.lacked...)
	}
	for _, what := range r.lacked {
		r.at(0, "%s needs %s", string(k.name), phrase.Say(what))
	}
}

func cmpLine(line, other int) int {
	if line > 0 {
		return line
	}
	return max(other, 1)
}

func (r *itemReader) option(y optionYAML) *Option {
	at, i, base := r.at, r.i, r.base
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
	if t, ok := i.task.(optional); ok {
		t.option(r, o, &y)
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
func (r *reader) ofLab(y *itemYAML, kind Kind) (*Run, error) {
	switch {
	case !kindOf(kind).recorded:
		return nil, phrase.New("lab: nobody can step what a lab recorded; allowed: read, predict, why, mend")
	case y.Change.Kind != 0 || y.Lua || y.Within.Delays > 0 || y.Within.Max > 0:
		return nil, phrase.New("lab: what was recorded cannot be changed, has its own scripts, and its own bounds")
	}
	return recorded(r.course, labs, y.Lab.Text)
}

// base is the scenario of an item before its change, as YAML; of a lab's trace, its
// frame.
func (r *reader) base(y *itemYAML, lab *Run) ([]byte, error) {
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
