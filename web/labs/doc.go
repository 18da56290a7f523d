// Package labs has the labs that pages steer: each with its branches, which are
// rounds of somebody's clients, within limits, and kept only while somebody looks. Its
// door is Labs, which opens a lab and finds it again, and Session. It must not know the
// routes, nor what a page draws.
package labs
