// Package bench measures the locks of relock/engine/lock beside two bare calls
// of their own scripts, and beside redislock, redsync and rueidislock. It is a separate
// module, so that nobody who uses the lock downloads those.
//
// # How to run it
//
// `make bench`, or one of them, in this folder:
//
//	go test -run '^$' -bench Interleaved -benchtime 1x .
//	go test -run '^$' -bench 'Handover|Contention|Arrivals' -benchtime 1x .
//	go test -run '^$' -bench Counter -benchtime 1x .
//	go test -run '^$' -bench Interleaved -benchtime 1x -only 'sequenced|redislock' -rounds 300 .
//
// Each starts redis-server on free ports and stops it, and prints its figures twice:
// in the form that benchstat reads, and as a table. -benchtime is not used; the
// length is set by -rounds, -slice, -turns, -handovers, -length and -additions (`go
// test . -args -h` lists them). Nothing waits for ever: a benchmark reports a call
// that outlives its context, and stops at -limit with the figures so far.
//
// # What the figures mean
//
// Interleaved is for a machine that others use as well. All contestants are open at
// once, on one Redis, and take turns of 30 ms in an order that is drawn again for
// every round. So a disturbance hits everybody, and a ratio compares two slices of
// the same round. Believe the ratios of the minimum and of the tenth percentile
// first; the row "bare … again" is the first row measured twice, and says how far
// off 1.00 a ratio can be by chance in this very run.
//
// A bare contestant repeats, by EVALSHA on its own client, exactly the commands that it
// saw the lock send: the same scripts, keys and arguments, with numbers that grow as the
// lock's do. Nothing is hashed and, but for those numbers, nothing boxed in the loop. All
// calls have a context that can end, like a server's requests; those of "sequenced
// background" have one that cannot. All have the go-redis client that the lock's
// documentation recommends, but for "sequenced as it comes".
//
// In the others each contestant has the machine to itself for some seconds, and
// its turn comes again and again: compare minima and medians of the turns, and
// the ratio to the best peer of the same turn.
package bench
