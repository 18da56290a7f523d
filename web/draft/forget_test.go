package draft_test

import (
	"net/url"
	"strings"
	"testing"

	"relock/engine/scenario"
	"relock/web/draft"
)

// Another lock takes with it what was said of the one before, and nothing else.
func TestAnotherLockForgets(t *testing.T) {
	const text = `# The article's own test.
title: Two threads
lock: # the article's
  protocol: reentrant
  watchdog: off # half a lease: at least one renewal comes in time
threads:
  - {name: A} # the first
# and what comes of it
expect:
  violations: [] # none at all
`
	for _, c := range []struct {
		key, value string
		gone       bool
	}{
		{"lock.protocol", "mutex", true},
		{"lock.protocol", "reentrant", false},
		{"lock.lease", "1s", false},
	} {
		got, err := draft.Merge(text, text, "", url.Values{c.key: {c.value}})
		if err != nil {
			t.Fatal(err)
		}
		if draft.Forgot(text, got) != c.gone {
			t.Errorf("%s: %s: forgot %v", c.key, c.value, !c.gone)
		}
		for _, part := range []string{"The article's own test", "the article's", "half a lease", "expect", "and what comes of it", "none at all"} {
			if strings.Contains(got, part) == c.gone {
				t.Errorf("%s: %s: %q in\n%s", c.key, c.value, part, got)
			}
		}
		if !strings.Contains(got, "# the first") || !strings.Contains(got, "title: Two threads") {
			t.Errorf("%s: %s took too much:\n%s", c.key, c.value, got)
		}
	}
}

// Another kind of resource keeps a check that it can make.
func TestAnotherKindOfResource(t *testing.T) {
	for _, c := range []struct {
		checks, kind string
		kept         bool
	}{{"token", "effect", true}, {"version", "effect", false}, {"version", "stock", true}} {
		text := "resource: {kind: counter, checks: " + c.checks + "}\nthreads: [{name: A}]\n"
		got, err := draft.Merge(text, text, "", url.Values{"resource.kind": {c.kind}})
		if err != nil || strings.Contains(got, "checks") != c.kept {
			t.Errorf("%s of a %s: %s, %v", c.checks, c.kind, got, err)
		}
	}
}

// Other scripts, and another lock, have other arguments.
func TestOtherScriptsForgetHowTheyAreCalled(t *testing.T) {
	const text = "lock:\n  protocol: own\n  args: {lock: [owner]}\n  keys: ['{key}', '{key}:n']\n  replies: {lock: {entered: nil}}\n  release: once\n  scripts:\n    lock: return 1\n    unlock: return 1\nthreads: [{name: A}]\n"
	for key, value := range map[string]string{"lock.protocol": "mutex", "lock.like": "mutex"} {
		merged, err := draft.Merge(text, text, "", url.Values{key: {value}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scenario.Parse([]byte(merged)); err != nil {
			t.Errorf("%v\n%s", err, merged)
		}
		for _, gone := range []string{"args", "keys", "replies"} {
			if strings.Contains(merged, gone) {
				t.Errorf("%s: %s is still there\n%s", key, gone, merged)
			}
		}
	}
}
