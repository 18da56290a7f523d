// Package lab puts anybody's lock on the stage, unmodified. A [Gate] stands
// between its clients and a Redis, with a port for each thread. Every command is
// held until somebody decides: it is answered, or a fault strikes it. [Search]
// starts workers and decides in every order; what was decided and what came of
// it is an [Order], and [Order.Trace] makes it a trace like any other.
//
// Redis' clock is the gate's, and stands still; the clients' is the wall's. So
// "the lease ends" means that the client stood still for that long.
package lab
