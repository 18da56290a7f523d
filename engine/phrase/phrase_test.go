package phrase_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"relock/engine/phrase"
)

func TestWordingInEnglish(t *testing.T) {
	for _, c := range []struct {
		says phrase.Wording
		want string
	}{
		{phrase.Say("no key"), "no key"},
		{phrase.Say("100%"), "100%"},
		{phrase.Say("%s waits until %s", "A", 1500*time.Microsecond), "A waits until 1.5ms"},
		{phrase.Say("%s are inside", phrase.Names{"A", "B", "C"}), "A and B and C are inside"},
		{phrase.Say("decision %d: %s", 3, phrase.Say("%s has ended", "A")), "decision 3: A has ended"},
		{phrase.Plain("50%"), "50%"},
		{phrase.Say("given up: %s", phrase.New("there are %d", 6)), "given up: there are 6"},
		{phrase.Say("given up: %s", fmt.Errorf("%w", phrase.New("no key"))), "given up: no key"},
		{phrase.Say("given up: %s", errors.New("disk full")), "given up: disk full"},
	} {
		if got := c.says.String(); got != c.want {
			t.Errorf("%+v says %q, want %q", c.says, got, c.want)
		}
	}
}

// short is an error that says more than its text.
type short struct{}

func (short) Error() string        { return "s" }
func (short) Says() phrase.Wording { return phrase.Say("long") }

// Errors among the values are worded with the text: by themselves, or by whoever knows them.
func TestErrorsOfAWording(t *testing.T) {
	marked := func(text phrase.Text, args ...any) string { return "<" + fmt.Sprintf(string(text), args...) + ">" }
	for want, cause := range map[string]error{
		"<given up: <no key>>":          phrase.New("no key"),
		"<given up: <only <no key>>>":   phrase.New("only %s", phrase.New("no key")),
		"<given up: <no key, wrapped>>": fmt.Errorf("%w", phrase.New("no key, wrapped")),
		"<given up: <long>>":            short{},
		"<given up: branch: no key>":    fmt.Errorf("branch: %w", phrase.New("no key")), // what it adds is not lost
	} {
		says := phrase.Say("given up: %s", cause)
		if got := says.Render(marked, phrase.Names.String, phrase.Duration); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
		sent, err := json.Marshal(says)
		var came phrase.Wording
		if err != nil || json.Unmarshal(sent, &came) != nil || came.String() != says.String() {
			t.Errorf("%s comes as %q, %v", sent, came, err)
		}
	}
	deep := phrase.Say("one: %s", phrase.Say("two: %s", errors.New("disk full")))
	if got := deep.Causes(func(err error) string { return "<" + err.Error() + ">" }).String(); got != "one: two: <disk full>" || deep.String() != "one: two: disk full" {
		t.Errorf("says %q, and before %q", got, deep)
	}
}

func TestOf(t *testing.T) {
	full := phrase.New("there are %d already", 6)
	if says, ok := phrase.Of(fmt.Errorf("branch: %w", full)); !ok || says.String() != "there are 6 already" || full.Error() != says.String() {
		t.Errorf("says %q (%v), and as an error %q", says, ok, full)
	}
	if says, ok := phrase.Of(fmt.Errorf("disk full")); ok {
		t.Errorf("an error for nobody says %q", says)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 66667 * time.Microsecond: "66.667ms", 1500 * time.Microsecond: "1.5ms", 999 * time.Millisecond: "999ms", time.Second: "1s", 90 * time.Second: "1m30s", time.Minute: "1m", 2 * time.Hour: "2h",
	} {
		if got := phrase.Duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
