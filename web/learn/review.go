package learn

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs/patch"
	"relock/web/templates"
	"relock/web/words"
)

// review puts code on the page, and what came of the lines that were marked: line is the
// number of one, none says that no line is at fault, and sent that the form was sent: with
// nothing marked it sends nothing else.
func review(_ context.Context, a *asking, code *course.Review) error {
	a.Secret, a.GoesOn = true, true
	lines := marks(a.query["line"], code)
	none, sent := a.query.Has("none"), a.query.Has("sent")
	if a.Check != "" && !sent && !(none && len(lines) > 0) {
		lines, none = answered(a.Given, code)
	}
	shown := page.Review{File: code.File, None: none}
	for n, line := range code.Lines {
		shown.Lines = append(shown.Lines, page.ReviewLine{Number: n + 1, Text: line.Text, Markup: line.Markup, Read: a.class, Marked: slices.Contains(lines, n+1)})
	}
	switch {
	case none != (len(lines) > 0):
		a.marked(code, &shown, lines, none)
	case none || sent:
		shown.Mistake = a.l.Say("Either mark lines, or say that none is at fault.")
	}
	if a.class {
		a.parts.Shown = templates.LessonCode(shown)
	}
	a.parts.Ask = templates.LessonReview(a.LessonCheck, shown)
	if len(shown.Diff) > 0 {
		a.parts.Below = templates.LessonMended(shown.Diff)
	}
	return nil
}

// marked replies to lines that were marked, or to none. The concept check shows no more than
// the run, on demand.
func (a *asking) marked(code *course.Review, shown *page.Review, lines []int, none bool) {
	m := code.Mark(lines)
	a.Answered, a.Solved = true, m.Solved
	says, shows := found(a.l, a.item, code)
	if a.Check == "" || a.query.Has("watch") {
		a.Watching = shows
		a.ran(code, shown)
	}
	if a.Check != "" {
		if a.query.Has("watch") {
			a.Leave = ofCheck(a.item.When(), a.given)
		}
		return
	}
	a.Feedback = "<p>" + templates.Escaped(says) + "</p>" + a.judgedLines(code, m, none)
	if m.Solved {
		a.Feedback += page.Prose(a.prose.After)
		shown.Diff = mends(code, m.Equal)
	}
	for n := range shown.Lines {
		one := &shown.Lines[n]
		switch {
		case slices.Contains(m.Idle, n+1):
			one.Judged = page.LineIdle
		case !code.Lines[n].AtFault() || !slices.Contains(m.Found, code.Lines[n].Fault):
		case one.Marked:
			one.Judged = page.LineFound
		default:
			one.Judged = page.LineToo
		}
	}
}

// judgedLines says what came of marked lines, as HTML.
func (a *asking) judgedLines(code *course.Review, m course.Marked, none bool) string {
	mended, out := code.Mended(), ""
	for _, id := range m.Found {
		out += page.Prose(a.prose.Says[id])
	}
	for _, n := range m.Idle {
		if len(code.Faults) == 0 {
			out += a.paragraph("Line %d is not at fault: changing it mends nothing.", n)
		} else {
			out += a.paragraph("Line %[1]d is not at fault. It is the same in the mended file, and there this happens in none of %[2]s orders.", n, page.Grouped(mended.Orders))
		}
	}
	switch {
	case len(m.Found) > 0 && m.Missed > 0:
		out += a.paragraph("With what you have found mended, %[1]s of %[2]s orders still break a rule. There is more to find.", page.Grouped(code.Breaks(m.Left)), page.Grouped(m.Left.Orders))
	case m.Missed > 0 && none:
		out += a.paragraph("Something in it is at fault.")
	case m.Missed > 0:
		out += a.paragraph("The line at fault is another one.")
	case len(code.Faults) > 0:
		out += a.paragraph("Mended, it was searched again: of %s orders none does.", page.Grouped(mended.Orders))
		for _, left := range mended.Rules() {
			out += a.paragraph("What is left, in %[1]s orders: %[2]s. No line of this file can mend that.", page.Grouped(mended.Breaks(left)), film.RuleTitle(a.l, left))
		}
	}
	if m.Solved && code.Once != nil {
		out += a.paragraph("Where a server dies right after it has done it, and where another comes later, it was tried, too: in none of %s orders is it done twice.", page.Grouped(code.Once.Orders))
	}
	return out
}

// linesIn are the lines of a form as an answer carries them, "3-7", or noLine.
func linesIn(query url.Values, _ int) string {
	lines, none := strings.Join(query["line"], "-"), query.Has("none")
	switch {
	case none && query.Has("line"):
		return "" // it is none
	case none:
		return noLine
	default:
		return lines
	}
}

// answered is the lines of an answer like "3-7", and whether it says that none is at
// fault.
func answered(answer string, code *course.Review) (lines []int, none bool) {
	return marks(strings.Split(answer, "-"), code), answer == noLine
}

// marks are the lines of the code that somebody has named.
func marks(named []string, code *course.Review) (lines []int) {
	for _, text := range named {
		if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= len(code.Lines) {
			lines = append(lines, n)
		}
	}
	return lines
}

