package page_test

import (
	"testing"

	"relock/web/page"
)

func TestProseKeepsNumbersWithTheirUnits(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"A works for 300 ms, B for 4 min 20 s.", "<p>A works for 300\u00a0ms, B for 4\u00a0min 20\u00a0s.</p>\n"},
		{"In 72 % of 1,986 orders **5 ms** are enough.", "<p>In 72\u00a0% of 1,986 orders <strong>5\u00a0ms</strong> are enough.</p>\n"},
		{"等了 300 ms，共 5 个。", "<p>等了 300\u00a0ms，共 5\u00a0个。</p>\n"},
		{"`PX 200 ms`, T5 s", "<p><code>PX 200 ms</code>, T5 s</p>\n"},
		{"```\nsleep 5 s\n```\nthen 5 s", "<pre><code>sleep 5 s\n</code></pre>\n<p>then 5\u00a0s</p>\n"},
	} {
		if got := page.Prose(c.text); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
	if got := page.Plain("for 300 ms"); got != "for 300 ms" {
		t.Errorf("plain: %q", got)
	}
}
