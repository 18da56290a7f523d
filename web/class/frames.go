package class

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/course"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/site/wire"
	"relock/web/stepper"
	"relock/web/templates"
	"relock/web/words"
)

// prepared encodes a frame once for all who get it.
func prepared(frame any) (*wire.Frame, error) {
	text, err := runs.Line(frame)
	if err != nil {
		return nil, err
	}
	return wire.NewText(text), nil
}

// roomJSON is a frame of a room as it is now.
type roomJSON struct {
	V     int     `json:"v"`
	Epoch string  `json:"epoch"`
	Seq   int64   `json:"seq"`
	Room  roomNow `json:"room"`
}

// roomNow is a room as everybody sees it.
type roomNow struct {
	Code     string              `json:"code"`
	Title    string              `json:"title"`
	Scene    int                 `json:"scene"` // how many scenarios the class has gone through before
	Branch   int                 `json:"branch"`
	At       int                 `json:"at"`     // moves
	Length   int                 `json:"length"` // of the branch, in moves
	Row      int                 `json:"row"`
	Moment   int                 `json:"moment"`
	Focus    string              `json:"focus"`
	Says     string              `json:"says"`    // what happened in the row, "" at the start
	Why      string              `json:"why"`     // and why
	Stage    film.Stage          `json:"stage"`   // who believes what there, and what Redis says
	Broken   string              `json:"broken"`  // what a person calls the rule that the row breaks
	Going    *roomGoing          `json:"going"`   // null while nothing goes on by itself
	Over     bool                `json:"over"`    // the run has ended there
	Members  int                 `json:"members"` // players and audience who are here
	Branches []roomBranch        `json:"branches"`
	Threads  map[string]roomSeat `json:"threads"`
	Question *roomQuestion       `json:"question"`
	Locked   bool                `json:"locked"`
	Held     bool                `json:"held"`  // the host leads: players watch and vote
	Lobby    bool                `json:"lobby"` // the stages show how one joins
	Allowed  []string            `json:"allowed"`
	Veiled   bool                `json:"veiled"`   // the bars of a first vote are for hosts alone until the second
	Reserved bool                `json:"reserved"` // only hosts give threads
	Goal     *roomGoal           `json:"goal"`     // what the class is to break, null where it is nothing
	Awaits   bool                `json:"awaits"`   // the lesson is about to ask something here: nothing may show yet what comes
	Apart    bool                `json:"apart"`    // what is asked has nothing to do with the run
}

// roomGoal is an item of the course that has the class break something, and how
// far it is where it stands.
type roomGoal struct {
	Text string `json:"text"`
	course.Verdict
}

// roomGoing is a run that goes on by itself.
type roomGoing struct {
	Branch int    `json:"branch"`
	To     string `json:"to"`
	Thread string `json:"thread"` // whose outcome, or ""
}

type roomBranch struct {
	ID     int `json:"id"`
	Parent int `json:"parent"`
	Fork   int `json:"fork"`
	Length int `json:"length"`
}

type roomSeat struct {
	By      []string       `json:"by"` // nicknames
	Members []string       `json:"members"`
	Away    int            `json:"away"` // of them, not connected
	Wishes  map[string]int `json:"wishes"`

	Wished map[string]string `json:"wished,omitempty"` // by member
	Wait   float64           `json:"wait"`             // seconds until the table's wish is done
	Tied   bool              `json:"tied"`
	Next   string            `json:"next"`
	Why    string            `json:"why"` // it cannot move now, "" where it can
	Armed  string            `json:"armed"`
	Dog    bool              `json:"watchdog"` // its watchdog could move now
	Knows  string            `json:"knows"`    // what came of its last call, and what it does now
	Belief int               `json:"belief"`   // levels that it acts as if it held
}

