// Package explore asks "can this ever happen?": it searches every schedule of a
// scenario within bounds, on the real lock engine, and counts those that break
// a rule.
//
// Whenever at least one task can move, there is a decision. It is a choice (one
// of those moves; free), a delay (no task moves, and time passes to the next
// instant at which anything happens by itself; one of Bounds.Delays), or a
// fault by hand (one of Bounds.MaxFaults). A schedule is the decisions from the
// start to the end of the run; two schedules that differ in one decision count
// as two. Sources: delay-bounded scheduling, Emmi, Qadeer, Rakamarić (POPL
// 2011); stateful search with hashed states, as in SPIN (Holzmann).
//
// A delay can outlast a lease, and no lease protects from that. A schedule breaks a
// rule by standing still if before that, or with the same decision, a thread could
// move, or its watchdog could, even after the thread's end, a delay kept it from moving,
// and meanwhile its lease ended: the one on which its client relies, or that of its key.
// That is what came before; the rule may be broken without that, too. It depends on a
// decision alone, so such schedules are counted on the same graph.
//
// Two positions are one state when they agree on everything that the rest of a
// run depends on (run.Position). The search visits each state once, cheapest
// decisions first. The states form a graph without cycles, because time and
// decisions only go forward, so it counts the schedules through each exactly,
// without sampling. Threads with the same configuration can change places in a
// state: it is the same state under other names (run.Twins), so a search with n
// of them takes one in n! of the states.
//
// Goroutines cannot be copied, so a worker repeats the moves to a state to try
// another decision there. That is fast because Redis answers from memory
// (package recall) and nothing is written down on the way. The search plays
// each result once more on a miniredis before it reports it.
//
// The package knows run and check, but neither HTTP nor its callers.
package explore
