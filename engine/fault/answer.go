package fault

import (
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// Refused says which commands an [ErrorReply] is given to. Commands that do not get it
// run as always.
type Refused int

// The values of Refused.
const (
	EveryCommand Refused = iota // at the door: nothing of a script runs
	Writing                     // what would change data; a script runs up to there
	Growing                     // what would change data and may need memory for it: SET, but not DEL
	ByDigest                    // EVALSHA: the client sends the script in full
)

// ErrorReply is an error with which Redis answers a command that it does not run. It is
// a Redis error to a client. Sources: the error replies of Redis 7 (server.c,
// script.c, cluster.c) and its documents.
type ErrorReply struct {
	Code    string // as scenarios and traces name it: the first word of Words
	Words   string // Redis' own
	Refused Refused
}

// Error returns Redis' words.
func (a ErrorReply) Error() string { return a.Words }

// RedisError implements the client's redis.Error: it is Redis' answer.
func (ErrorReply) RedisError() {}

// ErrorReplies returns the errors with which Redis can be made to answer, in the order in
// which they are explained.
func ErrorReplies() []ErrorReply {
	return []ErrorReply{
		{"BUSY", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", EveryCommand},
		{"LOADING", "LOADING Redis is loading the dataset in memory", EveryCommand},
		{"OOM", "OOM command not allowed when used memory > 'maxmemory'.", Growing},
		{"READONLY", "READONLY You can't write against a read only replica.", Writing},
		{"MISCONF", "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", Writing},
		{"NOREPLICAS", "NOREPLICAS Not enough good replicas to write.", Writing},
		{"MASTERDOWN", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", EveryCommand},
		{"CLUSTERDOWN", "CLUSTERDOWN The cluster is down", EveryCommand},
		{"MOVED", "MOVED 3999 127.0.0.1:6381", EveryCommand},
		{"ASK", "ASK 3999 127.0.0.1:6381", EveryCommand},
		{"TRYAGAIN", "TRYAGAIN Multiple keys request during rehashing of slot", EveryCommand},
		{"NOSCRIPT", "NOSCRIPT No matching script. Please use EVAL.", ByDigest},
		{"NOAUTH", "NOAUTH Authentication required.", EveryCommand},
		{"NOPERM", "NOPERM this user has no permissions to run this command", EveryCommand},
	}
}

// ErrorReplyOf returns the error reply with a code.
func ErrorReplyOf(code string) (ErrorReply, bool) {
	all := ErrorReplies()
	if i := slices.IndexFunc(all, func(a ErrorReply) bool { return a.Code == code }); i >= 0 {
		return all[i], true
	}
	return ErrorReply{}, false
}

// ErrorReplyIn returns the error reply that an error in Redis' words is.
func ErrorReplyIn(words string) (ErrorReply, bool) {
	code, _, _ := strings.Cut(words, " ")
	return ErrorReplyOf(code)
}

// Codes returns the codes of ErrorReplies, in their order.
func Codes() []string {
	var list []string
	for _, a := range ErrorReplies() {
		list = append(list, a.Code)
	}
	return list
}

// AnswerError is the fault of an [ErrorReply].
const AnswerError = "answer-error"

// answerError strikes one command of a thread. With a length of time it goes on
// for everybody, and without a place it is of Redis as a whole from the beginning.
var answerError = Kind{
	Name: AnswerError, Target: OnTheWay, Places: Calls(), Fields: []string{"error", "for"}, Optional: []string{"for"}, Error: "BUSY",
	Word: "answer-error", Label: "answer-error: Redis answers with an error, and does not run it", Button: "its next request is answered with an error",
	Row: func(b trace.Fault, _ bool) phrase.Wording {
		switch {
		case b.Node > 0 && b.ForMS > 0:
			return phrase.Say("fault: node %d answers %s, to everybody for %s", b.Node, b.Error, b.ForMS.Duration())
		case b.Node > 0:
			return phrase.Say("fault: node %d answers %s", b.Node, b.Error)
		case b.ForMS > 0:
			return phrase.Say("fault: Redis answers %s, to everybody for %s", b.Error, b.ForMS.Duration())
		default:
			return phrase.Say("fault: Redis answers %s", b.Error)
		}
	},
	Why: func(s Scene) phrase.Wording {
		a, _ := ErrorReplyOf(s.Error)
		switch {
		case a.Refused == Writing && s.Node > 0:
			return phrase.Say("%s's %s is answered with %s by node %d as soon as it would write: that write does not run.", s.Who, s.At, s.Error, s.Node)
		case a.Refused == Writing:
			return phrase.Say("%s's %s is answered with %s as soon as it would write: that write does not run.", s.Who, s.At, s.Error)
		case a.Refused == Growing:
			return phrase.Say("%s's %s meets a full Redis, which runs only what needs no memory, such as a DEL.", s.Who, s.At)
		case a.Refused == ByDigest:
			return phrase.Say("%s's %s meets a Redis that knows no script by its digest: it answers NOSCRIPT, and the client sends the script in full.", s.Who, s.At)
		case s.Node > 0:
			return phrase.Say("%s's %s is answered with %s by node %d, which does not run this request.", s.Who, s.At, s.Error, s.Node)
		default:
			return phrase.Say("%s's %s is answered with %s: Redis does not run this request.", s.Who, s.At, s.Error)
		}
	},
	Wide: &Kind{
		Name: AnswerError, Target: Redis, Fields: []string{"error", "for", "node"}, Optional: []string{"for"}, Alone: true, Felt: true, Error: "BUSY",
		Word: "answer-error", Label: "answer-error: Redis answers with an error, and does not run it", Button: "Redis answers with an error",
		Row: lasting(func(b trace.Fault, several bool) phrase.Wording {
			switch {
			case several && b.Thread != "":
				return phrase.Say("Fault: node %d answers %s with %s", node(b), b.Thread, b.Error)
			case several:
				return phrase.Say("Fault: node %d answers everybody with %s", node(b), b.Error)
			case b.Thread != "":
				return phrase.Say("Fault: Redis answers %s with %s", b.Thread, b.Error)
			default:
				return phrase.Say("Fault: Redis answers everybody with %s", b.Error)
			}
		}),
		Why: func(s Scene) phrase.Wording {
			a, _ := ErrorReplyOf(s.Error)
			nobody := len(s.Unserved) > 0 && s.Unserved[0] == "" && s.Thread != ""
			switch {
			case nobody && s.Nodes > 0:
				return phrase.Say("Node %d will answer %s with %s once it serves anyone again.", node(s.Fault), s.Thread, s.Error)
			case nobody:
				return phrase.Say("Redis will answer %s with %s once it serves anyone again.", s.Thread, s.Error)
			case s.Nodes > 0 && a.Refused == ByDigest:
				return phrase.Say("Node %d knows no script by its digest: each must be sent in full.", node(s.Fault))
			case s.Nodes > 0 && s.Thread != "":
				return phrase.Say("Node %d answers %s with %s from now on: %d of %d nodes serve it, and %d are needed.", node(s.Fault), s.Thread, s.Error, s.Up, s.Nodes, s.Nodes/2+1)
			case s.Nodes > 0:
				return phrase.Say("Node %d answers %s from now on: %d of %d nodes serve, and %d are needed.", node(s.Fault), s.Error, s.Up, s.Nodes, s.Nodes/2+1)
			case a.Refused == ByDigest:
				return phrase.Say("Redis knows no script by its digest: each must be sent in full.")
			case s.Thread != "":
				return phrase.Say("Redis answers %s with %s from now on; it answers the others as it did.", s.Thread, s.Error)
			case a.Refused == Writing:
				return phrase.Say("Redis answers %s to every write; reading goes on.", s.Error)
			case a.Refused == Growing:
				return phrase.Say("Redis has no memory left: it answers OOM to any command that may need some. A DEL needs none.")
			default:
				return phrase.Say("Redis answers %s to every command, and runs none.", s.Error)
			}
		},
	},
}