type roomQuestion struct {
	ID      int      `json:"id"`
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
	Votes   int      `json:"votes"`
	Of      int      `json:"of"`
	Round   int      `json:"round"`
	Closed  bool     `json:"closed"`
	Counts  []int    `json:"counts"` // null until the votes are revealed
	Right   *int     `json:"right"`  // null until then, and until the host tells where few were right
	Before  []int    `json:"before"` // of the first round, null before the second
	Advice  string   `json:"advice"`
	Talk    bool     `json:"talk"`   // and vote again: who is right is not shown yet
	Left    float64  `json:"left"`   // seconds that the host gives it, 0 without a clock and when they are over
	Veiled  bool     `json:"veiled"` // counts and before are for hosts alone: others have null

	// Of the kind write, until the votes are revealed.
	Call  string `json:"call,omitempty"`  // whose script the class writes
	Start string `json:"start,omitempty"` // what it begins with
}

// roomPerson is one of the people in a room. Hosts have a list of them in its
// frames.
type roomPerson struct {
	Member  string     `json:"member"`
	Name    string     `json:"name"`
	Part    board.Part `json:"part"`
	Here    bool       `json:"here"`
	Removed bool       `json:"removed"`
	Threads []string   `json:"threads"`
}

// nowFrames makes frames of rooms as they are now.
type nowFrames struct {
	course func() *course.Course
	sheet  Sheets
}

// nowFrame is one, and which sheet belongs to it.
type nowFrame struct {
	*wire.Frame

	sheet sheetKey
}

// sheetKey says which sheet a page has beside the question, if any: that of an item of
// the course, with what is right or without it.
type sheetKey struct {
	question int // 0 for none
	told     bool
}

// sheetOf is the sheet of a room now. What is right is on it once everybody may know.
func sheetOf(v board.View) sheetKey {
	if q := v.State.Question; q != nil && q.Item != "" {
		return sheetKey{q.ID, !covered(v)}
	}
	return sheetKey{}
}

// sheetJSON is a frame with a sheet, before the first frame of the room that it belongs to.
type sheetJSON struct {
	V     int       `json:"v"`
	Sheet roomSheet `json:"sheet"`
}

type roomSheet struct {
	Question int    `json:"question"`
	HTML     string `json:"html"`  // before the question
	After    string `json:"after"` // once all may know what is right, HTML, too
}

// madeSheet is a sheet's frame, kept as long as it is the room's.
type madeSheet struct {
	sheetKey

	frame *wire.Frame
}

// sheetFrame returns the frame of the room's sheet, made once for all.
func (s nowFrames) sheetFrame(ctx context.Context, l words.Language, v board.View) (*wire.Frame, error) {
	kept, key := "sheet/"+l.Code(), sheetOf(v)
	if made, ok := v.Kept[kept].(madeSheet); ok && made.sheetKey == key {
		return made.frame, nil
	}
	out := roomSheet{Question: key.question}
	if item, ok := s.course().Item(v.State.Question.Item); ok { // else another server's course had it
		var err error
		if out.HTML, out.After, err = s.sheet(ctx, l, item, key.told); err != nil {
			return nil, err
		}
	}
	frame, err := prepared(sheetJSON{1, out})
	if err != nil {
		return nil, err
	}
	v.Kept[kept] = madeSheet{key, frame}
	return frame, nil
}

// cover takes out of a room what tells the answer to a question that is open: what
// each thread would do next, knows and believes. Hosts see it all the same.
func (n *roomNow) cover() {
	n.Why, n.Broken, n.Stage = "", "", n.Stage.Cover()
	for name, seat := range n.Threads {
		seat.Next, seat.Why, seat.Armed, seat.Dog, seat.Knows, seat.Belief = "", "", "", false, "", -1
		n.Threads[name] = seat
	}
}

// covers reports whether a question is open, or nobody knows yet what is right:
// covers in room-state.js does the same, also before a lesson's question.
func (q *roomQuestion) covers() bool {
	return q != nil && (q.Counts == nil || q.Right == nil || q.Talk)
}

