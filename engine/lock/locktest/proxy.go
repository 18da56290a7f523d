// Package locktest tests the locks of relock/engine/lock as you would test
// them before trusting them: through a network that loses, delays, repeats and
// cuts, on servers that are killed and started again. [Proxy] is that network;
// the rest of the package is tests.
package locktest

import (
	"bufio"
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// Kind is what becomes of a request and its reply.
type Kind int

// The kinds. Cutting a connection cuts it for the client, which gets an error at once;
// "later" is after [Fate.After], over a separate connection and whatever the client has
// done meanwhile.
const (
	Pass        Kind = iota // nothing happens to it
	LoseRequest             // the connection is cut, Redis never gets the request
	LoseReply               // Redis runs it, and the connection is cut instead of the reply
	TearReply               // the same, in the midst of the reply
	Withhold                // the connection is cut, and Redis gets the request later
	Stall                   // nothing is answered until the client gives up, and Redis gets the request later
	Twice                   // it passes and is answered, and Redis gets it once more later
	kinds
)

// Late tells whether Redis gets the request, or a copy, when its sender no
// longer waits for it.
func (k Kind) Late() bool { return k == Withhold || k == Stall || k == Twice }

// Fate is what happens to one request.
type Fate struct {
	Kind  Kind
	Delay time.Duration // before it is passed on or lost
	After time.Duration // until Redis gets a late one, from when the client was cut, had given up or was answered
}

// Message is what a [Plan] is asked about for each message to a client that
// has subscribed to a channel. There each fate but Pass cuts the connection.
const Message = "message"

// Plan decides what happens to a request with this command ("EVALSHA"), or to
// a [Message]. A proxy asks its plan for one request at a time.
type Plan func(command string) Fate

// Rates are the probabilities, from 0 to 1 and at most 1 together, of what
// [Random] does to a request, and how long it takes at most.
type Rates struct {
	LoseRequest, LoseReply, TearReply float64
	Withhold, Stall, Twice            float64 // of requests that run a script or SET

	Delay    float64 // apart from the others
	MaxDelay time.Duration
	MaxLate  time.Duration // short ones are likelier
}

// Random is a plan that is drawn by these rates from a seeded source.
func Random(seed uint64, r Rates) Plan {
	random := rand.New(rand.NewPCG(seed, 0))
	within := func(d time.Duration) time.Duration { return time.Duration(random.Float64() * float64(d)) }
	rates := [kinds]float64{
		LoseRequest: r.LoseRequest, LoseReply: r.LoseReply, TearReply: r.TearReply,
		Withhold: r.Withhold, Stall: r.Stall, Twice: r.Twice,
	}
	return func(command string) Fate {
		var f Fate
		if random.Float64() < r.Delay {
			f.Delay = within(r.MaxDelay)
		}
		drawn := random.Float64()
		for kind, rate := range rates {
			if drawn -= rate; drawn < 0 && rate > 0 {
				f.Kind = Kind(kind)
				break
			}
		}
		switch f.Kind {
		case Withhold, Stall, Twice:
			f.After = within(within(r.MaxLate))
			if command != "EVALSHA" && command != "EVAL" && command != "SET" {
				f.Kind = Pass
			}
		}
		return f
	}
}

// Figures are what a [Proxy] has done so far.
type Figures struct {
	Requests int // that it read
	Cuts     int // requests and replies that were lost, messages not counted
	Late     int // requests that Redis got late
}

// Add is both together.
func (f Figures) Add(g Figures) Figures {
	return Figures{f.Requests + g.Requests, f.Cuts + g.Cuts, f.Late + g.Late}
}

// Proxy sits between one client and one Redis: the client gets its address instead. It
// takes RESP2 and RESP3 apart into requests and replies, pipelines too, and does to each
// what its plan says. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup // all goroutines

	mu      sync.Mutex
	closed  bool
	redis   string
	plan    Plan
	links   map[*link]bool
	healed  chan struct{} // closed while there is no partition
	copies  int           // that are still to be sent
	settled chan struct{} // closed while there are none
	figures Figures
}

