package film_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// Two that wait for one another's keys: each says what it has and what it waits for, each
// key who waits for it, and the sentence that it is a circle.
func TestADeadlockOnTheStage(t *testing.T) {
	_, rows, _ := staged(t, "two-locks-deadlock.yaml")
	row := rows[3]
	if row.Mark != film.Broken || row.Broken != "deadlock" || !strings.HasPrefix(row.Why, "A and B wait for one another") {
		t.Errorf("T4 is marked %q, broken: %q, %q", row.Mark, row.Broken, row.Why)
	}
	var got []string
	for _, b := range row.Stage.Beliefs {
		got = append(got, fmt.Sprintf("%s; %s; %s", b.Says, b.Does, b.Tie))
	}
	for _, n := range row.Stage.Nodes {
		got = append(got, fmt.Sprintf("%s: %s, %s", n.Name, n.Owner.Name, n.Clock))
	}
	want := []string{
		"I hold account-a; waits for account-b: refused once, again at 100 ms; waits for account-b",
		"I hold account-b; waits for account-a: refused once, again at 100 ms; waits for account-a",
		"account-a: A, waited for by B", "account-b: B, waited for by A",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if short := row.Key.Short(); short != "account-a {A} 29,950 ms, account-b {B} 29,950 ms" {
		t.Errorf("the keys: %s", short)
	}
}

// A thread that has given back holds nothing, and says that it begins again.
func TestWhoGivesBackSaysSo(t *testing.T) {
	_, rows, _ := staged(t, "two-locks-give-back.yaml")
	if a := rows[4].Stage.Beliefs[0]; a.State != film.Waits || a.Cord != film.NoCord || a.Does != "has given back what it had, begins again at 127 ms" {
		t.Errorf("%+v", a)
	}
}

// A key says who waits for it with another one in hand: they may close a circle.
func TestWhoHasNothingIsNotNamedAtTheKeyThatItWaitsFor(t *testing.T) {
	p := lessonstest.PlayScenario(t, parse(t, "lock: {protocol: mutex}\nlocks: [a, b]\nthreads: [{name: A, work: 80ms}, {name: B, start: 10ms, work: 20ms}]"))
	f := film.New(words.English, p.Scenario, p.Owners)
	waited := false
	for _, e := range p.Events {
		f.Add(e)
		stage := f.Rows()[len(f.Rows())-1].Stage
		waited = waited || stage.Beliefs[1].State == film.Waits
		for _, n := range stage.Nodes {
			if n.Clock != "" {
				t.Fatalf("%s is %s", n.Name, n.Clock)
			}
		}
	}
	if !waited {
		t.Error("B never waits")
	}
}
