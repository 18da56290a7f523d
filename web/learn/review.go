package learn

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs/patch"
	"relock/web/templates"
	"relock/web/words"
)

// reviewed puts code on the page, and what came of the lines that were marked: line is the
// number of one, none says that no line is at fault, and sent that the form was sent: with
// nothing marked it sends nothing else.
func reviewed(l words.Language, p *page.Lesson, item *course.Item, made *course.Made, prose *course.Prose, query url.Values, stage *shownRun) error {
	code := made.Review
	lines := marks(query["line"], code)
	none, sent := query.Has("none"), query.Has("sent")
	if p.Check != "" && !sent && !(none && len(lines) > 0) {
		lines, none = answered(p.Given, code)
	}
	p.Code = &page.Review{File: code.File, None: none}
	for n, line := range code.Lines {
		p.Code.Lines = append(p.Code.Lines, page.ReviewLine{Number: n + 1, Text: line.Text, Markup: line.Markup, Marked: slices.Contains(lines, n+1)})
	}
	paragraph := func(t phrase.Text, args ...any) string { return "<p>" + templates.Escaped(l.Say(t, args...)) + "</p>" }
	if none == (len(lines) > 0) {
		if none || sent {
			p.Code.Mistake = l.Say("Either mark lines, or say that none is at fault.")
		}
		return nil
	}
	m, err := item.Mark(lines)
	if err != nil {
		return err
	}
	p.Answered, p.Solved = true, m.Solved
	if p.Check != "" {
		if query.Has("watch") {
			p.Leave = ofCheck(item.When(), givenOf(item, query))
			_, p.Watching = found(l, item, code)
			ran(p, made, stage)
		}
		return nil
	}
	mended := code.Mended()
	says := ""
	says, p.Watching = found(l, item, code)
	p.Feedback += "<p>" + templates.Escaped(says) + "</p>"
	for _, id := range m.Found {
		p.Feedback += page.Prose(prose.Says[id])
	}
	for _, n := range m.Idle {
		if len(code.Faults) == 0 {
			p.Feedback += paragraph("Line %d is not at fault: changing it mends nothing.", n)
		} else {
			p.Feedback += paragraph("Line %[1]d is not at fault. It is the same in the mended file, and there this happens in none of %[2]s orders.", n, page.Grouped(mended.Orders))
		}
	}
	switch {
	case len(m.Found) > 0 && m.Missed > 0:
		p.Feedback += paragraph("With what you have found mended, %[1]s of %[2]s orders still break a rule. There is more to find.", page.Grouped(item.Breaks(m.Left)), page.Grouped(m.Left.Orders))
	case m.Missed > 0 && none:
		p.Feedback += paragraph("Something in it is at fault.")
	case m.Missed > 0:
		p.Feedback += paragraph("The line at fault is another one.")
	case len(code.Faults) > 0:
		p.Feedback += paragraph("Mended, it was searched again: of %s orders none does.", page.Grouped(mended.Orders))
		for _, left := range mended.Rules() {
			p.Feedback += paragraph("What is left, in %[1]s orders: %[2]s. No line of this file can mend that.", page.Grouped(mended.Breaks(left)), film.RuleTitle(l, left))
		}
	}
	if m.Solved {
		p.Feedback += page.Prose(prose.After)
		p.Code.Diff = mends(code)
	}
	for n := range p.Code.Lines {
		one := &p.Code.Lines[n]
		fault := code.Lines[n].Fault
		switch {
		case slices.Contains(m.Idle, n+1):
			one.Judged = page.LineIdle
		case one.Markup || fault == "" || !slices.Contains(m.Found, fault):
		case one.Marked:
			one.Judged = page.LineFound
		default:
			one.Judged = page.LineToo
		}
	}
	ran(p, made, stage)
	return nil
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
func ran(p *page.Lesson, made *course.Made, stage *shownRun) {
	ordinals := map[string]int{}
	for n, t := range made.Run.Scenario.Threads {
		ordinals[t.Name] = n
	}
	for _, ran := range made.Review.Ran {
		one := &p.Code.Lines[ran.Line-1]
		one.Ran = append(one.Ran, page.ReviewRan{Step: ran.Step, Thread: page.SceneThread{Name: ran.Thread, Ordinal: ordinals[ran.Thread]}})
	}
	*stage = shownRun{made.Run, len(made.Run.Events), true}
}

// mends is what turns the lines that are shown into the mended ones; nil where nothing is at
// fault.
func mends(code *course.Review) []page.ReviewDiff {
	if len(code.Faults) == 0 {
		return nil
	}
	var from []string
	for _, line := range code.Lines {
		from = append(from, line.Text)
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

// reviewHints are the hints after the nudge: what breaks, how many lines are at fault, and
// which.
func reviewHints(l words.Language, item *course.Item, made *course.Made, text func(phrase.Text, ...any) string, to func(string, phrase.Text) string, add func(phrase.Text, string)) {
	code := made.Review
	solution := url.Values{"told": {"1"}}
	for n, line := range code.Lines {
		if line.Fault != "" && !line.Markup {
			solution.Add("line", strconv.Itoa(n+1))
		}
	}
	if len(code.Faults) == 0 {
		solution.Set("none", "1")
		add("what happens", text("The lab has found nothing that breaks a rule."))
	} else {
		add("what happens", text("The lab has found this: %s.", film.RuleTitle(l, item.Rule())))
		add("how many faults", text("Faults in this file: %d.", len(code.Faults)))
	}
	add("the solution", to(solution.Encode(), "Show what is right"))
}
