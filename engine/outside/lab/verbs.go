package lab

import (
	"slices"
	"strings"

	"relock/engine/outside/infer"
)

func sub(args []string) string {
	if len(args) > 1 {
		return strings.ToUpper(args[1])
	}
	return ""
}

// passes reports whether a command is answered without a decision: a client sends
// it to get ready, or out of politeness.
func passes(args []string) bool {
	switch infer.Verb(args) {
	case "HELLO", "AUTH", "CLIENT", "INFO", "SELECT", "PING", "COMMAND", "QUIT", "SCRIPT",
		"MULTI", "DISCARD", "UNWATCH", "CONFIG", "ROLE", "RESET", "READONLY", "READWRITE", "CLUSTER",
		"SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE": // who listens is held until a message comes
		return true
	case "ECHO":
		return infer.Mark(args) == ""
	}
	return false
}

// blocks reports whether a command waits for others.
func blocks(args []string) bool {
	switch infer.Verb(args) {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX", "BLMPOP", "BZMPOP", "WAIT", "WAITAOF":
		return true
	case "XREAD", "XREADGROUP":
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
	}
	return false
}