// covered reports the same of a room, for those who do not lead it. The votes of a
// state are counted once for all who ask.
func covered(v board.View) bool {
	const key = "covered"
	is, known := v.Fresh[key].(bool)
	if !known {
		is = v.State.Awaits() || questionNow(words.English, v.State, false).covers()
		v.Fresh[key] = is
	}
	return is
}

// roomNowFrame makes the frame of a room as it is now. It adds to everybody's frame what
// only hosts see.
func (s nowFrames) roomNowFrame(v board.View, sees board.Sight) (any, error) {
	l := words.Match(sees.Lang).OnPages()
	key := "now/" + l.Code()
	unveiled := sees.Host && (v.State.Veiled() || covered(v))
	if unveiled {
		key += "/host"
	}
	text, made := v.Fresh[key].([]byte)
	if !made {
		now, err := s.roomAsSeen(l, v, unveiled)
		if err != nil {
			return nil, err
		}
		if text, err = runs.Line(roomJSON{1, v.State.Epoch, v.State.Seq, now}); err != nil {
			return nil, err
		}
		v.Fresh[key] = text
	}
	if !sees.Host {
		return nowFrame{wire.NewText(text), sheetOf(v)}, nil
	}
	people, err := peopleText(l, v)
	if err != nil {
		return nil, err
	}
	taught, err := json.Marshal(lessonNow(l, v.State))
	if err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	end := []byte("}}") // of the room, and of the frame
	more := fmt.Appendf(nil, `,"lost":%d,"doubts":%d,"scripts":%d,"lesson":%s,"people":`, v.State.Lost(), v.State.Doubted(), handedIn(v.State), taught)
	return nowFrame{wire.NewText(bytes.TrimSuffix(text, end), more, people, end), sheetOf(v)}, nil
}

// handedIn is how many scripts there are for a host to look at.
func handedIn(st *board.State) int {
	q := st.Written()
	if q == nil {
		return 0
	}
	return len(q.Scripts)
}

// people is a list of a room's people as a text.
type people struct {
	since int64 // View.Company
	text  []byte
}

// Size implements board.Sized.
func (p people) Size() int { return len(p.text) }

// peopleText encodes the people of a room, made again when they have changed: a
// thousand are a long text.
func peopleText(l words.Language, v board.View) ([]byte, error) {
	key := "people/" + l.Code()
	if made, ok := v.Kept[key].(people); ok && made.since == v.Company {
		return made.text, nil
	}
	text, err := runs.Line(peopleNow(l, v.State))
	if err != nil {
		return nil, err
	}
	v.Kept[key] = people{v.Company, text}
	return text, nil
}

