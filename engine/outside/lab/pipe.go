package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"relock/engine/trace"
)

// Desk is a lab in which somebody decides: a *Steering, or a Remote, whose lab is
// another process. Its methods are safe for concurrent use, and work like Steering's.
type Desk interface {
	Changed() <-chan struct{}
	Look() Look
	Track(title string) (Track, error)
	Decide(ctx context.Context, d Decision) error
	Again(ctx context.Context, way []Decision) error
	Search(ctx context.Context, in Bounds, progress func(orders, waiting, broken int)) (Tried, error)
	Close()
}

// The verbs of a line to a lab.
const (
	doDecide = "decide"
	doAgain  = "again"
	doSearch = "search"
	doStop   = "stop" // what is being searched
	doNews   = "news" // from then on tell only what is new of the order and the track
)

// asked is a line to a lab.
type asked struct {
	ID       int        `json:"id"`
	Do       string     `json:"do"`
	Decision *Decision  `json:"decision,omitempty"`
	Order    []Decision `json:"order,omitempty"`
	Bounds   *Bounds    `json:"space,omitempty"`
}

// answered is a line from a lab: its state, or the outcome of a request.
type answered struct {
	Look     *Look      `json:"look,omitempty"`
	Track    *trackJSON `json:"track,omitempty"` // where it is another one
	Since    *since     `json:"since,omitempty"` // of news
	Re       int        `json:"re,omitempty"`
	Done     bool       `json:"done,omitempty"`
	Refused  *refused   `json:"refused,omitempty"`
	Progress *[3]int    `json:"progress,omitempty"` // orders, waiting, broken
	Tried    *Tried     `json:"tried,omitempty"`
}

// trackJSON is a track on its way to another process.
type trackJSON struct {
	Track

	Header *trace.Header     `json:"header,omitempty"` // with the order, unless it is news; nil: the one before
	Owners map[string]string `json:"owners,omitempty"` // that have joined since
}

// since is how much of each list earlier lines had: the rest follows.
type since struct {
	Order  int `json:"order"`
	After  int `json:"after"`
	Events int `json:"events"`
}

// refused is an error on its way to another process.
type refused struct {
	Kind      string       `json:"kind,omitempty"` // of sameErrors
	Says      string       `json:"says"`
	Roundless string       `json:"roundless,omitempty"`
	Diverged  *Divergence  `json:"diverged,omitempty"`
	Worker    *WorkerError `json:"worker,omitempty"`
}

// sameErrors are, by kind, the errors without values that are the same at both ends of the pipe.
var sameErrors = map[string]error{"no-choice": ErrNoChoice, "steering": ErrSteering, "nobody": ErrNobody, "too-long": ErrTooLong, "closed": errClosed}

func refusalOf(err error) *refused {
	r := &refused{Says: err.Error()}
	var roundless *RoundlessError
	var diverged *DivergedError
	switch {
	case errors.As(err, &roundless):
		r.Roundless = roundless.Thread
	case errors.As(err, &diverged):
		r.Diverged = &diverged.Divergence
	default:
		errors.As(err, &r.Worker)
	}
	for kind, one := range sameErrors {
		if errors.Is(err, one) {
			r.Kind = kind
		}
	}
	return r
}

func (r *refused) err() error {
	switch {
	case r.Roundless != "":
		return &RoundlessError{r.Roundless}
	case r.Diverged != nil:
		return &DivergedError{*r.Diverged}
	case r.Worker != nil:
		return r.Worker
	}
	if one := sameErrors[r.Kind]; one != nil {
		return one
	}
	return errors.New(r.Says)
}

// Serve reads commands that steer a lab from in, and writes JSON Lines to out: the
// open decisions, the round so far as a trace, or the answer to a command. It ends
// with in, or with ctx.
func Serve(ctx context.Context, t *Steering, title string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	var works sync.WaitGroup
	defer works.Wait()
	defer stop()
	var mu sync.Mutex
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	say := func(a answered) {
		mu.Lock()
		defer mu.Unlock()
		if enc.Encode(a) != nil {
			stop() // nobody reads
		}
	}
	stands := &reporter{t: t, title: title, say: say}
	answer := func(a answered) {
		stands.report() // first: what was asked has changed that
		say(a)
	}
	works.Go(func() { stands.follow(ctx) })
	halt := func() {}
	var searches sync.WaitGroup
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() && ctx.Err() == nil {
		var a asked
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			say(answered{Refused: refusalOf(errors.New("that is no line for a lab: one JSON object with id and do"))})
			continue
		}
		var err error
		switch {
		case a.Do == doDecide && a.Decision != nil:
			err = t.Decide(ctx, *a.Decision)
		case a.Do == doAgain:
			err = t.Again(ctx, a.Order)
		case a.Do == doStop:
			halt()
			searches.Wait()
		case a.Do == doNews:
			stands.onlyNews()
		case a.Do == doSearch && a.Bounds != nil:
			within, cancel := context.WithCancel(ctx)
			halt = cancel
			searches.Go(func() {
				defer cancel()
				answer(t.searched(within, a, say))
			})
			continue
		default:
			err = fmt.Errorf("a lab does not know %.40q; allowed: %s", a.Do, strings.Join([]string{doDecide, doAgain, doSearch, doStop, doNews}, ", "))
		}
		if err != nil {
			answer(answered{Re: a.ID, Refused: refusalOf(err)})
		} else {
			answer(answered{Re: a.ID, Done: true})
		}
	}
	stop()
	searches.Wait()
	if err := lines.Err(); err != nil {
		return fmt.Errorf("lab: read what is asked: %w", err)
	}
	return nil
}

