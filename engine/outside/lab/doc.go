// Package lab puts anybody's lock on the stage, unmodified. A [Gate] sits between its
// clients and a Redis, with a port for each thread. It holds every command until it gets
// a decision: to answer it, or to strike it with a fault. [Search] starts workers and
// decides in every order. An [Order] is the decisions and their results, and
// [Order.Trace] makes it a trace like any other.
//
// The gate keeps Redis' clock, which stands still; the clients have the wall clock. So
// "the lease ends" means that the client paused for that long.
package lab
