// Package labs has the labs that pages steer: each the machine of a board, whose
// branches are rounds of a visitor's clients, within limits, and kept only while
// somebody looks. Labs is the entrance: it opens a [Lab] and finds it again.
// It must not know the routes, nor what a page draws.
package labs