// roomAsSeen is a room as everybody sees it, or unveiled, as hosts do.
func (s nowFrames) roomAsSeen(l words.Language, v board.View, unveiled bool) (roomNow, error) {
	st := v.State
	now := roomNow{
		Code: st.Code, Title: titleOf(l, st.Scene, v.Run.Scenario()), Scene: len(st.Earlier), Branch: st.Stand.Branch, At: st.Stand.At, Row: st.Stand.Row, Moment: st.Stand.Moment,
		Focus: st.Stand.Focus, Members: st.Voters(), Threads: map[string]roomSeat{}, Locked: st.Rules.Locked, Held: st.Rules.Held, Lobby: st.Rules.Lobby, Veiled: st.Rules.Veiled, Reserved: st.Rules.Reserved, Allowed: append([]string{}, st.Rules.Allowed...),
		Question: questionNow(l, st, unveiled), Awaits: st.Awaits(), Apart: st.Question != nil && isApart(st.Question.Kind),
	}
	if g := st.Going; g != nil {
		now.Going = &roomGoing{g.Branch, g.To, g.Thread}
	}
	for _, b := range st.Branches {
		now.Branches = append(now.Branches, roomBranch{b.ID, b.Parent, b.Fork, len(b.Moves)})
		if b.ID == st.Stand.Branch {
			now.Length = len(b.Moves)
		}
	}
	reel, b, err := filmOf(l, v).branch(v, st.Stand.Branch)
	if err != nil {
		return now, err
	}
	if now.Goal, err = s.goalNow(l, v, b); err != nil {
		return now, err
	}
	p := b.Positions[st.Stand.At]
	options := page.NewOptions(l, p.Options)
	now.Over = p.Over
	if now.Row == 0 {
		now.Row = p.Row
	}
	rows := reel.Rows()[:min(now.Row, len(reel.Rows()))]
	if len(rows) > 0 {
		now.Says = reel.Happened(&rows[len(rows)-1], !covered(v) || unveiled) // a broken rule may be what is asked
	}
	standing := page.At(filmOf(l, v).started(v), rows, now.Moment)
	now.Why, now.Stage, now.Broken = standing.Why, standing.Stage, standing.Broken
	known := knowledge(l, rows)
	for _, t := range v.Run.Scenario().Threads {
		seat := seatNow(l, st, t.Name, options)
		seat.Knows, seat.Belief = known[t.Name].Knows, known[t.Name].Belief
		if film.NoLock(v.Run.Scenario().Lock.Protocol) {
			seat.Belief = -1
		}
		now.Threads[t.Name] = seat
	}
	if covered(v) && !unveiled {
		now.cover()
	}
	return now, nil
}

// goalNow is how far the class is with what it is to break, judged once for each
// place; nil where that is nothing.
func (s nowFrames) goalNow(l words.Language, v board.View, b *board.Track) (*roomGoal, error) {
	item, ok := s.course().Item(v.State.Goal)
	if v.State.Goal == "" || !ok { // another server's course had it
		return nil, nil
	}
	prose, err := item.Prose(l)
	if err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	key := fmt.Sprintf("goal/%d/%d", v.State.Stand.Branch, v.State.Stand.At)
	verdict, known := v.Kept[key].(course.Verdict)
	if !known {
		task, err := course.TaskOf[*course.Breaking](item)
		if err != nil {
			return nil, fmt.Errorf("class: %w", err)
		}
		if verdict, err = task.Judge(v.Context, b.Moves[:v.State.Stand.At]); err != nil {
			return nil, fmt.Errorf("class: %w", err)
		}
		v.Kept[key] = verdict
	}
	return &roomGoal{page.Plain(prose.Goal), verdict}, nil
}

// knowledge returns what each thread knows and believes after some rows.
func knowledge(l words.Language, rows []film.Row) map[string]roomSeat {
	known := map[string]roomSeat{}
	if len(rows) == 0 {
		return known
	}
	for n, c := range rows[len(rows)-1].Cells {
		said := []string{}
		for i := len(rows) - 1; i >= 0 && len(said) == 0; i-- {
			if own := rows[i].Cells[n]; own.Acting && own.Title != "" {
				said = append(said, own.Title)
			}
		}
		if c.Title != "" && !c.Acting {
			said = append(said, c.Title)
		}
		known[c.Thread] = roomSeat{Knows: strings.Join(said, l.Say("; ")), Belief: c.Inside}
	}
	return known
}

// secondsTo is how long it is to an instant, in milliseconds since 1970; 0 when it
// is over.
func secondsTo(instant int64) float64 {
	return max(0, time.Until(time.UnixMilli(instant)).Round(100*time.Millisecond).Seconds())
}

