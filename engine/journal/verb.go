package journal

import "strings"

// Writes reports whether a command can change data; a message (PUBLISH) does
// not. It is true for unknown commands: better one write too many than one
// unseen.
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
