package learn

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/export"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// diagnosed puts an incident on the page: its logs, the cause that was chosen (pick), and
// the command to run next (next). The run that wrote the logs is shown once both are right.
func diagnosed(ctx context.Context, l words.Language, p *page.Lesson, item *course.Item, made *course.Made, prose *course.Prose, query url.Values, stage *shownRun) error {
	d := made.Diagnosis
	in := &page.Diagnosis{}
	p.Diagnosis = in
	for _, g := range d.Logs {
		in.Logs = append(in.Logs, diagnosisLog(l, g))
	}
	label := func(a *course.Answer) string { return page.Prose(prose.Labels[a.Option.ID]) }
	paragraph := func(t phrase.Text, args ...any) string { return "<p>" + templates.Escaped(l.Say(t, args...)) + "</p>" }
	pick, _ := strconv.Atoi(query.Get("pick")) // 0 is none
	if p.Check != "" {
		pick, _ = strconv.Atoi(p.Given)
		seenWrong(l, p, item, made, query, stage)
	}
	for n, a := range made.Answers {
		o := page.LessonOption{Number: n + 1, HTML: label(a), Chosen: pick == n+1, Right: a.Right}
		switch {
		case !o.Chosen:
		case p.Check != "": // the cause is asked, and not told
			p.Answered, p.Solved = true, a.Right
		case a.Right:
			in.Cause, in.Told = o.Number, page.Prose(prose.Says[a.Option.ID])
			*stage = shownRun{a.Run, a.Shown, true}
		default:
			p.Answered, p.Feedback = true, page.Prose(prose.Says[a.Option.ID])
			in.Parting = parted(l, in.Logs, a.Parts)
			p.WatchIt = l.Say("Watch it where it is true")
			if query.Has("watch") {
				*stage = shownRun{a.Run, a.Shown, true}
				p.Watching = l.Say("Here answer %d is true.", o.Number)
			} else {
				o.Watch = fmt.Sprintf("/learn/%s?pick=%d&watch=1", item.Path(), o.Number)
			}
		}
		p.Options = append(p.Options, o)
	}
	if in.Cause == 0 {
		return nil
	}
	in.Goal = paragraph("It happens again. Which command, run at %s, tells this cause from the one that looks most like it?", l.Duration(d.Asked.Duration())) + label(d.Rival)
	next, _ := strconv.Atoi(query.Get("next"))
	for n, q := range d.Queries {
		o := page.LessonOption{Number: n + 1, HTML: "<code>" + templates.Escaped(export.Typed(q.Here)) + "</code>", Chosen: next == n+1, Right: q.Right}
		in.Next = append(in.Next, o)
		if !o.Chosen {
			continue
		}
		here, err := export.Printed(ctx, q.Here)
		if err != nil {
			return fmt.Errorf("what it prints: %w", err)
		}
		there, err := export.Printed(ctx, q.There)
		if err != nil {
			return fmt.Errorf("what it prints: %w", err)
		}
		in.Printed = []page.DiagnosisAnswer{{Cause: label(made.Answers[in.Cause-1]), Reply: here}, {Cause: label(d.Rival), Reply: there}}
		p.Answered, p.Solved = true, q.Right
		if q.Right {
			p.Feedback = paragraph("The two answers differ.") + page.Prose(prose.After)
			p.Watching = l.Say("This is the run that wrote these logs.")
		} else {
			p.Feedback = paragraph("Under both causes it prints the same, and so it tells nothing.")
		}
	}
	return nil
}

// diagnosisLog is a log as it is shown.
func diagnosisLog(l words.Language, g course.Log) page.DiagnosisLog {
	out := page.DiagnosisLog{}
	for _, line := range g.Lines {
		out.Lines = append(out.Lines, line.Text)
	}
	switch {
	case g.Kind == course.Monitor:
		out.Tool, out.Title = true, export.Monitored(g.Node)
	case g.Kind == course.Metrics:
		out.Title = l.Say("Counted every %s", l.Duration(g.Every))
	case g.Client != "":
		out.Title = l.Say("The log of %s", g.Client)
	default:
		out.Title = l.Say("The logs of the clients")
	}
	return out
}

// parted says where the run of a wrong cause writes something else.
func parted(l words.Language, shown []page.DiagnosisLog, at *course.Parting) *page.DiagnosisParting {
	there := diagnosisLog(l, at.Logs[at.Log])
	out := &page.DiagnosisParting{Diff: diff(shown[at.Log].Lines, there.Lines)}
	switch where := there.Title; {
	case at.Here == "":
		out.Says = l.Say("Its run writes more than there is here. “%[1]s” goes on after line %[2]d: %[3]s", where, at.Line-1, strings.TrimSpace(at.There))
	case at.There == "":
		out.Says = l.Say("Its run does not write all that there is here. “%[1]s” ends before line %[2]d: %[3]s", where, at.Line, strings.TrimSpace(at.Here))
	default:
		out.Says = l.Say("Its run writes something else. In “%[1]s”, line %[2]d is not the line here, but: %[3]s", where, at.Line, strings.TrimSpace(at.There))
	}
	return out
}

// diagnoseHints are the hints after the nudge: where two causes part, one that it is not,
// and what is right.
func diagnoseHints(l words.Language, made *course.Made, text func(phrase.Text, ...any) string, to func(string, phrase.Text) string, add func(phrase.Text, string)) {
	d := made.Diagnosis
	at := d.Rival.Parts
	add("where to look", text("Up to line %[1]d of “%[2]s” two of the causes fit. Compare them from there on.", at.Line-1, diagnosisLog(l, d.Logs[at.Log]).Title))
	right, command, first := 0, 0, 0
	for n, a := range made.Answers {
		switch {
		case a.Right:
			right = n + 1
		case first == 0 || a.Parts.At < made.Answers[first-1].Parts.At:
			first = n + 1
		}
	}
	for n, q := range d.Queries {
		if q.Right {
			command = n + 1
		}
	}
	add("what it is not", text("It is not answer %d.", first))
	add("the solution", to(fmt.Sprintf("pick=%d&next=%d&told=1", right, command), "Show what is right"))
}
