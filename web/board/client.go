package board

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/phrase"
)

// Closing is why a connection ends.
type Closing int

// The reasons, as close codes of the websocket.
const (
	Restarts  Closing = 1001 // the server ends; come back
	Removed   Closing = 4041 // the host has removed the member
	Over      Closing = 4042 // the room has ended
	Elsewhere Closing = 4043 // the member has joined by another connection
)

// ErrUnreached says that a request may not have been handed on. The caller can give
// the same command again: it counts once.
var ErrUnreached = phrase.New("the room cannot be reached now; try again")

// Client is a member's connection to this server, once it has entered a room. Its methods
// can be called by any goroutine.
type Client struct {
	room *Room
	conn string
	bell chan struct{} // of capacity 1

	// Guarded by the room's mutex.
	sees    Sight
	member  string // "" before it has joined
	joining bool
	token   string // what it joins with
	fresh   string // the token of a new member, the same if the join is given again
	from    string

	mu   sync.Mutex // its own, so that a thousand who hear at once do not wait for each other; taken last
	news News

	// Last, so that they are beside what the caster has: between two members' frames both
	// have to come from memory.
	has    atomic.Bool // news
	caster Caster      // nil if there is none
}

// Caster sends a change of the room at once.
type Caster interface {
	// Cast reports false if the change is to be in the News. It must not wait, or keep the
	// News.
	Cast(*News) bool
}

// Sight is what a member's frames depend on: members with the same sight get the
// same frame.
type Sight struct {
	Lang string // a language's code
	Host bool
}

// Answer is the result of a command.
type Answer struct {
	ID      int64
	Refused string  // why it was not done, or ""
	Joined  *Joined // of a join that was done
	Renamed *int    // the nickname that was drawn
}

// Joined is what a member needs to know to come back.
type Joined struct {
	Member string
	Token  string
	Part   Part
	Name   int
	Last   int64  // the greatest ID of a command that was decided
	Mine   *int   // the member's vote, if something is asked
	Script string // and the script, if the class writes one
	Lost   bool   // the member has said so
	Doubts int    // the question that they find wrong, 0 for none
}

// Enter connects c, which must be new and has not joined yet, from an address; "" for one
// that does not count. Leave ends it. Each change of the room is first offered to the
// caster, if that is not nil, as long as nothing else is in the News: nobody has to be
// woken for what can be sent at once.
func (r *Room) Enter(c *Client, lang, address string, caster Caster) {
	h := r.house
	h.mu.Lock()
	h.conns++
	conn := h.c.Journal.Server() + "/" + strconv.Itoa(h.conns)
	h.mu.Unlock()
	c.room, c.conn, c.from, c.sees, c.bell, c.caster = r, conn, r.from(address), Sight{Lang: lang}, make(chan struct{}, 1), caster
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[conn] = c
	if r.over != 0 {
		c.end(r.over)
	}
}

// from is what the room keeps of an address: other rooms keep something else.
func (r *Room) from(address string) string {
	if address == "" {
		return ""
	}
	return Proof(r.code + " " + address)[:16]
}

// leaveLimit is how long it may take to tell the room who has left.
const leaveLimit = 5 * time.Second

// Leave ends the connection, and tells the room.
func (c *Client) Leave() {
	r := c.room
	r.mu.Lock()
	delete(r.clients, c.conn)
	r.members = nil
	if r.rest != nil {
		r.used = time.Now()
	}
	if len(r.clients) == 0 && r.over == 0 {
		r.idle.Reset(idleAfter)
	}
	tell := c.member != "" && r.over == 0
	r.mu.Unlock()
	if !tell {
		return
	}
	ctx, done := context.WithTimeout(r.ctx, leaveLimit)
	defer done()
	// If this fails, nobody can reach the room: the next leader finds out who is there.
	_ = r.house.c.Journal.Send(ctx, r.code, Request{Conn: c.conn, Left: true})
}

// Bell rings when News has something, and when it is rung.
func (c *Client) Bell() <-chan struct{} { return c.bell }

// Ring wakes the listener of the bell.
func (c *Client) Ring() {
	select {
	case c.bell <- struct{}{}:
	default:
	}
}

// tell adds to the news.
func (c *Client) tell(add func(*News)) {
	c.mu.Lock()
	add(&c.news)
	c.has.Store(true)
	c.mu.Unlock()
	c.Ring()
}

