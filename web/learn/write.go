package learn

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"relock/engine/course"
	"relock/web/film"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// Wrote judges the script of a form, and answers with the item's page.
func (s *Pages) Wrote(w http.ResponseWriter, r *http.Request) error {
	item, ok := s.Course().Item(r.PathValue("chapter") + "/" + r.PathValue("item"))
	if !ok || item.Kind != course.Write {
		return site.ErrNoPage
	}
	values, err := shell.ReadForm(w, r)
	if err != nil {
		return err
	}
	task, err := course.TaskOf[*course.Writing](item)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	var judged *course.Judged
	script := values.Get("script")
	if err := s.Searches.Judge(r, course.MaxWritten, func(ctx context.Context) (err error) {
		judged, err = task.Judge(ctx, script)
		return err
	}); err != nil {
		return err
	}
	if judged == nil {
		return nil // the visitor has left
	}
	a, err := s.lessonOf(r, words.From(r.Context()), item, &writing{script, judged})
	if err != nil {
		return err
	}
	return s.show(w, r, a)
}

// writing is a script that somebody has written, and what came of it.
type writing struct {
	script string
	*course.Judged
}

// write puts a script on the page that is being written, and what came of it; if nobody has
// written one, what it begins with.
func write(_ context.Context, a *asking, task *course.Writing) error {
	a.Lua, a.GoesOn, a.Leave = true, true, ""
	form := page.Writing{
		NoBox:  a.s.NoBox(a.l),
		Script: page.Field{Name: "script", Label: a.l.Say("The script %s", task.Call), Value: strings.TrimSuffix(task.Start, "\n"), Code: true},
	}
	a.stage, a.Watching = all(a.made.Solved), a.l.Say("This is what the script does as it is.")
	if a.wrote != nil {
		a.judged(task, &form)
	}
	a.parts.Ask = templates.LessonWriting(form)
	if len(form.Beside) > 0 {
		a.parts.Below = templates.LessonScripts(form.Beside)
	}
	return nil
}

// judged puts on the page what came of the script that somebody has written.
func (a *asking) judged(task *course.Writing, form *page.Writing) {
	wrote := a.wrote
	form.Script.Value, a.Answered, a.Solved = wrote.script, true, wrote.Solved
	if wrote.Run != nil {
		a.stage = all(wrote.Run)
	}
	a.Feedback = "<p>" + templates.Escaped(shell.JudgedSays(a.l, wrote.Judged)) + "</p>"
	if wrote.Rule != "" {
		a.Feedback += a.paragraph("The smallest of them is on the stage.")
	}
	if wrote.Refused != nil {
		form.Script.Mistakes, form.WrongLine = []string{shell.JudgedSays(a.l, wrote.Judged)}, wrote.Line
		return
	}
	a.Watching = a.l.Say("Your script at work.")
	if !wrote.Solved {
		return
	}
	if wrote.Commands > task.Par {
		a.Feedback += a.paragraph("It sends at most %d commands in one go; it can be done with %d.", wrote.Commands, task.Par)
	} else {
		a.Feedback += a.paragraph("It sends at most %d commands in one go. None that we know needs fewer.", wrote.Commands)
	}
	a.Feedback += page.Prose(a.prose.After)
	form.Beside = []film.Script{
		{Name: a.l.Say("Yours"), Lines: film.Coloured(wrote.script)},
		{Name: a.l.Say("The lock's own: one solution among others"), Lines: film.Coloured(task.Bundled)},
	}
}

// writeHints are what leads to a script.
func writeHints(a *asking, task *course.Writing) {
	commands := ""
	for _, c := range task.Commands() {
		commands += " <code>" + templates.Escaped(c) + "</code>"
	}
	a.hint("which commands", "<p>"+commands+"</p>")
	a.hint("how many", a.paragraph("%d commands in one go are enough.", task.Par))
	a.hint("the solution", "<pre>"+templates.Escaped(task.Solution)+"</pre>"+
		fmt.Sprintf(`<form method="post" action="/learn/%s?told=1"><input type="hidden" name="script" value="%s"><button>%s</button></form>`,
			a.item.Path(), templates.Escaped(task.Solution), templates.Escaped(a.l.Say("Judge this one"))))
}
