package facts

import (
	"strconv"
	"strings"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// LaterCall returns the number of the later call that Redis names in its answer
// to a command; 0 for any other answer. A later call means that the command's
// call came too late and was refused.
func LaterCall(c trace.Command) int64 {
	switch list, _ := c.Reply.([]any); {
	case strings.EqualFold(c.Arg(0), "HGET") && protocol.IsOver(c.Arg(1)) && c.Call == lock.CallLock:
		return Later(c.Reply, c.Number)
	case strings.EqualFold(c.Arg(0), "HMGET") && len(list) == 2 && list[0] != nil:
		return Later(list[1], c.Number)
	default:
		return 0
	}
}

// Later returns the number of a call in a reply if it is later than this call;
// else 0.
func Later(reply any, call int64) int64 {
	if n := Number(reply); call > 0 && n > call {
		return n
	}
	return 0
}

// Keeps reports whether a command leaves the lock's key for a while after the work, on
// purpose: it is the last release of a lock that is kept.
func Keeps(c trace.Command) bool {
	return c.Script == protocol.MutexKeep.Name && strings.EqualFold(c.Arg(0), "PEXPIRE") && c.Reply == int64(1)
}

// Number reads a number in a reply, or the first word of a text; 0 if it is not
// one. What notes that a call is over says "number until".
func Number(reply any) int64 {
	switch v := reply.(type) {
	case int64:
		return v
	case string:
		first, _, _ := strings.Cut(v, " ")
		f, _ := strconv.ParseFloat(first, 64)
		return int64(f)
	default:
		return 0
	}
}
