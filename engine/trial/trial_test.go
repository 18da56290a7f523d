package trial_test

import (
	"strings"
	"testing"

	"relock/engine/trial"
)

// Each case runs the script as if there were no other, and the script's own error is an
// outcome.
func TestRun(t *testing.T) {
	t.Parallel()
	const key = "LOCK"
	cases := []trial.Case{
		{Before: [][]string{{"SET", key, "A", "PX", "100"}}, Args: []string{"A"}},
		{Before: [][]string{{"HSET", key, "B", "1"}}, Args: []string{"A"}},
		{Args: []string{"A"}},
	}
	lines, err := trial.Lines("mutex", "mutex-unlock")
	if err != nil {
		t.Fatal(err)
	}
	out, err := trial.Run(t.Context(), strings.Join(lines, "\n"), key, cases)
	if err != nil {
		t.Fatal(err)
	}
	if o := out[0]; o.Reply != "{1, 0}" || o.Was.PTTL != 100 || o.Key.Exists() || o.Err != "" {
		t.Errorf("one's own: %+v", o)
	}
	if o := out[1]; !strings.HasPrefix(o.Err, "WRONGTYPE") || !o.Key.Exists() {
		t.Errorf("a hash: %+v", o)
	}
	if o := out[2]; o.Reply != "{-1, 0}" || o.Was.Exists() {
		t.Errorf("nothing: %+v", o)
	}
	again, err := trial.Run(t.Context(), strings.Join(lines, "\n"), key, cases)
	if err != nil || !out[0].Equal(again[0]) || out[0].Equal(out[2]) {
		t.Error("outcomes are not told apart")
	}
	for script, want := range map[string]string{"": "nil", "return 'x'": "x", "return {1, {2}}": "{1, {2}}", "return 7": "7"} {
		if out, err := trial.Run(t.Context(), script, key, cases[2:]); err != nil || out[0].Reply != want || out[0].Err != "" {
			t.Errorf("%q: %+v, %v", script, out, err)
		}
	}
	out, err = trial.Run(t.Context(), "return nothing", key, cases[2:])
	if err != nil || out[0].Err != "Script attempted to access nonexistent global variable 'nothing'" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := trial.Run(t.Context(), "return 1", key, []trial.Case{{Before: [][]string{{"FLY"}}}}); err == nil || !strings.Contains(err.Error(), "FLY") {
		t.Errorf("a case that cannot be: %v", err)
	}
	if _, err := trial.Lines("mutex", "fly"); err == nil {
		t.Error("a script that is not there")
	}
}
