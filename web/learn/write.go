package learn

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/film"
	"relock/web/frame"
	"relock/web/page"
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
	values, err := frame.ReadForm(w, r)
	if err != nil {
		return err
	}
	var judged *course.Judged
	script := values.Get("script")
	if err := s.Searches.Judge(r, course.MaxWritten, func(ctx context.Context) (err error) {
		judged, err = item.Write(ctx, script)
		return err
	}); err != nil {
		return err
	}
	if judged == nil {
		return nil // the visitor has left
	}
	l := words.From(r.Context())
	p, err := s.lessonOf(r, l, item, &writing{script, judged})
	if err != nil {
		return err
	}
	return s.show(w, r, p)
}

// writing is a script that somebody has written, and what came of it.
type writing struct {
	script string
	*course.Judged
}

// write puts a script on the page that is being written, and what came of it; of
// nil what it begins with.
func (s *Pages) write(l words.Language, p *page.Lesson, made *course.Made, prose *course.Prose, wrote *writing, stage *shownRun) {
	p.NoBox, p.Lua = s.NoBox(l), true
	p.Script = &page.Field{Name: "script", Label: l.Say("The script %s", made.Script.Call), Value: strings.TrimSuffix(made.Script.Start, "\n"), Code: true}
	*stage = shownRun{made.Solved, len(made.Solved.Events), true}
	p.Watching = l.Say("This is what the script does as it is.")
	p.Leave = ""
	if wrote == nil {
		return
	}
	p.Script.Value, p.Answered, p.Solved = wrote.script, true, wrote.Solved
	p.Watching = l.Say("Your script at work.")
	if wrote.Run != nil {
		*stage = shownRun{wrote.Run, len(wrote.Run.Events), true}
	}
	p.Feedback = "<p>" + templates.Escaped(frame.JudgedSays(l, wrote.Judged)) + "</p>"
	if wrote.Rule != "" {
		p.Feedback += "<p>" + templates.Escaped(l.Say("The smallest of them is on the stage.")) + "</p>"
	}
	switch {
	case wrote.Refused != nil:
		p.Script.Mistakes, p.WrongLine = []string{frame.JudgedSays(l, wrote.Judged)}, wrote.Line
		p.Watching = l.Say("This is what the script does as it is.")
	case wrote.Solved:
		few := l.Say("It sends at most %d commands in one go. None that we know needs fewer.", wrote.Commands)
		if wrote.Commands > made.Par {
			few = l.Say("It sends at most %d commands in one go; it can be done with %d.", wrote.Commands, made.Par)
		}
		p.Feedback += "<p>" + templates.Escaped(few) + "</p>" + page.Prose(prose.After)
		p.Beside = []film.Script{
			{Name: l.Say("Yours"), Lines: film.Coloured(wrote.script)},
			{Name: l.Say("The lock's own: one solution among others"), Lines: film.Coloured(made.Script.Bundled)},
		}
	}
}

// writeHints are what leads to a script.
func writeHints(l words.Language, item *course.Item, made *course.Made, add func(name phrase.Text, html string)) {
	commands := ""
	for _, c := range made.Script.Commands() {
		commands += " <code>" + templates.Escaped(c) + "</code>"
	}
	add("which commands", "<p>"+commands+"</p>")
	add("how many", "<p>"+templates.Escaped(l.Say("%d commands in one go are enough.", made.Par))+"</p>")
	add("the solution", "<pre>"+templates.Escaped(made.Script.Solution)+"</pre>"+
		fmt.Sprintf(`<form method="post" action="/learn/%s?told=1"><input type="hidden" name="script" value="%s"><button>%s</button></form>`,
			item.Path(), templates.Escaped(made.Script.Solution), templates.Escaped(l.Say("Judge this one"))))
}
