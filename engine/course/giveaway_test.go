package course_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"relock/engine/course"
	"relock/engine/trace"
	"relock/web/words"
)

// asked is a question as somebody sees it who has not understood it: its options
// as they are read, in their order.
type asked struct {
	path    string
	options []string
	right   []bool
	labels  bool  // the options are texts, and not what runs did
	saves   []int // of what is put in order: the more, the further to the front
}

// questions are the items with options, as they are read in a language.
func questions(t *testing.T, l words.Language, items []*course.Item) []asked {
	t.Helper()
	var out []asked
	for _, i := range items {
		if i.Kind != course.Predict && i.Kind != course.Why && i.Kind != course.Mend && i.Kind != course.Diagnose && i.Kind != course.Rank {
			continue
		}
		made, err := i.Made()
		if err != nil {
			t.Fatal(err)
		}
		p, err := i.Prose(l)
		if err != nil {
			t.Fatal(err)
		}
		q := asked{path: i.Path(), labels: i.Kind != course.Predict}
		for _, a := range made.Answers {
			text := ""
			for _, s := range a.Says {
				text += l.Clause(s) + "; "
			}
			if q.labels {
				text = strings.TrimSpace(p.Labels[a.Option.ID])
			}
			q.options, q.right = append(q.options, text), append(q.right, a.Right)
		}
		if i.Kind == course.Rank {
			for _, one := range task[*course.Ranking](t, i).Saves {
				q.saves = append(q.saves, one.Count)
			}
		}
		out = append(out, q)
	}
	return out
}

// aWord is what a text is cut into to be compared: a Latin word, a number, or a
// Han character.
var aWord = regexp.MustCompile(`\p{Han}|[\pL\d][\pL\d.-]*`)

func wordsOf(text string) []string { return aWord.FindAllString(strings.ToLower(text), -1) }

// terms are words of the trade, in both languages.
var terms = regexp.MustCompile(`(?i)\b(script|compare\w*|owner\w*|token\w*|watchdog\w*|lease\w*|renew\w*|key\w*|node\w*|majorit\w*|count\w*|level\w*|process\w*|atomic\w*|[A-Z]{2,})\b|脚本|比对|持有者|主人|令牌|看门狗|租约|续期|键|节点|多数|计数|进程|[A-Z]{2,}`)

var aNumber = regexp.MustCompile(`\d+`)

func numbers(text string) float64 { return count(aNumber, text) }

func termsIn(text string) float64 { return count(terms, text) }

func count(words *regexp.Regexp, text string) float64 {
	return float64(len(words.FindAllString(text, -1)))
}

// quantity is of words that say how much: half a cure is often more or less of something.
var quantity = regexp.MustCompile(`(?i)\d|\b(half|twice|thrice|third|quarter|fifth|tenth|times|much|more|less|longer|shorter|later|earlier|sooner|faster|slower|often|rarely|nearly|almost)\b|一半|一倍|两倍|三倍|更|分之|晚|早些|快些|慢些|少|将近|快要`)

// disaster is of what happens where a lock fails.
var disaster = regexp.MustCompile(`(?i)inside at once|more was sold|gets in.*goes on, and believes|left behind|done [2-9]\d* times|同时在|卖得比|进来了.*以为锁|残留|遗留`)

// testWise are the ways of somebody who has sat many tests.
func testWise() map[string]func(options []string, n int) float64 {
	each := func(score func(string) float64) func([]string, int) float64 {
		return func(options []string, n int) float64 { return score(options[n]) }
	}
	amounts := func(s string) float64 { return min(1, count(quantity, s)) }
	ways := map[string]func([]string, int) float64{
		"the disaster": each(func(s string) float64 { return count(disaster, s) }),
		"no disaster":  each(func(s string) float64 { return -count(disaster, s) }),
		"no quantity":  each(func(s string) float64 { return -amounts(s) }),
		"a mechanism":  each(func(s string) float64 { return termsIn(s) - 100*amounts(s) }),
	}
	for how, score := range guesses() {
		if !strings.HasPrefix(how, "number ") { // where an answer stands is drawn
			ways[how] = score
		}
	}
	return ways
}

