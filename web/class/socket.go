package class

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/wire"
	"relock/web/stepper"
	"relock/web/words"
)

// Socket serves a member of a room.
func (s *Pages) Socket(w http.ResponseWriter, r *http.Request) error {
	found, err := s.roomOf(r)
	if err != nil {
		return err
	}
	g := &guest{}
	if err := s.Upgrader.Upgrade(&g.conn, w, r); err != nil {
		return nil // Upgrade has answered
	}
	s.visits.Add(1)
	defer s.visits.Done()
	defer s.Count.Socket(shell.RoomSocket)()
	ctx, gone := context.WithCancel(r.Context())
	l := words.From(r.Context())
	g.s, g.l, g.room, g.address = s, l, found, site.Address(r)
	if !r.URL.Query().Has("embedded") {
		g.secret = site.Cookie(r, hostCookie(found.Code()))
	}
	g.answers, g.shown, g.reading, g.telling = make(chan *roomAnswer, stepper.Waiting), map[int]int{}, s.Turns.Seat(g.address), s.Turns.Seat(g.address)
	g.reader = g.newReader(ctx)
	found.Enter(&g.client, l.Code(), g.address, g)
	defer g.reader.Forget()
	defer context.AfterFunc(ctx, g.client.Ring)()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer gone()
		s.Guarded(ctx, site.OfRoom, func() {
			err := g.conn.Read(ctx, board.MaxCommand, func(text []byte) { g.received(ctx, text) })
			s.ReadTo(r, err)
		})
	}()
	defer func() { <-read }()
	defer g.conn.Close()
	defer g.client.Leave()
	defer gone()
	told := false
	served := s.Guarded(ctx, site.OfRoom, func() {
		if why := g.serve(ctx); why != 0 {
			told = g.conn.End(int(why))
		}
	})
	if !served {
		told = g.conn.Goodbye(wire.CloseBroken, wire.Notice{
			V: 1, Broken: true, Refused: l.Say("A bug in this program has ended your connection to the room. It was logged. Reload the page to come back."),
		})
	}
	gone()
	if told {
		g.conn.Part(read)
	}
	return nil
}

// received hands on a command, or answers it at once.
func (g *guest) received(ctx context.Context, text []byte) {
	c, own, err := g.take(ctx, text)
	switch {
	case ctx.Err() != nil:
		return
	case own != nil: // who does not read answers waits without a turn
		g.reply(ctx, *own)
		return
	case err == nil:
		began := time.Now()
		err = g.client.Give(ctx, c)
		g.s.Meter.Command(shell.RoomSocket, time.Since(began))
	}
	if err != nil {
		g.judged.Delete(c.ID)
		g.reply(ctx, roomAnswer{Re: c.ID, Refused: g.s.stepping.Explained(ctx, g.l, c.Do, err)})
	}
}

// take reads a command in the visitor's turn. It returns the answer, if the room
// has nothing to do with it.
func (g *guest) take(ctx context.Context, text []byte) (c board.Command, own *roomAnswer, err error) {
	if err := g.reading.Take(ctx); err != nil {
		return c, nil, err
	}
	defer g.reading.Done()
	if c, err = board.ParseCommand(board.Class, text); err != nil {
		return c, nil, cmp.Or(g.reader.Allows(c.Do), err)
	}
	switch c.Do {
	case board.DoPing:
		own = &roomAnswer{Re: c.ID, Done: true}
	case board.DoExample, board.DoWalk:
		err = panics.Catch(func() error {
			way, err := g.reader.Way(ctx, c)
			if err == nil {
				c = way
			}
			return err
		})
	case board.DoWrite:
		err = panics.Catch(func() error { return g.judge(pause.With(ctx, g.reading), &c) })
	case board.DoJoin:
		leads := c.Part == board.Host || c.Part == board.Stage
		if leads && c.Secret == "" {
			c.Secret = g.secret
		}
		if !g.client.Joined() {
			g.rows, g.page, g.leads = c.Rows, c.Scene, leads && hosts(g.room, c.Secret)
		}
	default:
		own, err = g.read(pause.With(ctx, g.reading), c)
	}
	return c, own, err
}

// read answers a command that the room has nothing to do with; nil if it has.
func (g *guest) read(ctx context.Context, c board.Command) (own *roomAnswer, err error) {
	err = panics.Catch(func() error {
		_, err := g.reader.Answer(ctx, c, func(f stepper.Answered) error {
			own = &roomAnswer{Re: c.ID, Done: true, Answered: f}
			return nil
		})
		return err
	})
	return own, err
}