// show tells of a change of the room.
func (c *Client) show(news *News) {
	if c.caster != nil && !c.has.Load() && c.caster.Cast(news) {
		return
	}
	c.tell(func(n *News) { n.Changed, n.Sees, n.Scene, n.Frame = true, news.Sees, news.Scene, news.Frame })
}

// answer gives an answer.
func (c *Client) answer(a Answer) {
	c.tell(func(n *News) { n.Answers = append(n.Answers, a) })
}

// end says that the connection is to end. The first reason counts.
func (c *Client) end(why Closing) {
	c.tell(func(n *News) {
		if n.Closing == 0 {
			n.Closing = why
		}
	})
}

// News is what has come for a client.
type News struct {
	Answers []Answer
	Changed bool    // the room, for somebody who has joined
	Sees    Sight   // of a change
	Scene   int     // of a change: the one that the class is in, of State.Scenes
	Frame   any     // of a change: what Config.Frame made of it, nil to ask View.Frame
	Closing Closing // why the connection is to end, or 0
}

// News returns what has come since the last call.
func (c *Client) News() News {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.news
	c.news = News{Closing: n.Closing}
	c.has.Store(n.Closing != 0)
	return n
}

// Joined reports whether the client's member has joined.
func (c *Client) Joined() bool {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.member != ""
}

// Member returns the ID of the client's member, "" before it has joined.
func (c *Client) Member() string {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.member
}

// Leads reports whether the client's member is a host.
func (c *Client) Leads() bool {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.member != "" && c.sees.Host
}

// Give hands on a command. Its answer is in the News. It fails with
// ErrUnreached, ErrNoRoom and ErrBusy, or if the command can be refused at
// once.
func (c *Client) Give(ctx context.Context, command Command) error {
	o := Request{Conn: c.conn, Command: command}
	known, err := c.prepare(&o)
	if err != nil || known {
		return err
	}
	err = c.room.house.c.Journal.Send(ctx, c.room.code, o)
	if err == nil {
		return nil
	}
	c.spare(o)
	if _, told := phrase.Of(err); !told {
		err = ErrUnreached
	}
	return err
}

// spare has a join that could not be handed on given again.
func (c *Client) spare(o Request) {
	if o.Command.Do == DoJoin {
		c.room.mu.Lock()
		defer c.room.mu.Unlock()
		c.joining = false
	}
}

// prepare fills in who makes the request. It reports whether the command was
// decided already; then its answer is in the News.
func (c *Client) prepare(o *Request) (known bool, err error) {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	command := &o.Command
	o.Lang = c.sees.Lang
	if command.Do == DoJoin {
		if c.member != "" || c.joining {
			return false, errJoined
		}
		c.joining, c.token = true, command.Token
		o.Secret, o.Token, o.From = Proof(command.Secret), Proof(command.Token), c.from
		if command.Member == "" {
			if c.fresh == "" {
				c.fresh = NewSecret()
			}
			c.token, o.Fresh = c.fresh, Proof(c.fresh)
		}
		command.Secret, command.Token = "", ""
		return false, nil
	}
	if c.member == "" {
		return false, ErrNotJoined
	}
	o.Member = c.member
	m := r.state.People[c.member]
	switch {
	case m != nil && command.ID <= m.Last:
		refused, err := m.outcome(command.ID)
		if err != nil {
			return false, err
		}
		c.answer(Answer{ID: command.ID, Refused: refused})
		return true, nil
	case m != nil && command.long() && m.Part != Host:
		return false, ErrNotHost // it may be long: nobody else has it carried about
	}
	return false, nil
}

// join takes in what became of a join. The caller holds the room's mutex.
func (c *Client) join(e Entry, s *State) *Joined {
	c.joining = false
	m := s.People[e.Member]
	if e.Refused != "" || m == nil {
		return nil
	}
	c.member, c.sees.Host = m.ID, m.Part == Host
	c.room.members = nil
	c.tell(func(n *News) { n.Changed, n.Sees = true, c.sees })
	j := &Joined{Member: m.ID, Token: c.token, Part: m.Part, Name: m.Name, Last: m.Last, Lost: m.Lost, Doubts: m.Doubts}
	if s.Question != nil {
		if option, voted := s.Question.Votes[m.ID]; voted {
			j.Mine, j.Script = &option, s.Question.Scripts[m.ID]
		}
	}
	return j
}
