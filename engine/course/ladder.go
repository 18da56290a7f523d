package course

import (
	"io/fs"
	"slices"
	"strings"

	"relock/engine/strict"
	"relock/lessons"
)

// Ladder is the way to a lock of one's own, in levels that a worker climbs, and sentences about
// that lock which a learner completes. The lab judges both. It is not changed after it was read.
type Ladder struct {
	Levels, Sentences []*Rung

	texts []*text // of the languages, the first for whoever asks for another one
	codes []string
}

// Rung is a level, or a sentence.
type Rung struct {
	ID  string
	Lab string // the flags with which `playground lab` judges it

	of *Ladder
}

// The parts of a rung's text, beside what comes first: of a level, and of a sentence its two ends.
const (
	PartDoes    = "does"    // what the lab does to the worker
	PartMissing = "missing" // what a worker lacks that stops here
	PartHint    = "hint"
	PartHolds   = "holds"  // the sentence's end if no order breaks the rule
	PartBreaks  = "breaks" // and if one does
)

// ladder is the folder of a course that has the ladder: ladder.yaml, its texts, and a worker in
// each language to start from.
const ladder = "ladder"

type ladderYAML struct {
	Levels    []rungYAML `yaml:"levels"`
	Sentences []rungYAML `yaml:"sentences"`
}

type rungYAML struct {
	ID  string `yaml:"id"`
	Lab string `yaml:"lab"`
}

// ReadLadder reads the ladder in some languages. It fails with Mistakes.
func ReadLadder[L Language](in []L, fsys fs.FS) (*Ladder, error) {
	r := &reader{course: fsys}
	data, err := readFile(fsys, ladder+"/ladder.yaml")
	if err != nil {
		return nil, err
	}
	var y ladderYAML
	for _, one := range strict.Unmarshal(data, &y) {
		r.mistakes = append(r.mistakes, Mistake{one, ladder + "/ladder.yaml"})
	}
	g := &Ladder{}
	for _, one := range y.Levels {
		g.Levels = append(g.Levels, &Rung{one.ID, one.Lab, g})
	}
	for _, one := range y.Sentences {
		g.Sentences = append(g.Sentences, &Rung{one.ID, one.Lab, g})
	}
	for _, l := range in {
		if t := r.parse(fsys, ladder+"/"+textFile(l)); t != nil {
			g.texts, g.codes = append(g.texts, t), append(g.codes, l.Code())
			r.rungs(t, g.Levels, "", PartDoes, PartMissing, PartHint)
			r.rungs(t, g.Sentences, PartHolds, PartBreaks)
		}
	}
	if len(g.texts) == 0 {
		r.mistake(ladder+"/ladder.yaml", 1, "the chapter has no text in any language")
	}
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	return g, nil
}

// rungs holds a text to what is told of each rung.
func (r *reader) rungs(t *text, list []*Rung, parts ...string) {
	for _, one := range list {
		for _, part := range parts {
			if i := t.items[one.ID]; i == nil || i.parts[part] == nil || strings.TrimSpace(i.parts[part].source) == "" {
				r.mistake(t.file, 0, "%s has no text under %q", one.ID, "### "+part)
			}
		}
	}
}

// in is the ladder's text in a language.
func (g *Ladder) in(l Language) *text { return g.texts[max(0, slices.Index(g.codes, l.Code()))] }

// Intro is the ladder's title, and what it is, in Markdown.
func (g *Ladder) Intro(l Language) (title, says string) { return g.in(l).title, g.in(l).intro.source }

// Title is the name of a level, or how a sentence begins.
func (g *Rung) Title(l Language) string { return g.of.in(l).items[g.ID].title }

// Says is a part of its text, in Markdown.
func (g *Rung) Says(l Language, part string) string {
	return strings.TrimSpace(g.of.in(l).items[g.ID].parts[part].source)
}

// Path is its address in the progress that a browser keeps.
func (g *Rung) Path() string { return ladder + "/" + g.ID }

// LadderWorkers are the names of workers that climb, and their extensions.
func LadderWorkers() []string { return []string{"worker.py", "worker.go", "worker.js"} }

// LadderWorker is the text of a worker to start from, by its name.
func LadderWorker(name string) (string, error) {
	data, err := readFile(lessons.Course(), ladder+"/_"+name) // Go passes over such a file
	return string(data), err
}
