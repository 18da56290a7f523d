package page_test

import (
	"strings"
	"testing"

	"relock/engine"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/words"
)

// A term's link opens at the moment in which the term is seen: what the page
// says of that row has the word, or what it stands for.
func TestEachTermIsSeenWhereItsLinkStands(t *testing.T) {
	moments, err := page.TermMoments()
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]string{
		"lock": "refused", "critical-section": "at once", "lost-update": "writes", "owner": "acquired", "reentrant": "level 2", "hold-count": "left",
		"script": "hold count", "lease": "lease", "belief": "dropped", "watchdog": "renewed", "lost-reply": "repl", "late-copy": "late", "orphan": "no expiry", "tick": "2 times", "idempotency-key": "key is known",
		"fencing-token": "token", "fail-over": "replica", "acknowledgement": "acquired", "split-brain": "two masters", "append-only-file": "without the writes", "passing-error": "BUSY", "quorum": "acquired", "drift": "clock", "client-retry": "again", "absolute-expiry": "time of day", "queue": "queue", "deadlock": "wait for one another", "lock-ordering": "refused", "try-lock": "waits", "schedule": "T2",
	}
	for _, term := range page.Terms() {
		m := moments[term.ID]
		state, err := link.Decode(m.Link)
		if err != nil {
			t.Errorf("%s: %v", term.ID, err)
			continue
		}
		s, err := engine.Open(t.Context(), state.Scenario)
		if err != nil {
			t.Errorf("%s: %v", term.ID, err)
			continue
		}
		b := s.Branches()[0]
		row := b.Positions[state.At].Row
		reel := film.New(words.English, state.Scenario, b.Header.Owners)
		for _, e := range b.Events {
			reel.Add(e)
		}
		s.Close()
		if row < m.Step {
			t.Errorf("%s: the link stands at T%d, and it is seen at T%d", term.ID, row, m.Step)
			continue
		}
		frame := reel.Rows()[m.Step-1]
		if text := frame.Says + " " + frame.Why; says[term.ID] == "" || !strings.Contains(text, says[term.ID]) {
			t.Errorf("%s: T%d of %s says %q, without %q", term.ID, m.Step, term.Scenario, text, says[term.ID])
		}
	}
}

func TestTermsHaveAddressesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, term := range page.Terms() {
		if seen[term.ID] || term.ID == "" || strings.Trim(term.ID, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q is there twice, or not for an address", term.ID)
		}
		seen[term.ID] = true
	}
}
