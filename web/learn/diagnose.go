package learn

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/web/export"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// diagnose puts an incident on the page: its logs, the cause that was chosen (pick), and
// the command to run next (next). The run that wrote the logs is shown once both are right.
func diagnose(ctx context.Context, a *asking, task *course.Diagnosis) error {
	var err error
	in := page.Diagnosis{}
	for _, g := range task.Logs {
		in.Logs = append(in.Logs, diagnosisLog(a.l, g))
	}
	a.Secret, a.Unstaged = true, true
	a.watched(hereItIsTrue)
	chosen := a.choose(a.made.Answers, choice{
		label: a.label, watchIt: trueElsewhere, watching: hereItIsTrue, address: "/learn/" + a.item.Path() + "?",
		reply: func(one *course.Answer) string { return page.Prose(a.prose.Says[one.Option.ID]) },
	})
	switch {
	case chosen == nil || a.Check != "" || len(task.Queries) == 0: // of the concept check the cause is asked, and not told
	case chosen.Right:
		in.Cause, in.Told = a.picked(), a.Feedback
		a.GoesOn, a.Answered, a.Solved, a.Feedback = true, false, false, ""
		err = a.command(ctx, task, &in, chosen)
	default:
		in.Parting = parted(a.l, in.Logs, chosen.Parts)
	}
	if in.Cause > 0 {
		a.parts.Known = templates.DiagnosisKnown(in)
	}
	a.parts.Shown, a.parts.Ask, a.parts.Found = templates.DiagnosisLogs(in.Logs), templates.LessonDiagnosis(*a.Lesson, in), templates.DiagnosisFound(in)
	return err
}

// command asks for the command to run next, once the cause is known, and replies to it.
func (a *asking) command(ctx context.Context, task *course.Diagnosis, in *page.Diagnosis, cause *course.Answer) error {
	in.Goal = a.paragraph("It happens again. Which command, run at %s, tells this cause from the one that looks most like it?", a.l.Duration(task.Asked.Duration())) + a.label(task.Rival)
	next, _ := strconv.Atoi(a.query.Get("next"))
	for n, q := range task.Queries {
		in.Next = append(in.Next, page.LessonOption{Number: n + 1, HTML: "<code>" + templates.Escaped(export.Typed(q.Here)) + "</code>", Chosen: next == n+1, Right: q.Right})
		if next != n+1 {
			continue
		}
		if a.class { // it sees no other command
			in.Goal += in.Next[n].HTML
		}
		here, err := export.Printed(ctx, q.Here)
		if err != nil {
			return fmt.Errorf("what it prints: %w", err)
		}
		there, err := export.Printed(ctx, q.There)
		if err != nil {
			return fmt.Errorf("what it prints: %w", err)
		}
		in.Printed = []page.DiagnosisAnswer{{Cause: a.label(cause), Reply: here}, {Cause: a.label(task.Rival), Reply: there}}
		a.Answered, a.Solved = true, q.Right
		if q.Right {
			a.Feedback = a.paragraph("The two answers differ.") + page.Prose(a.prose.After)
			a.Watching = a.l.Say("This is the run that wrote these logs.")
		} else {
			a.Feedback = a.paragraph("Under both causes it prints the same, and so it tells nothing.")
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
func diagnoseHints(a *asking, task *course.Diagnosis) {
	at := task.Rival.Parts
	a.hint("where to look", a.paragraph("Up to line %[1]d of “%[2]s” two of the causes fit. Compare them from there on.", at.Line-1, diagnosisLog(a.l, task.Logs[at.Log]).Title))
	first := 0
	for n, one := range a.made.Answers {
		if !one.Right && (first == 0 || one.Parts.At < a.made.Answers[first-1].Parts.At) {
			first = n + 1
		}
	}
	solution := rightCommand(a, task)
	solution.Set("told", "1")
	a.hint("what it is not", a.paragraph("It is not answer %d.", first))
	a.hint("the solution", a.button(solution.Encode(), "Show what is right"))
}

// rightCommand is the query of the right cause, and of the command that shows it.
func rightCommand(a *asking, task *course.Diagnosis) url.Values {
	command := slices.IndexFunc(task.Queries, func(q course.Query) bool { return q.Right }) + 1
	return url.Values{"pick": {strconv.Itoa(a.rightAnswer())}, "next": {strconv.Itoa(command)}}
}
