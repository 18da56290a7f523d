// Package telemetry has the names under which OpenTelemetry gets the lock's
// attempts: attributes of spans, and metrics. Writers and readers of such spans
// take the names from here; the package has nothing else. An example of an
// Observer that writes them is in engine/lock/otel.
package telemetry

// Attributes of the span of an attempt. A span with Call and Attempt is one.
const (
	Call      = "relock.call"       // text: lock, unlock, renew
	Level     = "relock.level"      // int: the level entered, left or held
	Attempt   = "relock.attempt"    // int: 1, 2, … within the call
	Key       = "relock.key"        // text: of the lock
	Owner     = "relock.owner"      // text: who asks
	GivesBack = "relock.gives_back" // bool: an unlock of a level that may never have been granted
	Lease     = "relock.lease_ms"   // int, milliseconds: that a lock or a renewal asks for
	Result    = "relock.result"     // text: what it came to; missing where nobody knows
	Count     = "relock.count"      // int: the hold count in the answer, where it is not 0
	Token     = "relock.token"      // int: the fencing token, where there is one
)

// Attributes of an event of a span: a command that Redis ran.
const (
	Query  = "db.query.text" // text: the command, as redis-cli takes it
	Reply  = "relock.reply"  // text: the answer, as redis-cli shows it
	Node   = "relock.node"   // int: which Redis, from 1
	Script = "relock.script" // text: the file of the script that gave it; missing where none did
	Line   = "relock.line"   // int: of that script
)

// Attributes of the spans and events of a whole run.
const (
	System   = "db.system.name"  // text: redis
	Thread   = "thread.name"     // text
	Protocol = "relock.protocol" // text: which lock
	Seed     = "relock.seed"     // int
	Store    = "relock.store"    // text: where the key was
	Clock    = "relock.clock"    // text: virtual or wall
	Rule     = "relock.rule"     // text: that was broken
	Detail   = "relock.detail"   // text: how
	Threads  = "relock.threads"  // texts: whose doing it was
	Value    = "relock.value"    // int: of what the lock protects
)

// Metrics.
const (
	Acquisition = "relock.acquisition.duration" // histogram, seconds: from the first attempt of a lock call to its grant
	Attempts    = "relock.attempts"             // counter, by Call and Result
	Losses      = "relock.losses"               // counter: leases that could no longer be relied on
)