// searched tries every order as was asked, and returns the answer.
func (t *Steering) searched(ctx context.Context, a asked, say func(answered)) answered {
	tried, err := t.Search(ctx, *a.Bounds, seldom(func(orders, waiting, broken int) {
		say(answered{Re: a.ID, Progress: &[3]int{orders, waiting, broken}})
	}))
	if err != nil {
		return answered{Re: a.ID, Refused: refusalOf(err)}
	}
	return answered{Re: a.ID, Tried: &tried, Done: true}
}

// seldom passes progress on ten times a second.
func seldom(tell func(orders, waiting, broken int)) func(int, int, int) {
	last := time.Time{}
	return func(orders, waiting, broken int) {
		if now := time.Now(); now.Sub(last) >= 100*time.Millisecond {
			last = now
			tell(orders, waiting, broken)
		}
	}
}

// reporter reports the state of a lab. It is safe for concurrent use.
type reporter struct {
	t     *Steering
	title string
	say   func(answered)

	mu    sync.Mutex
	news  bool // only what is new
	look  Look // that it reported last
	track Track
}

func (r *reporter) onlyNews() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news = true
}

// report reports the lab's state now, with the track if that is another one.
func (r *reporter) report() {
	r.mu.Lock()
	defer r.mu.Unlock()
	look := r.t.Look()
	was, a := r.look, answered{Look: &look}
	r.look = look
	if r.news {
		a.Since = &since{}
		if look.Rounds == was.Rounds {
			a.Since.Order = len(was.Order)
			look.Order = look.Order[len(was.Order):]
		}
	}
	if !look.Busy {
		a.Track = r.newer(a.Since)
	}
	r.say(a)
}

// newer returns the track if it is another one, ready to report.
func (r *reporter) newer(news *since) *trackJSON {
	track, err := r.t.Track(r.title)
	was, n := r.track, len(r.track.Events)
	same := track.Telling == was.Telling
	if err != nil || len(track.After) != len(r.look.Order)+1 || same && len(track.Events) == n && len(track.After) == len(was.After) && track.Over == was.Over {
		return nil // or it is of another instant, and comes again
	}
	r.track = track
	out := &trackJSON{Track: track, Header: &track.Header}
	switch {
	case news == nil:
		h, err := Ordered(track.Header, r.look.Order)
		if err != nil {
			return nil
		}
		out.Header = &h
	case same:
		news.After, news.Events = len(was.After)-1, n // the last place has changed
		out.Header, out.Events, out.After = nil, track.Events[n:], track.After[news.After:]
		if len(track.Header.Owners) > len(was.Header.Owners) {
			out.Owners = map[string]string{}
			for id, thread := range track.Header.Owners {
				if was.Header.Owners[id] == "" {
					out.Owners[id] = thread
				}
			}
		}
	}
	return out
}

// follow reports whenever something has changed, until ctx ends.
func (r *reporter) follow(ctx context.Context) {
	for {
		changed := r.t.Changed()
		r.report()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Remote is a lab in another process, so that what its clients do to Redis cannot harm
// this one. It is safe for concurrent use.
type Remote struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when the process has ended

	mu      sync.Mutex
	look    Look
	track   Track
	changed chan struct{}
	last    int
	under   map[int]*call
	err     error // why it is gone
}

// call is what was asked, and not answered yet.
type call struct {
	answer   chan answered
	progress func(orders, waiting, broken int)
}

// Start starts a process that serves a lab on its standard input and output, and waits
// until it can be steered. It fails if the process does not start. Close ends it.
func Start(ctx context.Context, cmd *exec.Cmd) (*Remote, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	words := &tail{}
	cmd.Stderr = words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("lab: start it: %w", err)
	}
	r := &Remote{cmd: cmd, in: in, gone: make(chan struct{}), changed: make(chan struct{}), under: map[int]*call{}}
	ready := make(chan struct{})
	go r.read(out, ready, words)
	select {
	case <-ready:
		if _, err := r.ask(ctx, asked{Do: doNews}, nil); err != nil {
			r.Close()
			return nil, err
		}
		return r, nil
	case <-r.gone:
		return nil, r.err
	case <-ctx.Done():
		r.Close()
		return nil, fmt.Errorf("lab: start it: %w", context.Cause(ctx))
	}
}

