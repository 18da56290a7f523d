package trace

// Cause says why a call, a thread or a run failed, for who words it: the error's
// text beside it is for who looks into it. A trace of before there were causes
// has none, and the zero Cause says nothing.
type Cause struct {
	Kind  CauseKind `json:"kind,omitempty"`
	Yes   int       `json:"yes,omitempty"`      // of NoMajority: nodes that said yes
	No    int       `json:"no,omitempty"`       // and that said no; the rest did not answer
	Rest  CauseKind `json:"rest,omitempty"`     // of NoMajority and NoRedis: why the rest did not answer
	Code  string    `json:"code,omitempty"`     // of Answered, or of such a Rest: "WRONGTYPE"; of UnknownCommand: "DELEX"; of WrongScript: its call
	Limit Millis    `json:"limit_ms,omitempty"` // of TooLong
}

// CauseKind is what kind of failure it was.
type CauseKind string

// Why a call or a thread fails.
const (
	InnerHeld      CauseKind = "inner-held"      // an unlock while an inner level is held
	NothingHeld    CauseKind = "nothing-held"    // an unlock of what is not held
	NoMajority     CauseKind = "no-majority"     // of the nodes, either way
	BusinessPanic  CauseKind = "panic"           // the business code panicked
	Answered       CauseKind = "answered"        // Redis answered with an error
	Unreachable    CauseKind = "unreachable"     // connection refused
	Reset          CauseKind = "reset"           // connection reset
	TimedOut       CauseKind = "timed-out"       // no answer in time
	Deadline       CauseKind = "deadline"        // its context's deadline passed
	Canceled       CauseKind = "canceled"        // its context was cancelled
	HungUp         CauseKind = "hung-up"         // the connection ended within an answer
	UnknownCommand CauseKind = "unknown-command" // Redis is older than the command
	Unsynced       CauseKind = "unsynced"        // too few replicas have acknowledged it
	WrongScript    CauseKind = "wrong-script"    // a script of somebody's own has a mistake; it ends the run, too
)

// The causes that end a run early.
const (
	StoppedByHand CauseKind = "stopped"
	ServerClosed  CauseKind = "server-closed" // it shut down
	TooLong       CauseKind = "too-long"      // it took longer than Limit
	TooLarge      CauseKind = "too-large"     // what the server keeps takes as much memory as it may
	TooManyEvents CauseKind = "too-many-events"
	OwnMistake    CauseKind = "mistake" // this program panicked
	NoRedis       CauseKind = "no-redis"
)
