package interpreter

import (
	"slices"
	"strings"
)

// NotFromScripts is what Redis answers to a command that no script may run.
const NotFromScripts = "ERR This Redis command is not allowed from script"

// notFromScripts are the commands that Redis 7 runs in no script (COMMAND's
// noscript, also of a command's parts), and those that would wait here.
var notFromScripts = set(`ACL AUTH BGREWRITEAOF BGSAVE BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN
	CLIENT CLUSTER CONFIG DEBUG DISCARD EVAL EVALSHA EVALSHA_RO EVAL_RO EXEC FAILOVER FCALL FCALL_RO FUNCTION HELLO
	LATENCY MODULE MONITOR MULTI PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT REPLCONF REPLICAOF RESET ROLE SAVE SCRIPT
	SHUTDOWN SLAVEOF SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE UNWATCH WAIT WAITAOF WATCH`)

// refused reports whether no script may run a command.
func refused(args []string) bool {
	verb := strings.ToUpper(args[0])
	if verb == "XREAD" || verb == "XREADGROUP" {
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
	}
	return notFromScripts[verb]
}