// newReader returns what answers the member's questions about branches.
func (g *guest) newReader(ctx context.Context) *stepper.Reader {
	return &stepper.Reader{
		Sockets: g.s.stepping, Language: g.l, Context: ctx, Seat: g.reading, Address: g.address, Ends: site.OfRoom, May: g.may, Look: g.look,
		Film: func(sc *scenario.Scenario, b *board.Track) *film.Film {
			f := film.New(g.l, sc, b.Header.Owners)
			for _, e := range b.Events {
				f.Add(e)
			}
			return f
		},
		Lanes: func(branch, row int) (string, error) {
			var drawn *drawing
			err := g.room.Look(func(v board.View) (err error) {
				drawn, err = drawingOf(g.l, v, branch, row, g.asked(v))
				return err
			})
			if err != nil {
				return "", err
			}
			return drawn.html(g.l)
		},
		Tell: func(x *stepper.Exploration, found stepper.Told) error {
			g.reply(ctx, roomAnswer{Told: found, search: x})
			return nil
		},
	}
}

// serve sends the news, until the connection ends. It returns why it must be closed, or
// 0. A slow client gets the newest state next, not everything that it missed.
func (g *guest) serve(ctx context.Context) board.Closing {
	for range g.client.Bell() {
		if over, why := g.deliver(ctx); over {
			return why
		}
	}
	return 0 // a bell has no end
}

// deliver sends what there is to be told now. It reports whether the connection
// ends, and why it must be closed, or 0.
func (g *guest) deliver(ctx context.Context) (over bool, why board.Closing) {
	g.sending.Lock()
	defer g.sending.Unlock()
	if ctx.Err() != nil || g.conn.Flush() != nil || g.answer() != nil {
		return true, 0
	}
	news := g.client.News()
	// The outcome of a command is shown before its answer. Frames are for
	// members: a join is answered first.
	joins := slices.IndexFunc(news.Answers, func(a board.Answer) bool { return a.Joined == nil })
	if joins < 0 || news.Closing != 0 {
		joins = len(news.Answers)
	}
	if g.tell(news, news.Answers[:joins]) != nil {
		return true, 0
	}
	if news.Closing == board.Over && g.farewell(ctx) != nil {
		return true, 0
	}
	if news.Closing != 0 {
		return true, news.Closing
	}
	if news.Changed && g.show(ctx, news) != nil {
		return true, 0
	}
	return g.tell(news, news.Answers[joins:]) != nil, 0
}

// Cast implements board.Caster: it sends a frame of the room from the goroutine that tells
// all members, if serve does not have to.
func (g *guest) Cast(news *board.News) bool {
	if !g.sending.TryLock() {
		return false
	}
	defer g.sending.Unlock()
	frame := g.ready(news)
	if frame == nil {
		return false
	}
	taken, left := g.conn.Try(frame)
	if left {
		g.client.Ring() // serve sends it
	}
	return taken
}

// ready returns the frame that all get of a change, nil if the page needs more.
func (g *guest) ready(news *board.News) *wire.Frame {
	current := g.page == nil || *g.page == news.Scene
	made, ok := news.Frame.(nowFrame)
	if !ok || g.rows || !current || g.lacks(made.sheet) {
		return nil
	}
	return made.Frame
}

// lacks reports whether the member has a page, and that has not this sheet. Without a
// question it needs none.
func (g *guest) lacks(sheet sheetKey) bool {
	return sheet.question > 0 && sheet != g.sheet && (g.rows || g.page != nil)
}

// tell sends answers of the room.
func (g *guest) tell(news board.News, answers []board.Answer) error {
	for _, a := range answers {
		answer := g.worded(a)
		answer.Removed = news.Closing == board.Removed && a.Refused != ""
		if err := g.send(answer); err != nil {
			return err
		}
	}
	return nil
}