// found is what the lab says about the unchanged code, and what its run shows.
func found(l words.Language, item *course.Item, code *course.Review) (says, shows string) {
	whole := code.Whole
	if len(code.Faults) == 0 {
		return l.Say("The lab has tried all %[1]s orders of it as it stands, with %[2]s. None breaks a rule.", page.Grouped(whole.Orders), page.Bounds(l, whole.Within)),
			l.Say("One of these orders, and the lines as they run.")
	}
	return l.Say("The lab has tried all %[1]s orders of it as it stands, with %[2]s. In %[3]s of them this happens: %[4]s.", page.Grouped(whole.Orders), page.Bounds(l, whole.Within), page.Grouped(whole.Breaks(item.Rule())), film.RuleTitle(l, item.Rule())),
		l.Say("The smallest order that breaks it, and the lines as they run.")
}

// ran shows the run that the lab kept, and at each line when it ran there.
func (a *asking) ran(code *course.Review, shown *page.Review) {
	ordinals := map[string]int{}
	for n, t := range a.made.Run.Scenario.Threads {
		ordinals[t.Name] = n
	}
	for _, ran := range code.Ran {
		one := &shown.Lines[ran.Line-1]
		one.Ran = append(one.Ran, page.ReviewRan{Step: ran.Step, Thread: page.SceneThread{Name: ran.Thread, Ordinal: ordinals[ran.Thread]}})
	}
	a.stage = all(a.made.Run)
}

// mends is what turns the lines that are shown into the mended ones, in one way or in the other;
// nil where nothing is at fault.
func mends(code *course.Review, other bool) []page.ReviewDiff {
	if len(code.Faults) == 0 {
		return nil
	}
	var from []string
	for _, line := range code.Lines {
		from = append(from, line.Text)
	}
	if other {
		return diff(from, code.Equal)
	}
	return diff(from, code.Fixed)
}

// diff is what turns some lines into others.
func diff(from, to []string) []page.ReviewDiff {
	var list []page.ReviewDiff
	add := func(sign string, lines ...string) {
		for _, text := range lines {
			list = append(list, page.ReviewDiff{Sign: sign, Text: text})
		}
	}
	for _, edit := range patch.Between(from, to) {
		add(" ", from[:edit.Keep]...)
		from = from[edit.Keep:]
		add("-", from[:edit.Drop]...)
		from = from[edit.Drop:]
		add("+", edit.Add...)
	}
	add(" ", from...)
	return list
}

// checkedReview fills in which lines were marked as an answer, and what the lab says of them.
func checkedReview(a *asking, given string, told bool, out *page.CheckedAnswer) error {
	code, err := course.TaskOf[*course.Review](a.item)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	lines, none := answered(given, code)
	if len(lines) == 0 && !none {
		return nil
	}
	out.Answer, out.Right = codeLines(a.l, code, lines), code.Mark(lines).Solved
	if out.Right || !told {
		return nil
	}
	out.Wanted = codeLines(a.l, code, faulty(code))
	for _, id := range code.Faults {
		out.Wanted += page.Prose(a.prose.Says[id])
	}
	out.Why, out.WatchIt = found(a.l, a.item, code)
	out.Watch = fmt.Sprintf("/learn/%s%s&watch=1", a.item.Path(), out.Carry)
	return nil
}

// codeLines are some lines of code under review, as HTML.
func codeLines(l words.Language, code *course.Review, lines []int) string {
	if len(lines) == 0 {
		return "<p>" + templates.Escaped(l.Say("No line is at fault")) + "</p>"
	}
	out := ""
	for _, n := range lines {
		out += "<p>" + strconv.Itoa(n) + " <code>" + templates.Escaped(strings.TrimSpace(code.Lines[n-1].Text)) + "</code></p>"
	}
	return out
}

// faulty are the lines at fault, in one way to mend them.
func faulty(code *course.Review) (list []int) {
	for n, line := range code.Lines {
		if line.AtFault() && !line.Equal {
			list = append(list, n+1)
		}
	}
	return list
}

// rightLines is the query that marks every line at fault, or says that none is.
func rightLines(_ *asking, code *course.Review) url.Values {
	query := url.Values{}
	for _, n := range faulty(code) {
		query.Add("line", strconv.Itoa(n))
	}
	if len(code.Faults) == 0 {
		query.Set("none", "1")
	}
	return query
}

// reviewHints are the hints after the nudge: what breaks, how many lines are at fault, and
// which.
func reviewHints(a *asking, code *course.Review) {
	solution := rightLines(a, code)
	solution.Set("told", "1")
	if len(code.Faults) == 0 {
		a.hint("what happens", a.paragraph("The lab has found nothing that breaks a rule."))
	} else {
		a.hint("what happens", a.paragraph("The lab has found this: %s.", film.RuleTitle(a.l, a.item.Rule())))
		a.hint("how many faults", a.paragraph("Faults in this file: %d.", len(code.Faults)))
	}
	a.hint("the solution", a.button(solution.Encode(), "Show what is right"))
}
