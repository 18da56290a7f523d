package page_test

import (
	"io/fs"
	"math/big"
	"strings"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/explore/mend"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/page"
	"relock/web/words"
)

// Why a change mends is what the thread that broke a rule comes to with it.
func TestWhyAChangeMends(t *testing.T) {
	for _, c := range []struct{ example, cure, says string }{
		{
			"late-write-without-a-token", "checks: version",
			"The same moves, at A's write. With the change: its write is refused: version 1 is there, and it has read 0 (240 ms). Without it: writes 1 (240 ms).",
		},
		{
			"late-write-without-a-token", "lease: 500ms",
			"The same moves, at B's lock, level 1, no. 6. With the change: refused (105 ms). Without it: acquired (105 ms).",
		},
		{
			"invoice-sent-twice", "checks: key",
			"The same moves, at A's write. With the change: does it again, and is refused: the key is known",
		},
	} {
		text, err := fs.ReadFile(lessons.Scenarios(), c.example+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		sc, err := scenario.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		report, err := engine.Mend(t.Context(), sc, explore.Bounds{MaxStates: 500}, mend.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		cured, err := engine.Cured(t.Context(), sc, report)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i, cure := range report.Cures {
			says := page.CureSays(words.All()[0], &report.Cures[i])
			if none := cure.After.Broken.Sign() == 0; strings.HasPrefix(says, "None of ") != none {
				t.Errorf("%s, %s, where %v orders break a rule: %q", c.example, cure.Name, cure.After.Broken, says)
			}
			if !strings.HasPrefix(cure.Name, c.cure) {
				continue
			}
			found = true
			if got := page.NewCureWhy(words.All()[0], cured[0], cured[i+1], &report.Cures[i]).Says; !strings.HasPrefix(got, c.says) {
				t.Errorf("%s, %s: %q", c.example, cure.Name, got)
			}
		}
		if !found {
			t.Errorf("%s: no %s", c.example, c.cure)
		}
	}
}

// A count before a change and one after it have one total only where they are of as many orders.
func TestEachCountHasItsOwnTotal(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex}\nthreads: [{name: A}, {name: B}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	before := mend.Count{Orders: big.NewInt(182), Broken: big.NewInt(78), All: true, Rules: []mend.Broken{{Rule: "mutual-exclusion", Orders: big.NewInt(78)}}}
	for _, c := range []struct {
		orders int64
		all    bool
		want   string
	}{
		{182, true, "78 → 0 of 182 orders"},
		{54, true, "78 of 182 → 0 of 54 orders"},
		{182, false, "78 of 182 → 0 of 182 orders tried"},
	} {
		cure := mend.Cure{Change: mend.Change{Name: "x", Scenario: sc}, After: mend.Count{Orders: big.NewInt(c.orders), Broken: new(big.Int), All: c.all}}
		m, err := page.NewMended(words.All()[0], &mend.Report{Scenario: sc, Before: before, Cures: []mend.Cure{cure}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := append(m.Cures, m.Others...)[0].Broken[0].Says; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// No order breaks a rule is not said where some do, be it by standing still alone.
func TestStandingStillCounts(t *testing.T) {
	for _, v := range []mend.Verdict{mend.Mends, mend.UpTo} {
		some := mend.Count{Orders: big.NewInt(5409), Broken: big.NewInt(19), Standing: big.NewInt(19), All: true}
		longer := &mend.Longer{Pause: time.Second, Count: mend.Count{Orders: big.NewInt(1750), Broken: big.NewInt(3), Standing: big.NewInt(3), All: true, Rules: []mend.Broken{{Rule: "mutual-exclusion"}}}}
		if says := page.CureSays(words.All()[0], &mend.Cure{Verdict: v, After: some, Longer: longer}); !strings.HasPrefix(says, "19 of 5,409 orders break a rule, all only because a thread stood still") {
			t.Errorf("%s: %q", v, says)
		} else if longest := strings.HasSuffix(says, " With a pause of 1,000 ms, 3 of 1,750 do."); longest != (v == mend.UpTo) {
			t.Errorf("%s: with a longer pause %q", v, says)
		}
	}
}
