package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"relock/engine/pause"
)

// Pool is a few children that each serve one judgement at a time, and one more that
// starts in advance. It is safe for concurrent use.
type Pool struct {
	o      Options
	way    string
	ctx    context.Context // until Close
	cancel func()
	asks   sync.WaitGroup // questions that are being answered
	work   sync.WaitGroup // goroutines that start, end or look after children

	mu      sync.Mutex
	now     func() time.Time
	line    line
	record  record
	spare   *child      // that is nobody's yet
	warming bool        // a spare is being started
	again   *time.Timer // looks at the line again; nil while nobody waits
	closed  bool
}

// New starts a first child, so that it notices a missing wall at once. It fails
// with ErrUnavailable.
func New(o Options) (*Pool, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	p := &Pool{o: o, way: walled, now: time.Now, record: newRecord()}
	p.line = newLine(o.Children, p.record)
	if o.Unwalled {
		p.way = unwalled
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if p.spare, err = start(p.ctx, p.way); err != nil {
		p.cancel()
		return nil, err
	}
	p.spare.free = time.Now()
	p.work.Go(p.tidy)
	return p, nil
}

// Close ends all children, and returns when they have ended. Questions that are
// being answered fail.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.again != nil {
		p.again.Stop()
	}
	p.mu.Unlock()
	p.cancel()
	p.asks.Wait()
	p.work.Wait()
	for _, one := range p.line.places {
		one.child.kill()
	}
	p.line.places = nil
	if p.spare != nil {
		p.spare.kill()
		p.spare = nil
	}
	return nil
}

// Ask has a child answer a question. By identifies the judgement, and is comparable:
// a child that has served another one is ended, not asked. It waits for a child as
// long as ctx lets it, and not longer than Options.Limit for the answer.
//
// Those the work is for, [pause.Whose], wait in turn, and each has all children but one
// at most. Those whose last script did not finish, or who have run none, have as many all
// together: the others do not wait behind them.
//
// A mistake of the script is a [*Fault]. Other errors are a [*SuspendedError],
// ErrQuestion, ErrUnavailable, ErrBroken, ErrClosed, and ctx's. A script's own
// error, in Redis' words, is in the Answer.
func (p *Pool) Ask(ctx context.Context, by any, q Question) (Answer, error) {
	a, err := p.ask(ctx, by, askRun, &q)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record.ran(pause.Whose(ctx), by, err, p.now())
	p.grant() // who waits may be suspended, or have proven itself
	return a, err
}

// Proven reports whether the last script that ran for somebody finished.
func (p *Pool) Proven(whose string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record.proven(whose)
}

// Suspended returns the [*SuspendedError] of somebody who may not run a script just
// now, else nil.
func (p *Pool) Suspended(whose string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record.suspended(whose, nil, p.now())
}

// Check has a child compile a text, and fails with a [*Fault] of ErrSyntax if it
// does not compile, or like Ask.
func (p *Pool) Check(ctx context.Context, by any, text string) error {
	_, err := p.ask(ctx, by, askCheck, &Question{Script: text})
	return err
}

// Leave frees the children of a judgement that is over, for others.
func (p *Pool) Leave(by any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record.over(by)
	for _, one := range p.line.of(by) {
		if !one.busy {
			p.end(one)
		}
	}
	p.grant()
}

func (p *Pool) ask(ctx context.Context, by any, what int64, q *Question) (Answer, error) {
	question := q.encode(what)
	if len(question) > maxFrame {
		return Answer{}, fmt.Errorf("box: %w: %d bytes, allowed are %d", ErrQuestion, len(question), maxFrame)
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Answer{}, ErrClosed
	}
	p.asks.Add(1)
	p.mu.Unlock()
	defer p.asks.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	at, err := p.take(ctx, by, what == askRun)
	if err != nil {
		return Answer{}, p.shut(err)
	}
	a, err := at.child.ask(ctx, p.o.Limit, question)
	p.put(at)
	return a, p.shut(err)
}

