package phrase_test

import (
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
	} {
		if got := c.says.String(); got != c.want {
			t.Errorf("%+v says %q, want %q", c.says, got, c.want)
		}
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