func seatNow(l words.Language, st *board.State, thread string, options []page.Option) roomSeat {
	seat := st.Seats[thread]
	out := roomSeat{By: []string{}, Members: []string{}, Wishes: seat.Counts(), Wished: seat.Wishes, Tied: seat.Tied}
	for _, id := range seat.By {
		if m := st.People[id]; m != nil {
			out.By, out.Members = append(out.By, board.Nickname(m.Name, l.Code())), append(out.Members, id)
			if !m.Here() {
				out.Away++
			}
		}
	}
	if seat.Since > 0 && !seat.Tied {
		out.Wait = secondsTo(seat.Since + board.TableWait.Milliseconds())
	}
	for _, o := range options {
		switch {
		case o.Thread != thread || o.Network:
		case o.Background:
			out.Dog = out.Dog || o.Can
		case out.Next == "" || o.Can && out.Why != "":
			out.Next, out.Why, out.Armed = o.Does, o.Why, o.Armed
			if o.Can {
				out.Why = ""
			}
		}
	}
	return out
}

func questionNow(l words.Language, st *board.State, unveiled bool) *roomQuestion {
	q := st.Question
	if q == nil {
		return nil
	}
	out := &roomQuestion{
		ID: q.ID, Kind: q.Kind, Text: inLanguage(q.Text, l), Options: inLanguage(q.Options, l), Votes: len(q.Votes), Of: st.Voters(), Round: q.Round, Closed: q.Closed,
		Veiled: st.Veiled(),
	}
	if !q.Closed {
		out.Call, out.Start = q.Call, q.Start
	}
	if q.Until > 0 && !q.Closed {
		out.Left = secondsTo(q.Until)
	}
	if out.Veiled && !unveiled {
		if q.Closed {
			out.Advice = l.Say("The votes are counted: your host sees them")
		}
		return out
	}
	if q.Round > 1 {
		out.Before = q.Counts(1)
	}
	if !q.Closed {
		return out
	}
	out.Counts = q.Counts(q.Round)
	if q.FewRight() && !q.Told {
		out.Advice = l.Say("Few were right: look at it together first")
		if out.Counts[q.Right] == 0 {
			out.Advice = l.Say("Nobody was right: look at it together first")
		}
		return out
	}
	out.Right = &q.Right
	if st.Talks() {
		out.Advice, out.Talk = l.Say("Talk to your neighbour, then vote again"), true
	}
	return out
}

func peopleNow(l words.Language, st *board.State) []roomPerson {
	list := []roomPerson{}
	for _, id := range slices.SortedFunc(maps.Keys(st.People), board.ByAge) {
		m := st.People[id]
		one := roomPerson{Member: id, Name: board.Nickname(m.Name, l.Code()), Part: m.Part, Here: m.Here(), Removed: m.Removed, Threads: []string{}}
		for _, thread := range slices.Sorted(maps.Keys(st.Seats)) {
			if slices.Contains(st.Seats[thread].By, id) {
				one.Threads = append(one.Threads, thread)
			}
		}
		list = append(list, one)
	}
	return list
}

// roomFilm is what a room's run shows in one language, made once for all who
// see it. It belongs to the one who looks at the room.
type roomFilm struct {
	l     words.Language
	event int         // bytes that an event takes
	start *film.Stage // nil until somebody is there
	first *wire.Frame
	of    map[int]*stepper.Shown // by branch
	cut   cutFilm
	whole map[[2]int]*wire.Frame // parts that stay, by branch and first position
	bytes int                    // of the parts that stay
}

// Size implements board.Sized. A frame is there as it is, and as it is compressed.
func (f *roomFilm) Size() int {
	size := 2*f.bytes + f.cut.Events*f.event
	for _, of := range f.of {
		size += of.Events * f.event
	}
	return size
}

func filmOf(l words.Language, v board.View) *roomFilm {
	key := "film/" + l.Code()
	f, ok := v.Kept[key].(*roomFilm)
	if !ok {
		f = &roomFilm{l: l, event: film.EventSize(v.Run.Scenario()), of: map[int]*stepper.Shown{}, whole: map[[2]int]*wire.Frame{}}
		v.Kept[key] = f
	}
	return f
}

// started is the stage before the first row.
func (f *roomFilm) started(v board.View) film.Stage {
	if f.start == nil {
		start := film.Start(f.l, v.Run.Scenario())
		f.start = &start
	}
	return *f.start
}

