package class

import (
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/lessons/lessonstest"
	"relock/web/board"
	"relock/web/words"
)

// rulesLast is a language that says of a broken rule first what happened and then which
// rule it is, and has its full stop before a sentence.
func rulesLast(t *testing.T) words.Language {
	t.Helper()
	all, err := words.Read(fstest.MapFS{
		"de/language.yaml": {Data: []byte("name: Deutsch")},
		"de/film.yaml":     {Data: []byte("\"%s: %s\": \"%[2]s – %[1]s\"\n\"%s. \": \"¶ %s \"\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Match("de")
}

// While a question is open, phones are told what happened, but neither which rule that
// broke nor how, in whatever order a language says it; hosts are told all of it.
func TestPhonesAreNotToldWhichRuleBreaks(t *testing.T) {
	const moves = 8
	text := lessonstest.Text(t, "lease-expiry.yaml") + "\nschedule: [" + strings.Repeat("0, ", moves) + "]\n"
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	journal, err := board.NewSolo("")
	if err != nil {
		t.Fatal(err)
	}
	house := board.NewHouse(board.Config{Journal: journal, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(house.Close)
	code, _, err := house.Open(t.Context(), board.Plan{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	room, err := house.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	frames := nowFrames{course: func() *course.Course { return new(course.Course) }}
	for _, l := range []words.Language{words.English, words.Match("zh"), rulesLast(t)} {
		broken := 0
		if err := room.Look(func(v board.View) error {
			for at := range moves + 1 {
				asked := *v.State
				asked.Stand.At = at
				asked.Question = &board.Question{Kind: "predict", Text: map[string]string{"en": "Which rule?"}}
				v.State, v.Fresh = &asked, map[string]any{}
				phone, err := frames.roomAsSeen(l, v, false)
				if err != nil {
					return err
				}
				host, err := frames.roomAsSeen(l, v, true)
				if err != nil {
					return err
				}
				reel, _, err := filmOf(l, v).branch(v, asked.Stand.Branch)
				if err != nil {
					return err
				}
				for _, row := range reel.Rows()[:phone.Row] {
					if row.Step != phone.Row {
						continue
					}
					if phone.Says == "" || strings.Contains(phone.Says, row.Time) {
						t.Errorf("%s, T%d: a phone is told %q", l.Code(), row.Step, phone.Says)
					}
					for _, b := range row.Violations {
						broken++
						if strings.Contains(phone.Says, b.Title) || strings.Contains(phone.Says, b.Detail) {
							t.Errorf("%s, T%d: a phone is told %q", l.Code(), row.Step, phone.Says)
						}
						if !strings.Contains(host.Says, b.Title) || !strings.Contains(host.Says, b.Detail) {
							t.Errorf("%s, T%d: a host is told %q", l.Code(), row.Step, host.Says)
						}
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if broken == 0 {
			t.Errorf("%s: no rule breaks: the test says nothing", l.Code())
		}
	}
}
