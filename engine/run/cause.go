package run

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// Other reasons to end a run early, as the cause of its context: a server sets it.
var (
	// ErrHeld ends a run that has become too large to be kept.
	ErrHeld = errors.New("the runs that are kept take as much memory as they may")
	// ErrClosed ends the runs of a server that shuts down.
	ErrClosed = phrase.New("the server is shutting down")
)

// TooLongError ends a run that took longer than it may.
type TooLongError struct{ Limit time.Duration }

// Error implements error.
func (e *TooLongError) Error() string { return "it took longer than " + e.Limit.String() }

// CauseOf says why something failed, as traces have it; nothing for nil, and for
// what has no kind.
func CauseOf(err error) trace.Cause {
	var tooLong *TooLongError
	var nodes *protocol.NodesError
	var script *ownlock.Mistake
	switch {
	case err == nil:
		return trace.Cause{}
	case errors.As(err, &script):
		return trace.Cause{Kind: trace.WrongScript, Code: script.Call}
	case errors.As(err, new(*panics.Error)), errors.Is(err, ErrMistake):
		return trace.Cause{Kind: trace.OwnMistake}
	case errors.Is(err, ErrClosed):
		return trace.Cause{Kind: trace.ServerClosed}
	case errors.As(err, &tooLong):
		return trace.Cause{Kind: trace.TooLong, Limit: trace.MillisOf(tooLong.Limit)}
	case errors.Is(err, ErrHeld):
		return trace.Cause{Kind: trace.TooLarge}
	case errors.Is(err, ErrRedis):
		why := asked(err)
		return trace.Cause{Kind: trace.NoRedis, Rest: why.Kind, Code: why.Code}
	case errors.Is(err, ErrLimit):
		return trace.Cause{Kind: trace.TooManyEvents}
	case errors.As(err, &nodes):
		why := asked(nodes.Last())
		return trace.Cause{Kind: trace.NoMajority, Yes: nodes.Yes, No: nodes.No, Rest: why.Kind, Code: why.Code}
	case errors.Is(err, lock.ErrInnerHeld):
		return trace.Cause{Kind: trace.InnerHeld}
	case errors.Is(err, lock.ErrNotHeld):
		return trace.Cause{Kind: trace.NothingHeld}
	case errors.Is(err, errPanic):
		return trace.Cause{Kind: trace.BusinessPanic}
	default:
		return asked(err)
	}
}

// asked says why Redis was asked in vain.
func asked(err error) trace.Cause {
	var answer redis.Error
	var broken net.Error
	var unknown *protocol.UnknownCommandError
	switch {
	case errors.As(err, &unknown):
		return trace.Cause{Kind: trace.UnknownCommand, Code: unknown.Command}
	case errors.As(err, &answer):
		code, _, _ := strings.Cut(answer.Error(), " ")
		return trace.Cause{Kind: trace.Answered, Code: code}
	case errors.Is(err, protocol.ErrUnsynced):
		return trace.Cause{Kind: trace.Unsynced}
	case errors.Is(err, syscall.ECONNREFUSED):
		return trace.Cause{Kind: trace.Unreachable}
	case errors.Is(err, syscall.ECONNRESET):
		return trace.Cause{Kind: trace.Reset}
	case errors.Is(err, context.DeadlineExceeded):
		return trace.Cause{Kind: trace.Deadline}
	case errors.Is(err, context.Canceled):
		return trace.Cause{Kind: trace.Canceled}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &broken) && broken.Timeout():
		return trace.Cause{Kind: trace.TimedOut}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return trace.Cause{Kind: trace.HungUp}
	default:
		return trace.Cause{}
	}
}