// opening is the frame with which a page begins.
func (f *roomFilm) opening(s *stepper.Sockets, v board.View) (frame *wire.Frame, err error) {
	if f.first != nil {
		return f.first, nil
	}
	o, err := s.Described(f.l, v.Run.Scenario())
	if err != nil {
		return nil, err
	}
	sc, scene := v.Run.Scenario(), len(v.State.Earlier)
	o.Scene, o.First, o.Title = &scene, v.State.First, titleOf(f.l, v.State.Scene, sc)
	if o.Cast, err = templates.Text(f.l, templates.RoomSeats(film.NewScenario(f.l, sc))); err != nil {
		return nil, err
	}
	if o.Lanes, err = stepper.DrawnLanes(f.l, film.New(f.l, sc, nil), 0); err != nil {
		return nil, err
	}
	f.first, err = prepared(stepper.Frame{V: 1, Opened: o})
	return f.first, err
}

// setJSON is a frame with what a phone's page has of a scenario, for a page
// that is of another one.
type setJSON struct {
	V   int     `json:"v"`
	Set roomSet `json:"set"`
}

type roomSet struct {
	Scene   int    `json:"scene"`
	Title   string `json:"title"`
	Threads string `json:"threads"` // HTML: the member's own, and those that they can choose
	Stage   string `json:"stage"`   // HTML, at the start
	Head    string `json:"head"`    // HTML: the table's
	Count   int    `json:"count"`   // of threads
}

// setFrame returns the frame with what a phone's page has of the scenario, made
// once for all.
func setFrame(l words.Language, v board.View) (*wire.Frame, error) {
	key := "set/" + l.Code()
	if made, ok := v.Kept[key].(*wire.Frame); ok {
		return made, nil
	}
	sc := v.Run.Scenario()
	shown := film.NewScenario(l, sc)
	shown.Bare = true // a class is asked for times
	set := roomSet{Scene: len(v.State.Earlier), Title: titleOf(l, v.State.Scene, sc), Count: len(shown.Threads)}
	var err error
	if set.Threads, err = templates.Text(l, templates.RoomThreads(shown)); err != nil {
		return nil, err
	}
	if set.Stage, err = templates.Text(l, templates.Stage(shown, page.Before(l, sc))); err != nil {
		return nil, err
	}
	if set.Head, err = templates.Text(l, templates.Head(shown)); err != nil {
		return nil, err
	}
	frame, err := prepared(setJSON{1, set})
	if err != nil {
		return nil, err
	}
	v.Kept[key] = frame
	return frame, nil
}

// branch returns what a branch shows, and the branch.
func (f *roomFilm) branch(v board.View, id int) (*film.Film, *board.Track, error) {
	b, err := v.Run.Track(v.Context, v.State, id)
	if err != nil {
		return nil, nil, err
	}
	of := f.of[id]
	if of == nil {
		of = &stepper.Shown{Film: film.New(f.l, v.Run.Scenario(), b.Header.Owners)}
		f.of[id] = of
	}
	of.Add(b.Path)
	return of.Film, b, nil
}

// cutFilm is as much of a branch as is shown to those who are asked what comes then.
type cutFilm struct {
	stepper.Shown

	branch, moves int
}

// upTo returns what a branch's first moves show.
func (f *roomFilm) upTo(v board.View, id, moves int) (*film.Film, error) {
	if f.cut.Film != nil && f.cut.branch == id && f.cut.moves == moves {
		return f.cut.Film, nil
	}
	b, err := v.Run.Track(v.Context, v.State, id)
	if err != nil {
		return nil, err
	}
	part := *b.Path
	part.Events = b.Events[:b.Positions[moves].Seq]
	f.cut = cutFilm{stepper.Shown{Film: film.New(f.l, v.Run.Scenario(), b.Header.Owners)}, id, moves}
	f.cut.Add(&part)
	return f.cut.Film, nil
}

