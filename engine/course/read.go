package course

import "context"

// readKind are items with a text beside the stage.
var readKind = kind{name: Read, minutes: 2, recorded: true, task: func() task { return new(reading) }, stray: new(reading).read}

type readYAML struct {
	Table placed `yaml:"table"`
}

// reading is a text beside the stage.
type reading struct{ textbook bool }

func (t *reading) read(r *itemReader) {
	if t.textbook = r.y.Table.Text == "textbook"; !t.textbook && r.y.Table.Text != "" {
		r.at(r.y.Table.Line, "table: given %q, allowed: textbook", r.y.Table.Text)
	}
}

func (t *reading) make(context.Context, *Item, *Made) error { return nil }

// Textbook reports whether the article's table is beside the item's run.
func (i *Item) Textbook() bool {
	t, ok := i.task.(*reading)
	return ok && t.textbook
}
