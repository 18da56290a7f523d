package e2e_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/engine/clock/clocktest"
)

// A phone on a slow network, as browsers' tools simulate it.
const (
	slowLatency = 200 * time.Millisecond // each way
	slowRate    = 50 << 10               // bytes a second, each way
	stalled     = 2 * time.Second
)

// badLine is a network between a page and a server: TCP with latency, little
// room, and holes. It is safe for concurrent use.
type badLine struct {
	server   string
	listener net.Listener
	ctx      context.Context
	tasks    sync.WaitGroup

	mu     sync.Mutex
	slow   bool
	cut    bool                  // nobody gets through
	passes map[way]chan struct{} // closed while that way passes on
	links  map[*wired]bool
}

// way is a direction on a line.
type way string

const (
	up   way = "to the server"
	down way = "to the page"
)

// wired is a connection through a line.
type wired struct {
	client, server net.Conn
	lost           atomic.Bool // neither end hears of the other
}

// newBadLine puts a line before the server of a page, and returns the page's
// address through it. It is a good one until it is made bad.
func newBadLine(t testing.TB, at string) (l *badLine, through string) {
	t.Helper()
	address, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	close(open)
	ctx, cancel := context.WithCancel(context.Background())
	l = &badLine{
		server: address.Host, listener: listener, ctx: ctx,
		passes: map[way]chan struct{}{up: open, down: open}, links: map[*wired]bool{},
	}
	l.tasks.Go(l.accept)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		l.Cut()
		l.tasks.Wait()
	})
	address.Host = listener.Addr().String()
	return l, address.String()
}

// Slow gives what is sent from now on the latency and the rate of 3G.
func (l *badLine) Slow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = true
}

// Stall lets nothing pass on some ways. Anything sent meanwhile comes after Pass.
func (l *badLine) Stall(ways ...way) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range ways {
		l.passes[w] = make(chan struct{})
	}
}

// Pass ends a stall.
func (l *badLine) Pass(ways ...way) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range ways {
		close(l.passes[w])
	}
}

// StallFor stalls both ways for a time.
func (l *badLine) StallFor(d time.Duration) {
	l.Stall(up, down)
	l.tasks.Go(func() {
		l.wait(d)
		l.Pass(up, down)
	})
}

// Cut cuts all connections, and lets none through until Mend.
func (l *badLine) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for one := range l.links {
		one.close()
	}
}

// Mend lets connections through again.
func (l *badLine) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Lose loses all connections: neither end hears of that, or of the other.
func (l *badLine) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.links {
		one.lost.Store(true)
	}
}

func (l *wired) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

func (l *badLine) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

func (l *badLine) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(l.ctx, "tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		one := &wired{client: client, server: server}
		l.mu.Lock()
		l.links[one] = true
		if l.cut {
			one.close()
		}
		l.mu.Unlock()
		l.tasks.Go(func() { l.carry(one, up, client, server) })
		l.tasks.Go(func() { l.carry(one, down, server, client) })
	}
}

// chunk is what was read at once, and when it arrives.
type chunk struct {
	text []byte
	due  time.Time
}

// carry carries one way's bytes until an end closes, and closes the other after
// the last of them.
func (l *badLine) carry(one *wired, w way, from, to net.Conn) {
	sent := make(chan chunk, 1024)
	l.tasks.Go(func() {
		for c := range sent {
			l.wait(time.Until(c.due))
			l.mu.Lock()
			passes := l.passes[w]
			l.mu.Unlock()
			select {
			case <-passes:
			case <-l.ctx.Done():
			}
			if !one.lost.Load() {
				_, _ = to.Write(c.text) // who reads from it notices, too
			}
		}
		if !one.lost.Load() {
			_ = to.Close()
		}
	})
	defer close(sent)
	var free time.Time // when the line has carried all that was sent
	for {
		text := make([]byte, 4<<10)
		n, err := from.Read(text)
		if err != nil {
			return
		}
		due := time.Now()
		l.mu.Lock()
		if l.slow {
			if free.Before(due) {
				free = due
			}
			free = free.Add(time.Duration(n) * time.Second / slowRate)
			due = free.Add(slowLatency)
		}
		l.mu.Unlock()
		sent <- chunk{text[:n], due}
	}
}

const (
	lost = `document.querySelector(".room-phone").classList.contains("lost")`
	// noteLosses counts how often the page has said that the connection is lost.
	noteLosses = `(() => {
		globalThis.losses = 0;
		new MutationObserver((list) => { losses += list.some(({ oldValue }) => !oldValue.includes("lost")) && ` + lost + ` ? 1 : 0; })
			.observe(document.querySelector(".room-phone"), { attributes: true, attributeFilter: ["class"], attributeOldValue: true });
		return true;
	})()`
	votedFor = `document.querySelector('.option[aria-pressed="true"]')?.dataset.vote ?? ""`
)

