package card

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// ErrProtocol refuses a lock that does not exist.
var ErrProtocol = phrase.New("there is no such lock; \"playground protocols\" lists them")

// The scenario of a card is as small as can be while each place exists: two
// threads that re-enter where the lock lets them, a counter that they protect, a
// watchdog where the lock has one, and tries enough to outlast a pause and a
// lease. The threads never act at one instant: what is seen comes from the fault
// and the delays, not from a tie.
type (
	scenarioForm struct {
		Title    string           `json:"title"`
		Lock     lockForm         `json:"lock"`
		Resource resourceForm     `json:"resource"`
		Threads  []threadForm     `json:"threads"`
		Faults   []scenario.Fault `json:"faults,omitempty"`

		longer time.Duration // its times are this many times as long as other cards'
	}
	lockForm struct {
		Protocol string    `json:"protocol"`
		Lease    string    `json:"lease"`
		Watchdog string    `json:"watchdog,omitempty"`
		Retry    retryForm `json:"retry"`
		Nodes    int       `json:"nodes,omitempty"`

		scenario.OwnForm
	}
	retryForm struct {
		Times    int    `json:"times"`
		Interval string `json:"interval"`
	}
	resourceForm struct {
		Kind   string `json:"kind"`
		Checks string `json:"checks,omitempty"`
	}
	threadForm struct {
		Name  string `json:"name"`
		Start string `json:"start,omitempty"`
		Work  string `json:"work"`
		Depth int    `json:"depth"`
	}
)

// first and second are the threads.
const first, second = "A", "B"

// most is the most nodes of a card's scenario: more make the same majorities.
const most = 3

func form(l scenario.Lock, depth int) scenarioForm {
	p := l.Implementation()
	f := scenarioForm{
		Title:    l.Protocol,
		Lock:     lockForm{Protocol: l.Protocol, Lease: "200ms", Retry: retryForm{10, "60ms"}, Nodes: min(p.Nodes, most), OwnForm: l.OwnForm()},
		Resource: resourceForm{Kind: scenario.KindCounter},
		Threads:  []threadForm{{Name: first, Work: "50ms", Depth: depth}, {Name: second, Start: "5ms", Work: "50ms", Depth: depth}},
	}
	if p.HasWatchdog() {
		f.Lock.Watchdog = "80ms"
	}
	if p.Token != nil {
		f.Resource.Checks = scenario.ChecksToken
	}
	if depth == 1 { // the watchdog renews once meanwhile
		f.Threads[0].Work, f.Threads[1].Work = "100ms", "100ms"
	}
	f.longer = 1
	if l.InSeconds() {
		f.inSeconds()
	}
	return f
}

// inSeconds makes all times longer, so that the lease is a whole second.
func (f *scenarioForm) inSeconds() {
	f.longer = 5
	longer := func(text *string) {
		if d, err := time.ParseDuration(*text); err == nil { // "" is no time
			*text = (f.longer * d).String()
		}
	}
	longer(&f.Lock.Lease)
	longer(&f.Lock.Watchdog)
	longer(&f.Lock.Retry.Interval)
	for i := range f.Threads {
		longer(&f.Threads[i].Start)
		longer(&f.Threads[i].Work)
	}
}

func (f scenarioForm) scenario() (*scenario.Scenario, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	return sc, nil
}

// formOf is the form of a protocol's scenario: at two levels, unless the lock
// does not let its own holder in again.
func formOf(ctx context.Context, l scenario.Lock) (scenarioForm, error) {
	if !l.Own() && !slices.Contains(exhibit.Names(), l.Protocol) {
		return scenarioForm{}, ErrProtocol
	}
	twice := form(l, 2)
	alone := twice
	alone.Threads = alone.Threads[:1]
	reentrant, err := succeeds(ctx, alone)
	if err != nil || reentrant {
		return twice, err
	}
	return form(l, 1), nil
}

// succeeds reports whether a scenario comes to a good end.
func succeeds(ctx context.Context, f scenarioForm) (bool, error) {
	sc, err := f.scenario()
	if err != nil {
		return false, err
	}
	r, err := run.New(sc, run.Options{})
	if err != nil {
		return false, fmt.Errorf("card: %w", err)
	}
	if err := r.Execute(ctx); err != nil {
		return false, fmt.Errorf("card: %w", err)
	}
	events, _ := r.Log().Since(0)
	return !slices.ContainsFunc(events, func(e trace.Event) bool {
		end, ends := e.Body.(trace.End)
		_, broken := e.Body.(trace.Violation)
		return broken || ends && end.Result != trace.Done
	}), nil
}

// with is the scenario with a fault at a place, or nil where the lock cannot have
// it there.
func (f scenarioForm) with(k fault.Kind, p Place) (*scenario.Scenario, error) {
	f.Title += ": " + k.Name + ", " + p.words()
	f.Faults = []scenario.Fault{{Thread: p.Thread, At: p.At, Level: p.Level, Do: k.Name, Error: k.Error, For: f.longer * k.For, By: f.longer * k.By}}
	sc, err := f.scenario()
	if errors.As(err, new(scenario.Mistakes)) {
		return nil, nil
	}
	return sc, err
}

// words is the place in the words of a scenario: "A lock 1".
func (p Place) words() string { return strings.ReplaceAll(p.String(), ".", " ") }

// Scenario returns the scenario of a cell of the card.
func (c *Card) Scenario(cell *Cell) (*scenario.Scenario, error) {
	l := c.lock
	if !l.Own() { // a bundled card is read from a file
		l.Protocol = c.Protocol
	}
	f := form(l, c.Depth)
	if cell.Place == (Place{}) {
		if cell.Fault != "" {
			f.Title += ": " + cell.Fault
		}
		return f.scenario()
	}
	k, _ := fault.Named(cell.Fault)
	sc, err := f.with(k, cell.Place)
	if err == nil && sc == nil {
		err = fmt.Errorf("card: %s cannot have %s", c.Protocol, cell.Name())
	}
	return sc, err
}

// Example returns the scenario of a cell with the schedule that shows its verdict:
// of Broken, the smallest that breaks the first of its rules.
func (c *Card) Example(cell *Cell) (*scenario.Scenario, error) {
	schedule := cell.Example
	if len(cell.Rules) > 0 {
		schedule = cell.Rules[0].Schedule
	}
	sc, err := c.Scenario(cell)
	if err != nil {
		return nil, err
	}
	moves, err := sc.ParseMoves(schedule)
	if err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	return sc.WithSchedule(moves), nil
}
