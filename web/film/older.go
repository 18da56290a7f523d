package film

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"relock/engine"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/run"
	"relock/engine/trace"
)

// causeOf is the cause that a trace has; of a trace of before there were causes,
// which has an error's text alone, what that text said then. It is the one place
// that reads such texts, and nothing new belongs here: they do not change.
func causeOf(recorded trace.Cause, text string) trace.Cause {
	if recorded.Kind != "" || text == "" {
		return recorded
	}
	if limit, ok := strings.CutPrefix(text, "it took longer than "); ok {
		if d, err := time.ParseDuration(limit); err == nil {
			return trace.Cause{Kind: trace.TooLong, Limit: trace.MillisOf(d)}
		}
	}
	rest := innerCause(text)
	if _, counts, ok := strings.Cut(text, "no majority: "); ok {
		var yes, no int
		if n, _ := fmt.Sscanf(counts, "%d nodes said yes, %d no", &yes, &no); n == 2 {
			return trace.Cause{Kind: trace.NoMajority, Yes: yes, No: no, Rest: rest.Kind, Code: rest.Code}
		}
	}
	switch {
	case text == trace.Stopped:
		return trace.Cause{Kind: trace.StoppedByHand}
	case text == engine.ErrClosed.Error():
		return trace.Cause{Kind: trace.ServerClosed}
	case text == run.ErrMistake.Error():
		return trace.Cause{Kind: trace.OwnMistake}
	case text == engine.ErrHeld.Error():
		return trace.Cause{Kind: trace.TooLarge}
	case strings.HasPrefix(text, run.ErrRedis.Error()):
		return trace.Cause{Kind: trace.NoRedis, Rest: rest.Kind, Code: rest.Code}
	case strings.Contains(text, run.ErrLimit.Error()):
		return trace.Cause{Kind: trace.TooManyEvents}
	case strings.Contains(text, lock.ErrInnerHeld.Error()):
		return trace.Cause{Kind: trace.InnerHeld}
	case strings.Contains(text, lock.ErrNotHeld.Error()):
		return trace.Cause{Kind: trace.NothingHeld}
	case strings.Contains(text, "panic"):
		return trace.Cause{Kind: trace.BusinessPanic}
	case strings.Contains(text, "connection refused"):
		return trace.Cause{Kind: trace.Unreachable}
	}
	return rest
}

// code matches the code of Redis' error: "WRONGTYPE Operation against …".
var code = regexp.MustCompile(`^([A-Z]{3,}) `)

// innerCause is what the innermost part of an error's text said.
func innerCause(text string) trace.Cause {
	why := innermost(text)
	if m := code.FindStringSubmatch(why); m != nil {
		return trace.Cause{Kind: trace.Answered, Code: m[1]}
	}
	return trace.Cause{Kind: map[string]trace.CauseKind{
		"connection reset by peer": trace.Reset, "connection refused": trace.Unreachable, "i/o timeout": trace.TimedOut,
		"context deadline exceeded": trace.Deadline, "context canceled": trace.Canceled, "EOF": trace.HungUp,
		protocol.ErrUnsynced.Error(): trace.Unsynced,
	}[why]}
}

// innermost is the last part of an error's text.
func innermost(text string) string { return strings.TrimSpace(text[strings.LastIndex(text, ":")+1:]) }
