// Package explore asks "can this ever happen?": it searches every schedule of a
// scenario within bounds, on the real lock engine, and counts those that break a
// rule.
//
// A decision is made wherever at least one task can move. It is a choice (one of
// those moves; free), a delay (nobody moves, and time passes to the next instant
// at which anything happens by itself; one of Bounds.Delays), or a fault by hand
// (one of Bounds.MaxFaults). A schedule is the decisions from the start to the
// end of the run; two that differ in one decision are two. Sources: delay-bounded
// scheduling, Emmi, Qadeer, Rakamarić (POPL 2011); stateful search with hashed
// states, as in SPIN (Holzmann).
//
// Two positions are one state when all agrees on which the rest of a run depends
// (run.Position). States are searched once, cheapest decisions first. They form a
// graph without circles, because time and decisions only go forward, so that the
// schedules through each are counted exactly, not sampled. Threads that are
// configured alike can change places in a state: it is the same, under other names
// (run.Twins), and n of them take a search of one in n! of the states.
//
// Goroutines cannot be copied, so a worker makes the moves to a state again to try
// another decision there. That is fast because Redis answers from memory
// (package recall) and nothing is written down on the way. What a search finds is
// played once more on a miniredis before it is told.
//
// The package knows run and check, and neither HTTP nor who asks.
package explore