// wordLength is how long the words are on average; of a Chinese text, how much of
// it is not Chinese.
func wordLength(text string) float64 {
	list := wordsOf(text)
	sum, han := 0, false
	for _, w := range list {
		if c, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Han, c) {
			han = true
		} else {
			sum += utf8.RuneCountInString(w)
		}
	}
	if han {
		return float64(sum)
	}
	return float64(sum) / float64(max(1, len(list)))
}

// kin is how much of an option the others have, too.
func kin(options []string, n int) float64 {
	own := wordsOf(options[n])
	shared := 0.0
	for m, other := range options {
		if m == n {
			continue
		}
		list := wordsOf(other)
		for _, w := range own {
			if slices.Contains(list, w) {
				shared++
			}
		}
	}
	return shared / float64(max(1, len(own)))
}

// guesses are ways to choose an option without having understood anything: the
// one with the highest score.
func guesses() map[string]func(options []string, n int) float64 {
	each := func(score func(string) float64) func([]string, int) float64 {
		return func(options []string, n int) float64 { return score(options[n]) }
	}
	length := func(s string) float64 { return float64(utf8.RuneCountInString(s)) }
	all := map[string]func([]string, int) float64{
		"the longest":          each(length),
		"the shortest":         each(func(s string) float64 { return -length(s) }),
		"the most numbers":     each(numbers),
		"the fewest numbers":   each(func(s string) float64 { return -numbers(s) }),
		"the most terms":       each(termsIn),
		"the longest words":    each(wordLength),
		"the most specific":    each(func(s string) float64 { return numbers(s) + termsIn(s) + wordLength(s)/10 }),
		"what the others have": kin,
		"what no other has":    func(options []string, n int) float64 { return -kin(options, n) },
	}
	for place := range 4 {
		all[fmt.Sprintf("number %d", place+1)] = func(_ []string, n int) float64 {
			if n == place {
				return 1
			}
			return 0
		}
	}
	return all
}

// guessed is how many questions are answered right by chance, and by taking what
// scores highest; of several that score as high, any one.
func guessed(list []asked, score func([]string, int) float64) (chance, got float64) {
	for _, q := range list {
		if q.saves != nil {
			all, as, right := orders(q, score)
			chance += 1 / float64(all)
			got += float64(right) / float64(as)
			continue
		}
		best, top, right, all := -1e9, 0, 0, 0
		for n := range q.options {
			if q.right[n] {
				all++
			}
			s := score(q.options, n)
			if s > best {
				best, top, right = s, 0, 0
			}
			if s == best {
				top++
				if q.right[n] {
					right++
				}
			}
		}
		chance += float64(all) / float64(len(q.options))
		got += float64(right) / float64(top)
	}
	return chance, got
}

// orders counts the orders of a question's options, those in which none comes before one with
// a higher score, and of these the right ones.
func orders(q asked, score func([]string, int) float64) (all, as, right int) {
	var put func(order []int)
	put = func(order []int) {
		if len(order) == len(q.options) {
			fits, rightly := true, true
			for n := 1; n < len(order); n++ {
				fits = fits && score(q.options, order[n-1]) >= score(q.options, order[n])
				rightly = rightly && q.saves[order[n-1]] > q.saves[order[n]]
			}
			all++
			if fits {
				as++
			}
			if fits && rightly {
				right++
			}
			return
		}
		for n := range q.options {
			if !slices.Contains(order, n) {
				put(append(slices.Clone(order), n))
			}
		}
	}
	put(nil)
	return all, as, right
}

// aTwelfth is how much better than chance a guess may do, of a question.
const aTwelfth = 2.0 / 12

