// Package outside is the wing for other people's locks: what runs them, reads what they
// did, and judges them by that. It has no code of its own.
//
//   - lab puts anybody's clients on the stage, and tries every order of their commands
//   - logs reads what others have recorded of a Redis
//   - infer decides from commands who believes that it holds the lock; lab and logs use it
//   - resp reads Redis' replies
//   - ownlock runs the scripts of a user's own lock in a run of ours, and box keeps them from
//     everything else
//
// Its one door is the trace. A run of a stranger's lock leaves it as a trace like any other,
// so whoever draws, exports or steps through runs knows nothing of this wing, and nothing of
// ours knows how it guesses. What a trace says of itself before its first event
// is in verdict.OfTrace.
package outside
