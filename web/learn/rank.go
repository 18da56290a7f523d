package learn

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// ranked puts the mends to be ordered on the page, the situations that they are for, and,
// outside of the concept check, the result of somebody's order.
func ranked(l words.Language, p *page.Lesson, item *course.Item, made *course.Made, prose *course.Prose, query url.Values, stage *shownRun) {
	p.Ranking = situations(made, prose)
	places := placesIn(query, len(made.Answers))
	order := orderOf(places, len(made.Answers))
	if p.Check != "" && len(places) == 0 {
		order = orderFrom(p.Given, len(made.Answers))
		for place, n := range order {
			places[n] = place + 1
		}
	}
	shown := make([]int, len(made.Answers)) // the answers were shuffled, so their order tells nothing
	for n := range shown {
		shown[n] = n
	}
	slices.SortStableFunc(shown, func(a, b int) int { return unplacedLast(places[a]) - unplacedLast(places[b]) })
	for _, n := range shown {
		p.Pieces = append(p.Pieces, page.LessonPiece{Name: pieceName(n), HTML: page.Prose(prose.Labels[made.Answers[n].Option.ID]), Place: places[n]})
	}
	own := "/learn/" + item.Path() + "?" + placed(order).Encode()
	if p.Check != "" {
		own, p.Leave = "/learn/"+item.Path()+p.Carry, ofCheck(item.When(), givenOf(item, query))
	}
	watched(l, p, made, prose, query.Get("watch"), stage)
	came, err := item.Rank(order)
	if err != nil { // they have no order yet
		if query.Has(pieceName(0)) {
			p.Misplaced = l.Say("Give each of them its own place.")
		}
		return
	}
	p.Answered, p.Solved = true, came.Solved
	if p.Check != "" {
		return
	}
	p.Ranking = ranking(made, prose, own+"&watch=", query.Get("watch"))
	if p.Watching == "" {
		p.Leave = ""
	}
	p.Feedback = "<p>" + templates.Escaped(l.Say("Each mend was played in each situation.")) + "</p>"
	if came.Solved {
		p.Feedback += page.Prose(prose.After)
	} else {
		p.Ranking.Right = rightIn(l, came)
	}
}

// watched puts on the stage what a cell of the table leads to: watch is a mend and a
// situation, "2-1".
func watched(l words.Language, p *page.Lesson, made *course.Made, prose *course.Prose, watch string, stage *shownRun) {
	mend, situation, _ := strings.Cut(watch, "-")
	n, _ := strconv.Atoi(mend)
	k, _ := strconv.Atoi(situation)
	if n < 1 || n > len(made.Answers) || k < 1 || k > len(made.Ranking.Situations) {
		return
	}
	one := made.Ranking.Saves[n-1].In[k-1]
	*stage = shownRun{one.Run, one.Shown, true}
	mended := page.Plain(prose.Labels[made.Answers[n-1].Option.ID])
	p.Watching = l.Say("“%[1]s” In situation %[2]d it still goes wrong.", mended, k)
	if one.OK {
		p.Watching = l.Say("“%[1]s” In situation %[2]d it does not go wrong.", mended, k)
	}
}

// situations are an item's situations, before anybody has answered.
func situations(made *course.Made, prose *course.Prose) *page.Ranking {
	r := &page.Ranking{Of: prose.Title}
	for _, s := range made.Ranking.Situations {
		r.Situations = append(r.Situations, page.Prose(prose.Labels[s.ID]))
	}
	return r
}

// ranking is which mend saves which situation; to is where a cell leads, but for its number.
func ranking(made *course.Made, prose *course.Prose, to, shown string) *page.Ranking {
	r := situations(made, prose)
	for _, n := range made.Ranking.Best {
		saves := made.Ranking.Saves[n]
		row := page.RankingRow{Mend: page.Prose(prose.Labels[made.Answers[n].Option.ID]), Saves: saves.Count}
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

// placed is what a form sends of an order.
func placed(order []int) url.Values {
	query := url.Values{}
	for place, n := range order {
		query.Set(pieceName(n), strconv.Itoa(place+1))
	}
	return query
}

// checkedRank fills in what came of an order in the concept check.
func checkedRank(l words.Language, out *page.CheckedAnswer, item *course.Item, made *course.Made, prose *course.Prose, answer string, told bool) {
	order := orderFrom(answer, len(made.Answers))
	came, err := item.Rank(order)
	if err != nil {
		return // it is no answer
	}
	inOrder := func(order []int) string {
		list := "<ol>"
		for _, n := range order {
			list += "<li>" + page.Prose(prose.Labels[made.Answers[n].Option.ID]) + "</li>"
		}
		return list + "</ol>"
	}
	out.Answer, out.Right = inOrder(order), came.Solved
	if !told {
		return
	}
	out.Ranking = ranking(made, prose, "/learn/"+item.Path()+out.Carry+"&watch=", "")
	if !came.Solved {
		out.Wanted, out.Why = inOrder(made.Ranking.Best), l.Say("Each mend was played in each situation.")
		out.Ranking.Right = rightIn(l, came)
	}
}

// rankHints are the hints after the nudge: who saves the least, and the whole order.
func rankHints(l words.Language, item *course.Item, made *course.Made, prose *course.Prose, text func(phrase.Text, ...any) string, to func(string, phrase.Text) string, add func(phrase.Text, string)) {
	best := made.Ranking.Best
	least := made.Ranking.Saves[best[len(best)-1]].Count
	add("how many", text("The last of them saves this many situations: %d.", least))
	add("what comes first", page.Prose(prose.Labels[made.Answers[best[0]].Option.ID]))
	query := placed(best)
	query.Set("told", "1")
	add("the solution", to(query.Encode(), "Put them in this order"))
}