// Nobody passes the concept check, or gets through the course, by how an answer
// looks: nothing but its meaning gives it away.
func TestNothingButItsMeaningGivesAnAnswerAway(t *testing.T) {
	t.Parallel()
	sets := map[string][]*course.Item{}
	for _, i := range whole(t).All() {
		set := "the course"
		if i.When() != "" {
			set = "the check" // both halves
		}
		sets[set] = append(sets[set], i)
	}
	for _, l := range words.All() {
		for set, items := range sets {
			list := questions(t, l, items)
			if len(list) < 8 {
				t.Fatalf("%s has %d questions", set, len(list))
			}
			for how, score := range guesses() {
				if chance, got := guessed(list, score); got > chance+aTwelfth*float64(len(list)) {
					t.Errorf("%s, %s: of %d questions, %s is right in %.1f, and chance in %.1f", l.Code(), set, len(list), how, got, chance)
					for _, q := range list {
						if _, one := guessed([]asked{q}, score); one > 0 {
							t.Logf("%s: %.1f", q.path, one)
						}
					}
				}
			}
			for _, q := range list {
				sameLength(t, l, q)
			}
		}
	}
}

// aTenth is how much better than chance somebody may do who has sat many tests.
const aTenth = 0.1

// Somebody who has sat many tests and knows nothing about locks predicts no more than
// chance, and neither mends nor explains more.
func TestWhoHasSatManyTestsGuessesNothing(t *testing.T) {
	t.Parallel()
	sets := map[string][]*course.Item{}
	for _, i := range whole(t).All() {
		switch i.Kind {
		case course.Predict:
			sets["predictions"] = append(sets["predictions"], i)
		case course.Mend, course.Why:
			sets["mends and whys"] = append(sets["mends and whys"], i)
		}
	}
	for _, l := range words.All() {
		for set, items := range sets {
			list := questions(t, l, items)
			if len(list) < 25 {
				t.Fatalf("there are %d %s", len(list), set)
			}
			for how, score := range testWise() {
				chance, got := guessed(list, score)
				if got > chance+aTenth*float64(len(list)) {
					t.Errorf("%s: of %d %s, %s is right in %.1f, and chance in %.1f", l.Code(), len(list), set, how, got, chance)
				}
				t.Logf("%s: %s: %s: %.1f of %d", l.Code(), set, how, got, len(list))
			}
		}
	}
}

// Where a prediction offers a disaster, a third of the right answers is calm, when it is asked
// for the first time as when it is asked again.
func TestADisasterIsNotTheAnswer(t *testing.T) {
	t.Parallel()
	calm, all := map[bool]int{}, map[bool]int{}
	for _, i := range whole(t).All() {
		if i.Kind != course.Predict || i.Lab() != nil {
			continue
		}
		for _, q := range questions(t, words.All()[0], []*course.Item{i}) {
			bad := func(option string) bool { return count(disaster, option) > 0 }
			if !slices.ContainsFunc(q.options, bad) {
				continue
			}
			all[i.Again != nil]++
			if !bad(q.options[slices.Index(q.right, true)]) {
				calm[i.Again != nil]++
			}
			t.Logf("%s: the disaster is right: %v", q.path, bad(q.options[slices.Index(q.right, true)]))
		}
	}
	for first, n := range all {
		if n < 8 || 3*calm[first] < n {
			t.Errorf("of %d that are asked (for the first time: %v), %d are calm", n, first, calm[first])
		}
	}
}

// mentions is how much of an option stands in some texts: what share of its words.
func mentions(option string, texts []string) float64 {
	there := map[string]bool{}
	for _, text := range texts {
		for _, w := range wordsOf(text) {
			there[w] = true
		}
	}
	own := wordsOf(option)
	said := 0.0
	for _, w := range own {
		if there[w] {
			said++
		}
	}
	return said / float64(max(1, len(own)))
}

