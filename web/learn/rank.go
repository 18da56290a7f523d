package learn

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// rank puts the mends to be ordered on the page, the situations that they are for, and,
// outside of the concept check, the result of somebody's order.
func rank(_ context.Context, a *asking, task *course.Ranking) error {
	a.Unstaged, a.GoesOn = true, true
	mends := make([]int, len(a.made.Answers)) // the answers were shuffled, so their order tells nothing
	for n := range mends {
		mends[n] = n
	}
	places := placesIn(a.query, len(mends))
	order := orderOf(places, len(mends))
	if a.Check != "" && len(places) == 0 {
		order = orderFrom(a.Given, len(mends))
		for place, n := range order {
			places[n] = place + 1
		}
	}
	asked := situations(a, task)
	for _, n := range placed(mends, places) {
		asked.Pieces = append(asked.Pieces, page.LessonPiece{Name: pieceName(n), HTML: a.label(a.made.Answers[n]), Place: places[n]})
	}
	a.parts.Shown, a.parts.Ask = templates.LessonSituations(asked.Situations), templates.LessonRank(a.LessonCheck, *asked)
	own := "/learn/" + a.item.Path() + "?" + sent(order).Encode()
	if a.Check != "" {
		own, a.Leave = "/learn/"+a.item.Path()+a.Carry, ofCheck(a.item.When(), a.given)
	}
	watch := a.query.Get("watch")
	watchRanked(a, task, watch)
	came, err := task.Rank(order)
	if err != nil { // they have no order yet
		if a.query.Has(pieceName(0)) {
			a.Brief = a.l.Say("Give each of them its own place.")
		}
		return nil
	}
	a.Answered, a.Solved = true, came.Solved
	if a.Check != "" {
		return nil
	}
	if a.Watching == "" {
		a.Leave = ""
	}
	result := rankingOf(a, task, own+"&watch=", watch)
	a.Feedback = a.paragraph("Each mend was played in each situation.")
	if came.Solved {
		a.Feedback += page.Prose(a.prose.After)
	} else {
		result.Right = rightIn(a.l, came)
	}
	a.parts.Found = templates.Ranked(*result)
	return nil
}

// watchRanked puts on the stage what a cell of the table leads to: watch is a mend and a
// situation, "2-1".
func watchRanked(a *asking, task *course.Ranking, watch string) {
	mend, situation, _ := strings.Cut(watch, "-")
	n, _ := strconv.Atoi(mend)
	k, _ := strconv.Atoi(situation)
	if n < 1 || n > len(a.made.Answers) || k < 1 || k > len(task.Situations) {
		return
	}
	one := task.Saves[n-1].In[k-1]
	a.stage = shownRun{one.Run, one.Shown, true}
	mended := page.Plain(a.prose.Labels[a.made.Answers[n-1].Option.ID])
	a.Watching = a.l.Say("“%[1]s” In situation %[2]d it still goes wrong.", mended, k)
	if one.OK {
		a.Watching = a.l.Say("“%[1]s” In situation %[2]d it does not go wrong.", mended, k)
	}
}

// situations are an item's situations, before anybody has answered.
func situations(a *asking, task *course.Ranking) *page.Ranking {
	r := &page.Ranking{Of: a.prose.Title}
	for _, s := range task.Situations {
		r.Situations = append(r.Situations, page.Prose(a.prose.Labels[s.ID]))
	}
	return r
}

// rankingOf is which mend saves which situation; to is where a cell leads, but for its number.
func rankingOf(a *asking, task *course.Ranking, to, shown string) *page.Ranking {
	r := situations(a, task)
	for _, n := range task.Best {
		saves := task.Saves[n]
		row := page.RankingRow{Mend: a.label(a.made.Answers[n]), Saves: saves.Count}
		for k, one := range saves.In {
			cell := strconv.Itoa(n+1) + "-" + strconv.Itoa(k+1)
			row.Cells = append(row.Cells, page.RankingCell{Saved: one.OK, Watch: to + cell, Shown: cell == shown})
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// rightIn says what is right in an order that is not.
func rightIn(l words.Language, came course.Ranked) []string {
	says := make([]string, len(came.Pairs))
	for n, pair := range came.Pairs {
		says[n] = l.Say("Right in it: your number %[1]d saves more than your number %[2]d.", pair[0], pair[1])
	}
	if len(says) == 0 {
		return []string{l.Say("It is the right order, backwards.")}
	}
	return says
}

// orderOf is the order that places make, none where two share one; it lacks what has none.
func orderOf(places map[int]int, mends int) []int {
	order := []int{}
	for place := range mends {
		was := len(order)
		for n := range mends {
			if places[n] == place+1 {
				order = append(order, n)
			}
		}
		if len(order) > was+1 {
			return nil
		}
	}
	return order
}

// orderIn is the order of a form as an answer carries it, "2-1-3"; "" where it is none.
func orderIn(query url.Values, mends int) string {
	var list []string
	for _, n := range orderOf(placesIn(query, mends), mends) {
		list = append(list, strconv.Itoa(n+1))
	}
	return strings.Join(list, "-")
}

// orderFrom reads an order of mends from an answer like "2-1-3"; none if it is not like that.
func orderFrom(answer string, mends int) []int {
	var order []int
	for _, text := range strings.Split(answer, "-") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mends || slices.Contains(order, n-1) {
			return nil
		}
		order = append(order, n-1)
	}
	return order
}

// sent is what a form sends of an order.
func sent(order []int) url.Values {
	query := url.Values{}
	for place, n := range order {
		query.Set(pieceName(n), strconv.Itoa(place+1))
	}
	return query
}

// checkedRank fills in what came of an order in the concept check.
func checkedRank(a *asking, given string, told bool, out *page.CheckedAnswer) error {
	task, err := course.TaskOf[*course.Ranking](a.item)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	order := orderFrom(given, len(a.made.Answers))
	came, err := task.Rank(order)
	if err != nil {
		return nil //nolint:nilerr // it is no answer
	}
	inOrder := func(order []int) string {
		list := "<ol>"
		for _, n := range order {
			list += "<li>" + a.label(a.made.Answers[n]) + "</li>"
		}
		return list + "</ol>"
	}
	out.Answer, out.Right = inOrder(order), came.Solved
	if !told {
		return nil
	}
	out.Ranking = rankingOf(a, task, "/learn/"+a.item.Path()+out.Carry+"&watch=", "")
	if !came.Solved {
		out.Wanted, out.Why = inOrder(task.Best), a.l.Say("Each mend was played in each situation.")
		out.Ranking.Right = rightIn(a.l, came)
	}
	return nil
}

// rightRanks is the query of the right order.
func rightRanks(_ *asking, task *course.Ranking) url.Values { return sent(task.Best) }

// rankHints are the hints after the nudge: who saves the least, and the whole order.
func rankHints(a *asking, task *course.Ranking) {
	a.hint("how many", a.paragraph("The last of them saves this many situations: %d.", task.Saves[task.Best[len(task.Best)-1]].Count))
	a.hint("what comes first", a.label(a.made.Answers[task.Best[0]]))
	query := rightRanks(a, task)
	query.Set("told", "1")
	a.hint("the solution", a.button(query.Encode(), "Put them in this order"))
}