// Listen starts a proxy to the Redis at an address, on a loopback port. A plan
// that is nil lets everything pass.
func Listen(redis string, plan Plan) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	none := make(chan struct{})
	close(none)
	p := &Proxy{redis: redis, listener: listener, plan: plan, links: map[*link]bool{}, healed: none, settled: none}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.tasks.Go(p.accept)
	return p, nil
}

// Addr is the host and port that the client connects to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetPlan changes the plan for the requests from now on.
func (p *Proxy) SetPlan(plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// Redirect cuts all connections, and leads those that follow to the Redis at
// another address, as a fail-over does.
func (p *Proxy) Redirect(redis string) {
	p.mu.Lock()
	p.redis = redis
	p.mu.Unlock()
	p.Cut()
}

// Partition lets nothing pass until Heal. Connections stay, and what their
// clients still wait for passes then; a request that its client has given up
// meanwhile does not.
func (p *Proxy) Partition() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.healed:
		p.healed = make(chan struct{})
	default:
	}
}

// Heal ends a partition, if there is one.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.healed:
	default:
		close(p.healed)
	}
}

// Cut cuts all connections that there are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.end()
	}
}

// Figures are what the proxy has done so far.
func (p *Proxy) Figures() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.figures
}

// Settle waits until no late request is still to be sent. It fails with ctx's
// error.
func (p *Proxy) Settle(ctx context.Context) error {
	p.mu.Lock()
	settled := p.settled
	p.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close cuts everything, drops what was still to be sent, and returns when
// nothing of the proxy runs.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	_ = p.listener.Close()
	p.Cut()
	p.tasks.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := &link{p: p, client: client}
		l.ctx, l.cancel = context.WithCancel(p.ctx)
		p.mu.Lock()
		p.links[l] = true
		if p.closed {
			l.end()
		}
		p.mu.Unlock()
		p.tasks.Go(l.serve)
	}
}

func (p *Proxy) fate(command string) Fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	var f Fate
	if p.plan != nil {
		f = p.plan(command)
	}
	if command != Message {
		p.figures.Requests++
		if f.Kind != Pass && f.Kind != Twice {
			p.figures.Cuts++
		}
	}
	return f
}

// open waits until there is no partition, and tells whether ctx goes on.
func (p *Proxy) open(ctx context.Context) bool {
	for ctx.Err() == nil {
		p.mu.Lock()
		healed := p.healed
		p.mu.Unlock()
		select {
		case <-healed:
			return ctx.Err() == nil
		case <-ctx.Done():
		}
	}
	return false
}

func (p *Proxy) dial(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	redis := p.redis
	p.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", redis)
}

// copyLimit is how long a late request waits for its answer, which tells that
// Redis has run it.
const copyLimit = 10 * time.Second

// later sends a request after a time. The caller is one of p's tasks.
func (p *Proxy) later(request string, after time.Duration) {
	p.mu.Lock()
	if p.copies == 0 {
		p.settled = make(chan struct{})
	}
	p.copies++
	p.mu.Unlock()
	p.tasks.Go(func() {
		ran := sleep(p.ctx, after) && p.open(p.ctx) && p.send(request)
		p.mu.Lock()
		defer p.mu.Unlock()
		if ran {
			p.figures.Late++
		}
		p.copies--
		if p.copies == 0 {
			close(p.settled)
		}
	})
}

// send sends a request over a separate connection, and reports whether it was answered.
func (p *Proxy) send(request string) bool {
	conn, err := p.dial(p.ctx)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(copyLimit))
	defer context.AfterFunc(p.ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write([]byte(request)); err != nil {
		return false
	}
	_, err = proto.Read(bufio.NewReader(conn))
	return err == nil
}

