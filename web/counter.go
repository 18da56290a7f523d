package web

import "strconv"

// counter counts for a site what it does, in a meter.
type counter struct{ *meter }

// Request implements site.Counter.
func (c counter) Request(status int) { c.requests.WithLabelValues(strconv.Itoa(status)).Inc() }

// Refusal implements site.Counter.
func (c counter) Refusal(limit string) { c.refusals.WithLabelValues(limit).Inc() }

// Panic implements site.Counter.
func (c counter) Panic(ended string) { c.panics.WithLabelValues(ended).Inc() }

// PassedOn implements site.Counter.
func (c counter) PassedOn(outcome string) { c.passed.WithLabelValues(outcome).Inc() }

// Socket implements site.Counter.
func (c counter) Socket(what string) (end func()) { return c.socket(what) }

// Frames implements site.Counter.
func (c counter) Frames(n int) { c.frames.Add(float64(n)) }
