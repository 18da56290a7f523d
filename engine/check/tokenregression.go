package check

import (
	"fmt"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// TokenRegression is the rule that each fencing token is larger than every
// earlier one.
const TokenRegression = "token-regression"

// tokenRegression is the largest token so far.
type tokenRegression struct {
	token  int64
	seq    int // of the event that issued it
	thread string
}

func (t *tokenRegression) clone() automaton { c := *t; return &c }

func (t *tokenRegression) append(b []byte, _ time.Duration, as naming) []byte {
	return fmt.Appendf(b, "%d%s;", t.token, as(t.thread))
}

func (t *tokenRegression) observe(_ *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Outcome)
	if !ok || b.Result != trace.Acquired || b.Token == 0 {
		return Finding{}, false
	}
	if b.Token > t.token {
		*t = tokenRegression{b.Token, e.Seq, e.Thread}
		return Finding{}, false
	}
	return found(TokenRegression, []string{e.Thread, t.thread}, proof(t.seq, e.Seq),
		phrase.Say("%s was given token %d, and %s had %d before", e.Thread, b.Token, t.thread, t.token),
		phrase.Say("%s was given token %d, and %s had %d before: it no longer shows which write is late.", e.Thread, b.Token, t.thread, t.token)), true
}
