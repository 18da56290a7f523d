package film_test

import (
	"strings"
	"testing"

	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// at are the cards of a bundled run after one of its steps.
func at(t *testing.T, file string, step int) map[film.CardKind]film.Card {
	t.Helper()
	run := lessonstest.Play(t, file)
	a := film.NewActors(words.English, run.Scenario, run.Owners)
	for _, e := range run.Events {
		if e.Step <= step {
			a.Add(e)
		}
	}
	cards := map[film.CardKind]film.Card{}
	for _, c := range a.Cards() {
		cards[c.Kind] = c
	}
	return cards
}

// texts are a card's lines, each with whose it is and what it is of.
func texts(c film.Card) string {
	var list []string
	for _, line := range c.Lines {
		text := line.Text
		if line.Code != "" {
			text = line.Code + " " + text
		}
		if line.Bad {
			text = "!" + text
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

func TestCardsSayWhatTheRunDid(t *testing.T) {
	for _, c := range []struct {
		file   string
		step   int
		kind   film.CardKind
		figure string
		lines  string
	}{
		{"fenced-late-write.yaml", 8, film.OfResource, "0", "A has read 0 and has not written yet; B has read 0 and has not written yet; newest token seen: none; writes refused: 0"},
		{"fenced-late-write.yaml", 10, film.OfResource, "1", "writes: 1; newest token seen: 105,000; writes refused: 1"},
		{"no-lock-over-buying.yaml", 99, film.OfResource, "", "!user 7: 3; writes: 3"},
		{"two-threads.yaml", 4, film.OfCalls, "", "work(2) works at level 2; work(1) level 1, has called work(2); work(1) asks for level 1, attempt 2"},
		{"fair.yaml", 4, film.OfLine, "", "1. is served next; 2.; 3."},
		{"spin-two-processes.yaml", 2, film.OfWords, "", "shop1 A; shop2 B"},
		{"redlock-clock-jump.yaml", 10, film.OfNodes, "", "1 A, 475 ms left; 2 A, 475 ms left; !3 no key; its clock: +1s; 4 no key; 5 no key"},
		{"redlock-clock-jump.yaml", 3, film.OfNodes, "", "1 A, 500 ms left; 2 no key; 3 no key; !4 no key; down; !5 no key; down"},
	} {
		card, ok := at(t, c.file, c.step)[c.kind]
		if got := texts(card); !ok || got != c.lines || card.Figure != c.figure {
			t.Errorf("%s, T%d, %s: %q %q, not %q %q", c.file, c.step, c.kind, card.Figure, got, c.figure, c.lines)
		}
	}
}

// A card is there from the first row to the last, or never: else what is below
// it would jump.
func TestCardsStay(t *testing.T) {
	for _, file := range lessonstest.Names(t) {
		run := lessonstest.Play(t, file)
		a := film.NewActors(words.English, run.Scenario, run.Owners)
		kinds, before := "", -1
		for _, e := range run.Events {
			a.Add(e)
			var now []string
			for _, c := range a.Cards() {
				now = append(now, string(c.Kind))
			}
			if got := strings.Join(now, " "); before >= 0 && got != kinds {
				t.Errorf("%s, T%d: %q, before %q", file, e.Step, got, kinds)
				break
			} else {
				kinds, before = got, e.Step
			}
		}
	}
}