// parts returns the frames of a branch's positions from one on, to before end.
func (f *roomFilm) parts(v board.View, b board.Branch, from, end int) (frames []*wire.Frame, err error) {
	film, branch, err := f.branch(v, b.ID)
	if err != nil {
		return nil, err
	}
	for from < end || len(frames) == 0 {
		to := min(from-from%stepper.FramePositions+stepper.FramePositions, end)
		frame, err := f.part(v, film, branch, b, from, to)
		if err != nil {
			return nil, err
		}
		frames, from = append(frames, frame), to
	}
	return frames, nil
}

// part returns one frame. Those that begin and end where frames of all do are
// kept.
func (f *roomFilm) part(v board.View, film *film.Film, branch *board.Track, b board.Branch, from, to int) (*wire.Frame, error) {
	key, stays := [2]int{b.ID, from}, from < to && from%stepper.FramePositions == 0 && to%stepper.FramePositions == 0
	fresh := fmt.Sprintf("part/%s/%d/%d-%d", f.l.Code(), b.ID, from, to)
	if made := f.whole[key]; stays && made != nil {
		return made, nil
	}
	if made, ok := v.Fresh[fresh].(*wire.Frame); ok && !stays {
		return made, nil
	}
	a, err := stepper.PartOf(f.l, film, branch, from, to, func(i int) stepper.Position { return stepper.PositionOf(f.l, branch, i) })
	if err != nil {
		return nil, err
	}
	a.V, a.Branch = 1, &stepper.Branch{ID: b.ID, Parent: b.Parent, Fork: b.Fork}
	text, err := runs.Line(a)
	if err != nil {
		return nil, err
	}
	frame := wire.NewText(text)
	if stays {
		f.whole[key] = frame
		f.bytes += len(text)
	} else {
		v.Fresh[fresh] = frame
	}
	return frame, nil
}

// drawings are lanes that were asked for since the state changed, each drawn
// once for all who ask.
type drawings map[drawingKey]*drawing

type drawingKey struct {
	lang        string
	branch, row int
	moves       int // that it shows, -1 for all
}

// drawing is the lanes around a row. It is drawn when it is first looked at, and
// not while others wait for the room.
type drawing struct {
	picture film.Picture
	once    sync.Once
	text    string
	err     error
}

// How many drawings are kept, and about how many bytes each takes.
const (
	maxDrawings   = 64
	sizeOfDrawing = 48 << 10
)

// Size implements board.Sized.
func (d drawings) Size() int { return len(d) * sizeOfDrawing }

// drawingOf is the lanes of a branch around a row. A member who is asked what comes next
// sees the rows up to the place of the question.
func drawingOf(l words.Language, v board.View, branch, row int, asked bool) (*drawing, error) {
	made, ok := v.Fresh["lanes"].(drawings)
	if !ok || len(made) >= maxDrawings {
		made = drawings{}
		v.Fresh["lanes"] = made
	}
	key := drawingKey{l.Code(), branch, row, -1}
	if b := v.State.Branch(branch); asked && b != nil {
		key.moves = v.State.Asked(*b)
	}
	if made[key] != nil {
		return made[key], nil
	}
	var reel *film.Film
	var err error
	if key.moves < 0 {
		reel, _, err = filmOf(l, v).branch(v, branch)
	} else {
		reel, err = filmOf(l, v).upTo(v, branch, key.moves)
	}
	if err != nil {
		return nil, err
	}
	made[key] = &drawing{picture: runs.LanesAround(l, reel.Lanes(), row)}
	return made[key], nil
}

// html draws. It is safe for concurrent use.
func (d *drawing) html(l words.Language) (string, error) {
	d.once.Do(func() { d.text, d.err = templates.Text(l, templates.Lanes(d.picture)) })
	return d.text, d.err
}