// shut says ErrClosed of what Close has ended.
func (p *Pool) shut(err error) error {
	if err != nil && p.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return ErrClosed
	}
	return err
}

// take returns a place whose child nobody else asks, and that has served nobody else.
// It yields to others while it waits for one.
func (p *Pool) take(ctx context.Context, by any, runs bool) (at *place, err error) {
	whose := pause.Whose(ctx)
	p.mu.Lock()
	if err := p.record.suspended(whose, by, p.now()); runs && err != nil {
		p.mu.Unlock()
		return nil, fmt.Errorf("box: %w", err)
	}
	if at = p.line.own(by, p.now()); at != nil {
		p.mu.Unlock()
		return at, nil
	}
	p.mu.Unlock()
	pause.While(ctx, func() { at, err = p.await(ctx, whose, by, runs) })
	return at, err
}

// await waits for a place, and starts its child if there is none.
func (p *Pool) await(ctx context.Context, whose string, by any, runs bool) (*place, error) {
	p.mu.Lock()
	w := p.line.wait(whose, by, runs, p.now())
	p.grant()
	p.mu.Unlock()
	var at *place
	select {
	case at = <-w.granted:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.line.leave(w) { // granted at the last moment
			if at = <-w.granted; at != nil {
				at.busy, at.free = false, p.now()
			}
			if at != nil && at.child == nil {
				p.line.drop(at)
			}
		}
		p.grant()
		return nil, fmt.Errorf("box: wait for a process: %w", ctx.Err())
	}
	if at == nil {
		return nil, fmt.Errorf("box: %w", w.refused)
	}
	if at.child != nil {
		return at, nil
	}
	p.mu.Lock()
	c := p.spare
	p.spare = nil
	p.mu.Unlock()
	var err error
	if c == nil {
		c, err = start(ctx, p.way)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.line.drop(at)
		p.grant()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("box: %w", ctx.Err())
		}
		return nil, err
	}
	at.child = c
	p.warm()
	return at, nil
}

// grant gives places to those whose turn it is. The caller holds mu.
func (p *Pool) grant() {
	for _, freed := range p.line.grant(p.now()) {
		p.work.Go(freed.kill)
	}
	switch {
	case !p.line.waits() || p.closed:
	case p.again == nil:
		p.again = time.AfterFunc(slice, p.lookAgain)
	default:
		p.again.Reset(slice)
	}
}

// lookAgain grants what time alone has made free.
func (p *Pool) lookAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.grant()
	}
}

// end ends the child of a place that nobody asks, and frees the place. The caller
// holds mu.
func (p *Pool) end(at *place) {
	p.line.drop(at)
	p.work.Go(at.child.kill)
}

// put gives a place back.
func (p *Pool) put(at *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at.busy, at.free = false, p.now()
	select {
	case <-at.child.ended:
		p.end(at)
	default:
	}
	p.grant()
}

// warm starts a spare, if there is none.
func (p *Pool) warm() {
	if p.spare != nil || p.warming || p.closed {
		return
	}
	p.warming = true
	p.work.Go(func() {
		c, err := start(p.ctx, p.way)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.warming = false
		if err == nil { // else the next who needs one hears why
			c.free = time.Now()
			p.spare = c
		}
	})
}

// tidy ends children that nobody asks any more, until Close.
func (p *Pool) tidy() {
	tick := time.NewTicker(idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-tick.C:
			p.mu.Lock()
			p.sweep(now)
			p.mu.Unlock()
		}
	}
}

// sweep ends what has been idle for too long at an instant, with the spare only
// when nobody else is there.
func (p *Pool) sweep(now time.Time) {
	old := now.Add(-idle)
	for _, one := range slices.Clone(p.line.places) {
		if !one.busy && one.free.Before(old) {
			p.end(one)
		}
	}
	p.grant()
	p.record.forget(now)
	if p.spare != nil && len(p.line.places) == 0 && p.spare.free.Before(old) {
		p.work.Go(p.spare.kill)
		p.spare = nil
	}
}