// answer sends the answers that wait.
func (g *guest) answer() error {
	for {
		select {
		case a := <-g.answers:
			if a.search != nil && a.search.IsForgotten() {
				continue
			}
			if err := g.send(*a); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (g *guest) worded(a board.Answer) roomAnswer {
	out := roomAnswer{Re: a.ID, Refused: a.Refused, Done: a.Refused == ""}
	if j := a.Joined; j != nil {
		out.Member, out.Token, out.Part, out.Last, out.Mine, out.Script, out.Lost = j.Member, j.Token, j.Part, j.Last, j.Mine, j.Script, j.Lost
		out.Doubts = j.Doubts
		out.Name = board.Nickname(j.Name, g.l.Code())
	}
	if told, ok := g.judged.LoadAndDelete(a.ID); ok && a.Refused == "" {
		out.Judged = told.(*judgedScript)
	}
	if a.Renamed != nil {
		out.Name = board.Nickname(*a.Renamed, g.l.Code())
	}
	return out
}

func (g *guest) send(a roomAnswer) error {
	a.V = 1
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return g.conn.Text(text)
}

// farewell sends what one takes home from a room that has ended: nothing of it
// can be asked for afterwards.
func (g *guest) farewell(ctx context.Context) error {
	var frame *wire.Frame
	if err := g.telling.Take(ctx); err != nil {
		return err
	}
	defer g.telling.Done()
	key := "farewell/" + g.l.Code()
	err := g.room.Look(func(v board.View) error {
		made, ok := v.Kept[key].(*wire.Frame)
		if !ok {
			list, err := linked(g.l, v, false)
			if err != nil {
				return err
			}
			if made, err = prepared(farewellJSON{V: 1, Branches: list}); err != nil {
				return err
			}
			v.Kept[key] = made
		}
		frame = made
		return nil
	})
	g.telling.Done()
	if err != nil {
		return err
	}
	return g.conn.Batch(frame, nil)
}

// farewellJSON is the last frame of a room that has ended.
type farewellJSON struct {
	V        int            `json:"v"`
	Branches []linkedBranch `json:"branches"`
}

// show sends the film as far as it lacks, and then the room as it is. It fails
// if the page cannot be reached.
func (g *guest) show(ctx context.Context, news board.News) error {
	if made := g.ready(&news); made != nil {
		return g.conn.Batch(made, nil)
	}
	var frames []*wire.Frame
	ended := false
	if err := g.telling.Take(ctx); err != nil {
		return err
	}
	defer g.telling.Done()
	err := g.room.Look(func(v board.View) error {
		if n := len(v.State.Earlier); g.page != nil && *g.page != n {
			set, err := setFrame(g.l, v)
			if err != nil {
				return err
			}
			frames, g.page = append(frames, set), &n
		}
		if g.rows {
			missing, err := g.film(v)
			if err != nil {
				ended = v.Context.Err() != nil
				return err
			}
			frames = append(frames, missing...)
		}
		if sheet := sheetOf(v); g.lacks(sheet) {
			frame, err := g.s.frames.sheetFrame(v.Context, g.l, v)
			if err != nil {
				return err
			}
			frames, g.sheet = append(frames, frame), sheet
		}
		now, err := v.Frame(news.Sees)
		ended = v.Context.Err() != nil
		if err == nil {
			frames = append(frames, now.(nowFrame).Frame) // as roomNowFrame makes them
		}
		return err
	})
	g.telling.Done()
	switch {
	case ended:
		return nil // why is the next news
	case err != nil:
		panic(err) // what is in the log can be shown
	}
	for _, f := range frames {
		if err := g.conn.Batch(f, nil); err != nil {
			return err
		}
	}
	return nil
}

// film returns the frames that the page lacks.
func (g *guest) film(v board.View) ([]*wire.Frame, error) {
	var frames []*wire.Frame
	film := filmOf(g.l, v)
	if scenes := len(v.State.Earlier) + 1; g.opened < scenes {
		g.reader.Abandon()
		first, err := film.opening(g.s.stepping, v)
		if err != nil {
			return nil, err
		}
		frames, g.opened = append(frames, first), scenes
		clear(g.shown) // what was shown is of another scenario
	}
	for id := range g.shown {
		if v.State.Branch(id) == nil {
			delete(g.shown, id)
			frame, err := prepared(stepper.Frame{V: 1, Dropped: &id})
			if err != nil {
				return nil, err
			}
			frames = append(frames, frame)
		}
	}
	guesses := g.asked(v)
	if guesses {
		g.reader.Abandon()
	}
	for _, b := range v.State.Branches {
		end := len(b.Moves) + 1
		if guesses { // what comes after the question's place may be what is asked
			end = v.State.Asked(b) + 1
		}
		from, there := g.shown[b.ID]
		if !there && b.Parent >= 0 && g.shown[b.Parent] > 0 {
			from = min(b.Fork+1, end)
		}
		if there && from >= end {
			continue
		}
		more, err := film.parts(v, b, from, end)
		if err != nil {
			return nil, err
		}
		frames = append(frames, more...)
		g.shown[b.ID] = end
	}
	return frames, nil
}
