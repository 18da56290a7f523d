package static

import "testing"

func TestOnlyBlanksThatNoRuleNeedsAreLeftOut(t *testing.T) {
	t.Parallel()
	for css, want := range map[string]string{
		".a { color: red; top: 0; }":                   ".a{color:red;top:0}",
		`.a::before { content: "{ ; } "; }`:            `.a::before{content:"{ ; } "}`,
		`.a [b='"c d"'] .e { top: 0 }`:                 `.a [b='"c d"'] .e{top:0}`,
		"@media (width > 9rem) { .a > .b { top: 0 } }": "@media (width>9rem){.a>.b{top:0}}",
	} {
		if got := tight(css); got != want {
			t.Errorf("%s is served as %s, want %s", css, got, want)
		}
	}
}