// link is a client's connection and the one to Redis that belongs to it.
type link struct {
	p       *Proxy
	client  net.Conn
	ctx     context.Context
	cancel  context.CancelFunc
	listens atomic.Bool // the client has subscribed: replies are not counted any more

	mu      sync.Mutex
	redis   net.Conn
	pending []passed // and not answered
}

// passed is a request that was passed on, and what becomes of its reply.
type passed struct {
	request string
	Fate
}

// end cuts the link.
func (l *link) end() {
	l.cancel()
	_ = l.client.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.redis != nil {
		_ = l.redis.Close()
	}
}

// ahead is how many requests of a pipeline are read before the first of them
// is passed on. While there is room for more, it is noticed at once when the
// client gives up.
const ahead = 1024

// serve reads requests until the client or the proxy ends the link.
func (l *link) serve() {
	requests := make(chan string, ahead)
	l.p.tasks.Go(func() { l.forward(requests) })
	defer func() {
		l.end()
		l.p.mu.Lock()
		defer l.p.mu.Unlock()
		delete(l.p.links, l)
	}()
	r := bufio.NewReader(l.client)
	for {
		request, err := proto.Read(r)
		if err != nil {
			return
		}
		select {
		case requests <- request:
		case <-l.ctx.Done():
			return
		}
	}
}

// forward passes requests on.
func (l *link) forward(requests <-chan string) {
	defer l.end()
	if !l.p.open(l.ctx) {
		return
	}
	redis, err := l.p.dial(l.ctx)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.redis = redis
	l.mu.Unlock()
	l.p.tasks.Go(func() { l.answer(redis) })
	for {
		select {
		case request := <-requests:
			if !l.pass(redis, request) {
				return
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// pass does to one request what the plan says, and tells whether the link
// goes on.
func (l *link) pass(redis net.Conn, request string) bool {
	command := commandOf(request)
	f := l.p.fate(command)
	if !sleep(l.ctx, f.Delay) || !l.p.open(l.ctx) {
		return false
	}
	switch f.Kind {
	case LoseRequest:
		return false
	case Stall:
		<-l.ctx.Done()
		fallthrough
	case Withhold:
		l.p.later(request, f.After)
		return false
	}
	if strings.HasSuffix(command, "SUBSCRIBE") {
		l.listens.Store(true)
	}
	l.mu.Lock()
	l.pending = append(l.pending, passed{request, f})
	l.mu.Unlock()
	_, err := redis.Write([]byte(request))
	return err == nil
}

// answer passes replies and messages back.
func (l *link) answer(redis net.Conn) {
	defer l.end()
	r := bufio.NewReader(redis)
	for {
		reply, err := proto.Read(r)
		if err != nil {
			return
		}
		var to passed
		switch {
		case l.listens.Load():
			f := l.p.fate(Message)
			if !sleep(l.ctx, f.Delay) || f.Kind != Pass {
				return
			}
		case reply[0] != '>': // else pushed, and no reply
			to = l.answered()
		}
		if !l.p.open(l.ctx) {
			return
		}
		switch to.Kind {
		case LoseReply:
			return
		case TearReply:
			_, _ = l.client.Write([]byte(reply[:len(reply)/2]))
			return
		}
		if _, err := l.client.Write([]byte(reply)); err != nil {
			return
		}
		if to.Kind == Twice {
			l.p.later(to.request, to.After)
		}
	}
}

// answered takes the oldest request that waits for its reply.
func (l *link) answered() passed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return passed{}
	}
	first := l.pending[0]
	l.pending = l.pending[1:]
	return first
}

// commandOf is the name of a request's command, in capitals.
func commandOf(request string) string {
	// *3\r\n$3\r\nSET\r\n…
	parts := strings.SplitN(request, "\r\n", 4)
	if len(parts) < 4 {
		return ""
	}
	return strings.ToUpper(parts[2])
}

// sleep waits, and tells whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
