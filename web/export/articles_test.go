package export_test

import (
	"strings"
	"testing"

	"relock/web/export"
)

// What came before is known to each sentence, also where it stands alone.
func TestSentencesKnowWhatCameBefore(t *testing.T) {
	for _, c := range []struct {
		name string
		f    export.Format
		want string
	}{
		{"late-write-without-a-token", export.Mermaid, "lost update (lost-update): A wrote 1 over what B had written since A read"},
		{"fenced-clock-behind", export.RedisCLI, "token went back (token-regression): B was given token 65,000, and A had 100,000 before"},
		{"no-lock-over-buying", export.RedisCLI, "over the limit (over-limit): user 7 bought 3 times, 2 are allowed"},
		{"no-lock-over-buying", export.Mermaid, "over the limit (over-limit): user 7 bought 3 times, 2 are allowed"},
		{"setnx-hash-crash", export.RedisCLI, "shut out (shut-out): B will never get in: the key is A's, it has no expiry"},
		{"setnx-hash", export.Markdown, "no rule was broken, but A and B ended with an error: WRONGTYPE"},
		{"setnx-hash", export.RedisCLI, "# The run has ended: no rule was broken, but A and B ended with an error: WRONGTYPE"},
		{"setnx-hash", export.Mermaid, "The run has ended: no rule was broken, but A and B ended with an error: WRONGTYPE"},
	} {
		if text := render(t, c.f, played(t, c.name)); !strings.Contains(text, c.want) {
			t.Errorf("%s as %s says nowhere %q", c.name, c.f, c.want)
		}
	}
}

// Who is on which server, and buys for whom, is at the threads' names.
func TestWhatThreadsBelongToIsInTheHeads(t *testing.T) {
	for _, c := range []struct {
		name string
		f    export.Format
		want string
	}{
		{"flash-sale-local-locks", export.Markdown, `| Thread req1 (process balancer-1) | Thread req2 (process balancer-2) |`},
		{"flash-sale-local-locks", export.Mermaid, "participant t0 as req1 (process balancer-1)\n"},
		{"flash-sale-local-locks", export.RedisCLI, "\n# Thread req1: process balancer-1.\n"},
		{"flash-sale-local-locks", export.SVG, ">process balancer-1</text>"},
		{"no-lock-over-buying", export.Markdown, `| Thread A (user 7) |`},
		{"no-lock-over-buying", export.SVG, ">user 7</text>"},
	} {
		if text := render(t, c.f, played(t, c.name)); !strings.Contains(text, c.want) {
			t.Errorf("%s as %s says nowhere %q", c.name, c.f, c.want)
		}
	}
}
