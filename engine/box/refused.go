package box

import (
	"slices"
	"strings"
)

// notFromScripts are the commands that Redis 7 runs in no script (COMMAND's
// noscript, also of a command's parts), and those that would wait or leave the
// database here.
var notFromScripts = set(`ACL AUTH BGREWRITEAOF BGSAVE BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN
	CLIENT CLUSTER CONFIG DEBUG DISCARD EVAL EVALSHA EVALSHA_RO EVAL_RO EXEC FAILOVER FCALL FCALL_RO FUNCTION HELLO
	LATENCY MODULE MONITOR MOVE MULTI PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT REPLCONF REPLICAOF RESET ROLE SAVE SCRIPT
	SELECT SHUTDOWN SLAVEOF SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SWAPDB SYNC UNSUBSCRIBE UNWATCH WAIT WATCH`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// refused reports whether no script may run a command.
func refused(args []string) bool {
	verb := strings.ToUpper(args[0])
	if verb == "XREAD" || verb == "XREADGROUP" {
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
	}
	return notFromScripts[verb]
}