// Somebody who has sat many tests, or looks for an answer in the other questions, gets no
// more of the check right than chance. Of the six of a half one is more than a tenth, so
// both halves are counted together.
func TestWhoHasSatManyTestsKnowsNothingOfTheCheck(t *testing.T) {
	t.Parallel()
	for _, l := range words.All() {
		var list []asked
		stems := map[string][]string{} // of the other questions in the same half
		for _, half := range [][]*course.Item{whole(t).Check.Items, whole(t).Check.Items[0].Again.Half()} {
			for _, i := range half {
				p, err := i.Prose(l)
				if err != nil {
					t.Fatal(err)
				}
				for _, other := range half {
					if other != i {
						stems[other.Path()] = append(stems[other.Path()], p.Title, p.Body, p.Goal)
					}
				}
				if i.Kind != course.ReviewCode {
					list = append(list, questions(t, l, []*course.Item{i})...)
					continue
				}
				q := lines(t, i) // and that none is at fault
				q.options, q.right = append(q.options, l.Say("No line is at fault")), append(q.right, !slices.Contains(q.right, true))
				list = append(list, q)
			}
		}
		if len(list) != 12 {
			t.Fatalf("the check has %d questions", len(list))
		}
		hold := func(how string, chance, got float64) {
			if got > chance+aTenth*float64(len(list)) {
				t.Errorf("%s: of %d questions, %s is right in %.1f, and chance in %.1f", l.Code(), len(list), how, got, chance)
			}
			t.Logf("%s: %s: %.1f of %d, chance %.1f", l.Code(), how, got, len(list), chance)
		}
		for how, score := range testWise() {
			chance, got := guessed(list, score)
			hold(how, chance, got)
		}
		for how, sign := range map[string]float64{"what the others say": 1, "what no other says": -1} {
			chance, got := 0.0, 0.0
			for _, q := range list {
				one, right := guessed([]asked{q}, func(options []string, n int) float64 { return sign * mentions(options[n], stems[q.path]) })
				chance, got = chance+one, got+right
				t.Logf("%s: %s, %s: %.1f", l.Code(), q.path, how, right)
			}
			hold(how, chance, got)
		}
	}
}

// No change that the check offers names an amount.
func TestTheCheckNamesNoAmounts(t *testing.T) {
	t.Parallel()
	for _, l := range words.All() {
		for _, i := range whole(t).Check.Items {
			for _, q := range questions(t, l, []*course.Item{i, i.Again}) {
				for _, option := range q.options {
					if count(quantity, option) > 0 {
						t.Errorf("%s, %s: %q", l.Code(), q.path, option)
					}
				}
			}
		}
	}
}

// The stage does not show what took over, and what it lacked, before somebody has said
// what would have prevented it.
func TestTheStageDoesNotTellOfTheFailOver(t *testing.T) {
	t.Parallel()
	i, _ := whole(t).Item("check/replicas")
	made, err := i.Made()
	if err != nil {
		t.Fatal(err)
	}
	fails := func(e trace.Event) bool {
		f, ok := e.Body.(trace.Fault)
		return ok && f.Do == "fail-over"
	}
	at := slices.IndexFunc(made.Run.Events, fails)
	if at < made.Stand || made.Stand == 0 {
		t.Errorf("the fail-over is event %d, and %d are seen", at, made.Stand)
	}
}

// Texts to choose among are nearly as long as each other.
func sameLength(t *testing.T, l words.Language, q asked) {
	t.Helper()
	if !q.labels {
		return // what a run did is said as it is
	}
	least, most := utf8.RuneCountInString(q.options[0]), 0
	for _, o := range q.options {
		least, most = min(least, utf8.RuneCountInString(o)), max(most, utf8.RuneCountInString(o))
	}
	if most-least > max(2, most*15/100) {
		t.Errorf("%s, %s: options of %d to %d characters: %q", l.Code(), q.path, least, most, q.options)
	}
}
