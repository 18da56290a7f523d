package box

import (
	"regexp"

	"relock/engine/phrase"
)

// Difference is a case in which a script behaves differently on a real Redis.
type Difference struct {
	In   *regexp.Regexp // a text in which it may matter
	Note phrase.Text    // one sentence
}

// Differences lists how the box's Lua differs from that of Redis 7.0.15, as far as
// a script might notice. DIFFERENCES.md of package store lists the different
// answers of the embedded Redis itself. Callers must not change it.
var Differences = []Difference{
	{
		regexp.MustCompile(`\b(collectgarbage|gcinfo|string\s*\.\s*dump|redis\s*\.\s*setresp)\b`),
		"collectgarbage, gcinfo, string.dump and redis.setresp(3) are refused here; Redis has them.",
	},
	{
		regexp.MustCompile(`\bcjson\s*\.\s*(encode|decode)_`),
		"Redis keeps cjson's settings for the scripts that come later; here they end with the script.",
	},
	{
		regexp.MustCompile(`(?i)["'](SELECT|MOVE|SWAPDB)["']`),
		"There is one database here: SELECT, MOVE and SWAPDB are refused in scripts.",
	},
	{
		regexp.MustCompile(`\bmath\s*\.\s*random\b`),
		"math.random begins again in each run of a script here; Redis goes on where the last script stopped.",
	},
}
