package journal

import "strings"

// Writes tells whether a command can change data. A message (PUBLISH) changes
// none. Of a command that is not listed it is true: better one write too many
// than one that goes unseen.
func Writes(verb string) bool {
	switch strings.ToUpper(verb) {
	case "EXISTS", "TYPE", "PTTL", "TTL", "TIME", "GET", "STRLEN",
		"HEXISTS", "HGET", "HMGET", "HGETALL", "HLEN",
		"LINDEX", "LLEN", "LRANGE", "ZCARD", "ZSCORE", "ZRANGE", "PUBLISH":
		return false
	default:
		return true
	}
}