// lifecycle has a page stand still, as that of a phone that is locked, or go on.
func lifecycle(ctx context.Context, t *testing.T, state page.SetWebLifecycleStateState) {
	t.Helper()
	if _, err := chromedp.Call(ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state}); err != nil {
		t.Fatal(err)
	}
}

// unseen is until for a page that nobody looks at, which draws nothing.
func unseen(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute))); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// A phone with 3G and holes of two seconds in it does not fall behind, and what
// it says counts.
func TestTimedPhoneOnASlowLine(t *testing.T) {
	clocktest.Punctual(t, stalled, func(t testing.TB) {
		host, room := makeRoom(t, serve(t), "lease-expiry")
		line, through := newBadLine(t, room)
		line.Slow()
		phone := join(host, t, through, "")
		_ = get[bool](phone, t, noteLosses)
		do(host, t, chromedp.KeyEvent(kb.ArrowRight))
		until(phone, t, classAt+` === "The class is at T1."`)

		// The class goes on while it hears nothing.
		line.StallFor(stalled)
		for _, step := range []string{"T2", "T3"} {
			do(host, t, chromedp.KeyEvent(kb.ArrowRight))
			until(host, t, stands+` === "`+step+`"`)
		}
		do(host, t, chromedp.KeyEvent("a"))
		until(phone, t, `document.querySelector('[data-vote]') !== null && `+classAt+` === "The class is at T3."`)

		// Anything it says while nobody hears it arrives later, once.
		line.StallFor(stalled)
		do(phone, t, click(`[data-vote="1"]`), click(`[data-vote="0"]`))
		if got := get[string](phone, t, votedFor); got != "0" {
			t.Errorf("voted for %q before the answer", got)
		}
		until(host, t, votes+` === "1 of 1 voted"`)
		do(host, t, chromedp.KeyEvent("r"))
		until(phone, t, `document.querySelector(".options .bar, .options .count") !== null`)
		if n := get[int](phone, t, `losses`); n != 0 {
			t.Errorf("a stall of %v was called a loss, %d times", stalled, n)
		}
	})
}

// A phone is cut off after the server has heard its press, and before it hears
// the answer. It comes back by itself, and the press counts once.
func TestAPhoneIsCutOff(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	line, through := newBadLine(t, room)
	phone := join(host, t, through, "A")
	me := get[string](phone, t, `document.getElementById("me").textContent`)
	line.Stall(down)
	do(phone, t, click(`[data-step="A"]`))
	until(host, t, stands+` === "T1"`)
	line.Cut()
	until(phone, t, lost+` && document.getElementById("problem").textContent.startsWith("The connection is lost")`)
	line.Pass(down)
	line.Mend()
	until(phone, t, `!`+lost+` && document.getElementById("problem").hidden && `+classAt+` === "The class is at T1."`)
	if got := get[string](phone, t, `document.getElementById("me").textContent`); got != me {
		t.Errorf("%q came back as %q", me, got)
	}
	// The next event shows that it was not done again.
	do(phone, t, click(`[data-mine="A"] [data-do="pause"]`))
	until(host, t, `document.querySelectorAll("#rows tr[id]").length === 2`)
}

// While a phone is locked its page stands still, and its network goes. Unlocked,
// it is where the class is.
func TestAPhoneIsLockedAndUnlocked(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	line, through := newBadLine(t, room)
	phone := join(host, t, through, "B")
	until(host, t, `document.querySelector('[data-cast="B"] [data-by]').textContent !== ""`)
	there := get[string](host, t, members)
	for _, network := range []struct {
		is   string
		goes func()
	}{
		{"there", func() {}},
		{"gone", line.Lose},
	} {
		// In a minute, for the page.
		_ = get[bool](phone, t, `(() => { const now = performance.now.bind(performance); performance.now = () => now() + 60000; return true; })()`)
		lifecycle(phone, t, page.SetWebLifecycleStateStateFrozen)
		network.goes()
		before := get[string](host, t, stands)
		do(host, t, chromedp.KeyEvent(kb.ArrowRight))
		until(host, t, stands+` !== "`+before+`"`)
		step := get[string](host, t, stands)
		if got := get[string](phone, t, classAt); strings.Contains(got, step) {
			t.Fatalf("the page goes on while it is locked: %s", got)
		}
		lifecycle(phone, t, page.SetWebLifecycleStateStateActive)
		unseen(phone, t, `!`+lost+` && `+classAt+` === "The class is at `+step+`."`)
		until(host, t, members+` === "`+there+`"`)
	}
	// The member is the same, and plays what it did.
	unseen(phone, t, `document.querySelector('[data-mine="B"]').checkVisibility()`)
}
