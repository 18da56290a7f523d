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

	mu       sync.Mutex
	children []*child        // that serve, or have served, somebody
	asked    map[*child]bool // of these, which are being asked
	places   int             // taken: children, and those that are about to be
	spare    *child          // that is nobody's yet
	warming  bool            // a spare is being started
	waiting  []*waiter       // who wants a child, first come first served
	closed   bool
}

// New starts a first child, so that it notices a missing wall at once. It fails
// with ErrUnavailable.
func New(o Options) (*Pool, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	p := &Pool{o: o, way: walled, asked: map[*child]bool{}}
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
	p.mu.Unlock()
	p.cancel()
	p.asks.Wait()
	p.work.Wait()
	for _, c := range p.children {
		c.kill()
	}
	p.children = nil
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
// A mistake of the script is a [*Fault]. Other errors are ErrQuestion,
// ErrUnavailable, ErrBroken, ErrClosed, and ctx's. A script's own error, in
// Redis' words, is in the Answer.
func (p *Pool) Ask(ctx context.Context, by any, q Question) (Answer, error) {
	return p.ask(ctx, by, q.encode(askRun))
}

// Check has a child compile a text, and fails with a [*Fault] of ErrSyntax if it
// does not compile, or like Ask.
func (p *Pool) Check(ctx context.Context, by any, text string) error {
	_, err := p.ask(ctx, by, (&Question{Script: text}).encode(askCheck))
	return err
}

// Leave frees the children of a judgement that is over, for others.
func (p *Pool) Leave(by any) {
	p.mu.Lock()
	for _, c := range slices.Clone(p.children) {
		if c.owner == by && !p.asked[c] {
			p.drop(c)
		}
	}
	p.mu.Unlock()
}

func (p *Pool) ask(ctx context.Context, by any, question []byte) (Answer, error) {
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
	c, err := p.take(ctx, by)
	if err != nil {
		return Answer{}, p.shut(err)
	}
	a, err := c.ask(ctx, p.o.Limit, question)
	p.put(c)
	return a, p.shut(err)
}

// shut says ErrClosed of what Close has ended.
func (p *Pool) shut(err error) error {
	if err != nil && p.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return ErrClosed
	}
	return err
}

// slice is how long others let a judgement wait that has no child: to change
// hands costs a child, so it is not done with each question.
const slice = 50 * time.Millisecond

// waiter is a question that waits for a child.
type waiter struct {
	turn  chan struct{} // holds one
	since time.Time
}

// take returns a child that nobody else asks, and that has served nobody else. It
// yields to others while it waits for one.
func (p *Pool) take(ctx context.Context, by any) (c *child, err error) {
	p.mu.Lock()
	if c := p.mine(by); c != nil && len(p.waiting) == 0 {
		p.asked[c] = true
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	pause.While(ctx, func() { c, err = p.await(ctx, by) })
	return c, err
}

// await waits for a child, or starts one.
func (p *Pool) await(ctx context.Context, by any) (*child, error) {
	p.mu.Lock()
	var w *waiter
	for {
		now := time.Now()
		first := len(p.waiting) == 0 || p.waiting[0] == w
		if first || now.Sub(p.waiting[0].since) < slice {
			if c := p.mine(by); c != nil {
				p.asked[c] = true
				p.leave(w)
				p.mu.Unlock()
				return c, nil
			}
		}
		if first {
			if p.places == p.o.Children {
				quiet := slice
				if w != nil && now.Sub(w.since) >= slice {
					quiet = 0
				}
				p.dropOldest(now.Add(-quiet))
			}
			if p.places < p.o.Children {
				p.places++
				p.leave(w)
				break
			}
		}
		if w == nil {
			w = &waiter{make(chan struct{}, 1), now}
			p.waiting = append(p.waiting, w)
		}
		p.mu.Unlock()
		again := time.NewTimer(slice)
		select {
		case <-w.turn:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
		p.mu.Lock()
		if ctx.Err() != nil {
			p.leave(w)
			p.mu.Unlock()
			return nil, fmt.Errorf("box: wait for a process: %w", ctx.Err())
		}
	}
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
		p.places--
		p.next()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("box: %w", ctx.Err())
		}
		return nil, err
	}
	c.owner = by
	p.children = append(p.children, c)
	p.asked[c] = true
	p.warm()
	return c, nil
}

// mine returns a child of a judgement that nobody asks.
func (p *Pool) mine(by any) *child {
	for _, c := range p.children {
		if c.owner == by && !p.asked[c] {
			return c
		}
	}
	return nil
}

// dropOldest ends the child that has been asked nothing for longest, if there is
// one that has been asked nothing since an instant.
func (p *Pool) dropOldest(since time.Time) {
	var oldest *child
	for _, c := range p.children {
		if !p.asked[c] && !c.free.After(since) && (oldest == nil || c.free.Before(oldest.free)) {
			oldest = c
		}
	}
	if oldest != nil {
		p.drop(oldest)
	}
}

// drop ends a child that nobody asks, and frees its place.
func (p *Pool) drop(c *child) {
	p.children = slices.DeleteFunc(p.children, func(one *child) bool { return one == c })
	delete(p.asked, c)
	p.places--
	p.next()
	p.work.Go(c.kill)
}

// put gives a child back.
func (p *Pool) put(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, c)
	c.free = time.Now()
	select {
	case <-c.ended:
		p.drop(c)
	default:
		p.next()
	}
}

// leave takes one from those who wait, and lets the next one look.
func (p *Pool) leave(w *waiter) {
	if n := slices.Index(p.waiting, w); n >= 0 {
		p.waiting = slices.Delete(p.waiting, n, n+1)
	}
	p.next()
}

// next lets the first who waits look again.
func (p *Pool) next() {
	if len(p.waiting) > 0 {
		select {
		case p.waiting[0].turn <- struct{}{}:
		default:
		}
	}
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
	for _, c := range slices.Clone(p.children) {
		if !p.asked[c] && c.free.Before(old) {
			p.drop(c)
		}
	}
	if p.spare != nil && len(p.children) == 0 && p.spare.free.Before(old) {
		p.work.Go(p.spare.kill)
		p.spare = nil
	}
}
