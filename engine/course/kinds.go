package course

import (
	"context"
	"slices"

	"relock/engine/phrase"
)

// Kind is what a learner does with an item.
type Kind string

// The kinds of item.
const (
	Read    Kind = "read"
	Predict Kind = "predict"
	Why     Kind = "why"
	Rank    Kind = "rank"
	Break   Kind = "break"
	Mend    Kind = "mend"
	Arrange Kind = "order"
	Write   Kind = "write"

	ReviewCode Kind = "review"
	Diagnose   Kind = "diagnose"
)

// kinds are all of them, each in a file of its own.
var kinds = []*kind{&readKind, &predictKind, &whyKind, &rankKind, &breakKind, &mendKind, &arrangeKind, &writeKind, &reviewKind, &diagnoseKind}

// kind is what the items of a kind have in common.
type kind struct {
	name     Kind
	needs    []string // keys that an item must have
	least    int      // options
	most     int
	options  phrase.Text       // how many, in words
	minutes  float64           // that an answer takes: more if the learner has to find a way, or to write
	recorded bool              // it can be about what a lab recorded, which nobody steps
	checked  bool              // the concept check can ask it: an answer is right or wrong at once
	earlier  bool              // it is asked once more at the end of later chapters
	labelled bool              // the first paragraph of an option's text is what is chosen
	mended   bool              // its texts tell of Made.Solved, what goes wrong, and not of the item's run
	task     func() task       // a new one
	stray    func(*itemReader) // reads its keys where an item of another kind has them; nil where nothing is wrong with that
}

// task is what an item has of its kind: what chapter.yaml asks, and then what its
// runs come to.
type task interface {
	read(r *itemReader)
	make(ctx context.Context, i *Item, m *Made) error
}

// What some tasks have.
type (
	// headed has headings of its own in the item's text, beside those of options.
	headed interface {
		headings() (labels, says []string)
	}
	// telling has runs that texts can ask by a name: {{in "name" …}}.
	telling interface{ runs(m *Made) map[string]*Run }
	// optional has more to read of an option, or to refuse.
	optional interface {
		option(r *itemReader, o *Option, y *optionYAML)
	}
	// aiming asks for a scene.
	aiming interface {
		scene(i *Item, m *Made) (Scene, bool)
	}
)

// unread is the task of a kind without keys of its own.
type unread struct{}

func (unread) read(*itemReader) {}

// kindOf finds a kind, nil where there is none.
func kindOf(name Kind) *kind {
	if n := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name }); n >= 0 {
		return kinds[n]
	}
	return nil
}

// ErrOtherKind is the error for what only another kind of item has.
var ErrOtherKind = phrase.New("this item asks for something else")

// TaskOf is what an item of a kind asks, made: a *Breaking, *Ordering, *Ranking, *Writing,
// *Review or *Diagnosis. It is not changed any more. It fails with ErrOtherKind for an item
// of another kind, or like Made.
func TaskOf[T any](i *Item) (T, error) {
	of, ok := i.task.(T)
	if !ok {
		return of, ErrOtherKind
	}
	_, err := i.Made()
	return of, err
}
