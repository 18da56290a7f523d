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
		regexp.MustCompile(`\b(loadstring|load|collectgarbage|gcinfo)\b`),
		"Redis has load, loadstring, collectgarbage and gcinfo; here they are missing.",
	},
	{
		regexp.MustCompile(`\btable\s*\.\s*(foreach|foreachi|setn)\b`),
		"Redis has table.foreach, table.foreachi and table.setn; here they are missing.",
	},
	{
		regexp.MustCompile(`\bcjson\s*\.\s*(new|encode_|decode_)`),
		"cjson has encode, decode and null here, and none of its settings.",
	},
	{
		regexp.MustCompile(`\bredis\s*\.\s*setresp\b`),
		"redis.setresp(3) is an error here: scripts speak RESP2.",
	},
	{
		regexp.MustCompile(`\bredis\s*\.\s*(acl_check_cmd|breakpoint|debug|REDIS_VERSION|REDIS_VERSION_NUM|REPL_\w+)\b`),
		"redis has neither acl_check_cmd nor its debugger's functions nor its version here.",
	},
	{
		regexp.MustCompile(`(?i)["'](SELECT|MOVE|SWAPDB)["']`),
		"There is one database here: SELECT, MOVE and SWAPDB are refused in scripts.",
	},
	{
		regexp.MustCompile(`\b(string|table|math|bit|cjson|redis|coroutine)\s*\.\s*\w+\s*=[^=]`),
		"Redis refuses to change its libraries; here a script changes them for itself, until it ends.",
	},
	{
		regexp.MustCompile(`\bmath\s*\.\s*random\b`),
		"math.random begins again in each run of a script here; Redis goes on where the last script stopped.",
	},
	{
		regexp.MustCompile(`\bgoto\b`),
		"goto is a name like any other in Redis' Lua, 5.1; here it cannot be one.",
	},
	{
		regexp.MustCompile(`\b(pairs|next)\b`),
		"pairs goes through a table in the order in which it was filled; in Redis the order is arbitrary.",
	},
}