// read takes what the process says, until it ends.
func (r *Remote) read(out io.Reader, ready chan struct{}, words *tail) {
	defer close(r.gone)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	first := true
	for lines.Scan() {
		var a answered
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			break
		}
		r.take(a)
		if first && a.Look != nil {
			first = false
			close(ready)
		}
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	err := r.cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = fmt.Errorf("lab: its process has ended: %w: %s", errors.Join(err, lines.Err()), words.String())
	for id, c := range r.under {
		close(c.answer)
		delete(r.under, id)
	}
	r.tell()
}

func (r *Remote) take(a answered) {
	r.mu.Lock()
	c := r.under[a.Re]
	if a.Progress != nil {
		r.mu.Unlock()
		if c != nil && c.progress != nil {
			c.progress(a.Progress[0], a.Progress[1], a.Progress[2])
		}
		return
	}
	defer r.mu.Unlock()
	switch {
	case a.Look != nil:
		r.learn(a)
		r.tell()
	case c != nil:
		delete(r.under, a.Re)
		c.answer <- a
	}
}

// learn takes over the lab's state. The caller holds mu.
func (r *Remote) learn(a answered) {
	look, had := *a.Look, since{}
	if a.Since != nil {
		had = *a.Since
	}
	look.Order = grown(r.look.Order, had.Order, look.Order)
	r.look = look
	if a.Track == nil {
		return
	}
	was, track := r.track, a.Track.Track
	track.Events, track.After = grown(was.Events, had.Events, track.Events), grown(was.After, had.After, track.After)
	if a.Track.Header != nil {
		track.Header = *a.Track.Header
	} else {
		track.Header = was.Header
		if len(a.Track.Owners) > 0 {
			track.Header.Owners = maps.Clone(was.Header.Owners)
			maps.Copy(track.Header.Owners, a.Track.Owners)
		}
	}
	r.track = track
}

// grown is a list with n things from before, and more. Others may read the one before.
func grown[T any](list []T, n int, more []T) []T {
	if n < len(list) {
		list = slices.Clip(list[:n])
	}
	return append(list, more...)
}

// tell wakes all waiters. The caller holds mu.
func (r *Remote) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// ask asks the process, and waits for its answer.
func (r *Remote) ask(ctx context.Context, a asked, progress func(orders, waiting, broken int)) (answered, error) {
	c := &call{make(chan answered, 1), progress}
	r.mu.Lock()
	r.last++
	a.ID = r.last
	text, err := json.Marshal(a)
	if err == nil && r.err != nil {
		err = r.err
	}
	if err == nil {
		r.under[a.ID] = c
		_, err = r.in.Write(append(text, '\n'))
	}
	r.mu.Unlock()
	if err != nil {
		return answered{}, fmt.Errorf("lab: ask it: %w", err)
	}
	select {
	case got, ok := <-c.answer:
		switch {
		case !ok:
			return answered{}, r.Err()
		case got.Refused != nil:
			return answered{}, got.Refused.err()
		}
		return got, nil
	case <-ctx.Done():
		return answered{}, fmt.Errorf("lab: ask it: %w", context.Cause(ctx))
	}
}

// Err returns why the lab is gone, nil while it is there.
func (r *Remote) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Gone is closed when the process has ended.
func (r *Remote) Gone() <-chan struct{} { return r.gone }

// Changed implements Desk.
func (r *Remote) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Look implements Desk.
func (r *Remote) Look() Look {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.look
}

// Track implements Desk. The title is the one that the process has.
func (r *Remote) Track(string) (Track, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.track, r.err
}

// Decide implements Desk.
func (r *Remote) Decide(ctx context.Context, d Decision) error {
	_, err := r.ask(ctx, asked{Do: doDecide, Decision: &d}, nil)
	return err
}

// Again implements Desk.
func (r *Remote) Again(ctx context.Context, way []Decision) error {
	_, err := r.ask(ctx, asked{Do: doAgain, Order: way}, nil)
	return err
}

// Search implements Desk.
func (r *Remote) Search(ctx context.Context, in Bounds, progress func(orders, waiting, broken int)) (Tried, error) {
	stop := context.AfterFunc(ctx, func() { _, _ = r.ask(context.WithoutCancel(ctx), asked{Do: doStop}, nil) })
	defer stop()
	got, err := r.ask(context.WithoutCancel(ctx), asked{Do: doSearch, Bounds: &in}, progress)
	if err != nil {
		return Tried{}, err
	}
	if got.Tried == nil {
		return Tried{}, errors.New("lab: a search without an end")
	}
	return *got.Tried, nil
}

// Close ends the process, and waits for its end.
func (r *Remote) Close() {
	_ = r.in.Close()
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	<-r.gone
}
