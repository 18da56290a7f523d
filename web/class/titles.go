package class

import (
	"cmp"

	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/lesson"
	"relock/web/shell"
	"relock/web/words"
)

// titleOf is what a scene is called, wherever it is named: as the lesson's step that
// opened it, the item of the course or the scenario. It is "" where none has a title.
func titleOf(l words.Language, scene board.Scene, sc *scenario.Scenario) string {
	return cmp.Or(scene.Title.In(l), shell.TitleOf(l, sc))
}

// inAll is a title in every language, nil for none.
func inAll(title func(words.Language) string) lesson.Words {
	all := lesson.Words{}
	for _, l := range words.All() {
		if text := title(l); text != "" {
			all[l.Code()] = text
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// stepTitle is the title of a lesson's step: its own, or its scene's and where in its run
// it is.
func stepTitle(l words.Language, s lesson.Step) string {
	if s.Title != nil {
		return s.Title.In(l)
	}
	title := cmp.Or(s.Scene.In(l), l.Say("Your scenario"))
	if s.At != "" {
		title += " · " + s.At
	}
	return title
}

// named is what a lesson's file calls a scene, as long as it may be there.
func named(title lesson.Words, sc *scenario.Scenario) lesson.Words {
	return inAll(func(l words.Language) string {
		text := cmp.Or(title.In(l), shell.TitleOf(l, sc), l.Say("Your scenario"))
		if list := []rune(text); len(list) > lesson.MaxTitle {
			text = string(list[:lesson.MaxTitle-1]) + "…"
		}
		return text
	})
}
