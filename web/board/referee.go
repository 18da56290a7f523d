package board

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine"
	"relock/engine/fault"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// Limits of a room.
const (
	MaxMembers  = 1000
	TableWait   = 10 * time.Second // from a table's first wish to what most of it wish
	HostsAbsent = 12 * time.Hour   // without a host a room ends
	HostsCome   = 10 * time.Minute // the same where none has been there
	maxMoment   = 10_000
	maxQuestion = 200 // questions of a room
	mostSeconds = 600 // that a vote is given

	// wholeEvery is after how many entries the log begins again.
	wholeEvery = 20_000

	// wholeAfter is the same for bytes of scripts.
	wholeAfter = 4 << 20
)

// Errors of commands.
var (
	errNotPlayer   = phrase.New("only a player can do that: join as one")
	errNoThread    = phrase.New("there is no such thread")
	errNoSeat      = phrase.New("that thread is not yours: claim it first")
	errNoQuestion  = phrase.New("no question is open now")
	errNotOpen     = phrase.New("the votes are counted already")
	errNotClosed   = phrase.New("first reveal the votes")
	errAsked       = phrase.New("a question is open: the run goes on after it")
	errNotAllowed  = phrase.New("the host does not allow that fault now")
	errOwnFault    = phrase.New("a player can only strike their own thread")
	errLocked      = phrase.New("the room is locked: ask its host")
	errRoomFull    = phrase.New("the room is full: it takes %d", MaxMembers)
	errFromThere   = phrase.New("your address already has as many members here as it may; the other seats are for others")
	errSecret      = phrase.New("that is not the host's secret of this room")
	errToken       = phrase.New("that member and token do not belong together")
	errPart        = phrase.New("join as host, stage, player or audience")
	errNoMember    = phrase.New("there is no such member")
	errScreen      = phrase.New("a stage is a screen: it plays no thread")
	errMoment      = phrase.New("there is no such row or command")
	errFocus       = phrase.New("a focus is at most 32 letters and hyphens")
	errWish        = phrase.New("a table can wish to step, watchdog, pause, crash and lose-reply")
	errTie         = phrase.New("the table is split: choose a wish")
	errNoWish      = phrase.New("nobody at that table has chosen yet")
	errAllow       = phrase.New("players can be allowed crash and lose-reply")
	errLong        = phrase.New("this room's run has reached its greatest length; drop a branch, or make a new room")
	errKind        = phrase.New("the kind of a question is predict, or own with a text, options and which of them is right")
	errOption      = phrase.New("there is no such option")
	errVoters      = phrase.New("players and the audience vote")
	errScripted    = phrase.New("this question wants a script: write one")
	errNoScript    = phrase.New("no question asks for a script now")
	errScript      = phrase.New("a script of a class has 1 to %d bytes", maxScript)
	errScripts     = phrase.New("this room has kept as many scripts as it can: %d KiB", maxScripts>>10)
	errNotWritten  = phrase.New("that member has written no script")
	errQuestions   = phrase.New("a room can ask %d questions", maxQuestion)
	errHeld        = phrase.New("the host is leading now: watch, and vote when you are asked")
	errReserved    = phrase.New("the host gives the threads here: wait for yours")
	errTables      = phrase.New("a thread gets 1 to %d people at least", MaxMembers)
	errSeconds     = phrase.New("a vote can have up to %d seconds; 0 removes the clock", mostSeconds)
	errNobody      = phrase.New("nobody who plays is here yet")
	errRemovedSelf = phrase.New("a host cannot remove a host")
	errJoined      = phrase.New("you have joined already")
	errOld         = phrase.New("that id is too old: its outcome is forgotten; give the command a newer id")
)

// ErrNotHost says that only a host may give this command.
var ErrNotHost = phrase.New("only a host can do that")

// ErrNotJoined says that the client has not joined yet.
var ErrNotJoined = phrase.New("the first command is join")

// ErrRemoved says that a removed member cannot join again.
var ErrRemoved = phrase.New("the host has removed you from the room")

// Asker makes a question from a branch's moves: what comes after the first at of
// them? The question has no ID. An error that speaks says why it cannot.
type Asker func(ctx context.Context, sc *scenario.Scenario, at int) (*Question, error)

// Examiner returns the question of an item of the course, chapter/item, and its
// place. The question has no ID. An error that speaks says why it cannot be asked.
type Examiner func(ctx context.Context, item string) (Plan, *Question, error)

// Scripted returns the scenario of an item of the course with a member's script, and
// the class's place in it. An error that speaks says why there is none.
type Scripted func(ctx context.Context, item, script string) (Plan, error)

// referee decides requests. It is for one goroutine.
type referee struct {
	state *State
	run   *Run
	runs  *runs // run is one of them
	ask   Asker
	exam  Examiner
	plan  Planner

	written Scripted
	matters func(trace.Event) bool

	now   func() time.Time
	note  func(error)  // of a mistake of the program
	long  int64        // entries after which the log begins again
	most  int          // moves of a slice of a run
	bytes int          // that the run may take, 0 for maxRun
	full  func() error // why there may be no more moves now; nil: there always may
}

// decide returns what a request comes to, and folds it.
func (f *referee) decide(ctx context.Context, o Request) []Entry {
	if o.Spare {
		if !f.state.deserted() {
			return nil
		}
		return f.log(Entry{Ended: true})
	}
	if o.Left || len(o.Gone) > 0 {
		return f.left(o)
	}
	if o.Command.Do == DoJoin {
		return f.log(f.join(o))
	}
	m := f.state.People[o.Member]
	if m == nil {
		return nil // cannot be: it had joined
	}
	c := o.Command
	if c.ID <= m.Last {
		refused, err := m.outcome(c.ID)
		if err != nil {
			refused = f.explained(o.Lang, err)
		}
		return f.log(Entry{Conn: o.Conn, Member: m.ID, ID: c.ID, Do: c.Do, Refused: refused})
	}
	var e Entry
	// A command that panics would come again to the next leader.
	err := panics.Catch(func() (err error) {
		e, err = f.carryOut(ctx, m, c)
		return err
	})
	if err != nil {
		e.Refused = f.explained(o.Lang, err)
	}
	if f.state.Going != nil && m.Part == Host && e.Going == nil {
		e.Going = &Going{} // whatever a host wants, the run does not go on under it
	}
	e.Conn, e.Member, e.ID, e.Do = o.Conn, m.ID, c.ID, c.Do
	return f.log(e)
}

func (f *referee) explained(lang string, err error) string {
	sentence, ok := words.Match(lang).OnPages().Explain(err)
	if !ok {
		f.note(err)
		return words.Match(lang).Say("Something went wrong here. It was logged.")
	}
	return sentence
}

// log numbers and folds entries.
func (f *referee) log(list ...Entry) []Entry {
	for i := range list {
		list[i].Seq, list[i].At = f.state.Seq+1, f.now().UnixMilli()
		f.state.Fold(list[i])
	}
	if f.state.Seq-f.state.Began >= cmp.Or(f.long, wholeEvery) || f.state.Wrote > wholeAfter {
		whole := Entry{Seq: f.state.Seq + 1, At: f.now().UnixMilli(), Whole: f.state.clone()}
		f.state.Fold(whole)
		list = append(list, whole)
	}
	return list
}

// deadline returns when the room does something by itself, zero for never. A table's
// decision is due.
func (f *referee) deadline() time.Time {
	if f.state.Going != nil {
		return f.now()
	}
	var first int64
	sooner := func(at int64) {
		if first == 0 || at < first {
			first = at
		}
	}
	if f.state.Deserted > 0 {
		sooner(f.state.ends())
	}
	for _, s := range f.state.Seats {
		switch _, decided := f.state.decided(s); {
		case decided:
			return f.now()
		case s.Since > 0 && !s.Tied:
			sooner(s.Since + TableWait.Milliseconds())
		}
	}
	if first == 0 {
		return time.Time{}
	}
	return time.UnixMilli(first)
}

// tick does what the time has come for.
func (f *referee) tick(ctx context.Context) []Entry {
	now := f.now().UnixMilli()
	if f.state.Deserted > 0 && now >= f.state.ends() {
		return f.log(Entry{Ended: true})
	}
	var list []Entry
	for _, thread := range slices.Sorted(maps.Keys(f.state.Seats)) {
		s := f.state.Seats[thread]
		_, decided := f.state.decided(s) // others have left it
		if decided || s.Since > 0 && !s.Tied && now >= s.Since+TableWait.Milliseconds() {
			e, _ := f.settle(ctx, thread, s) // nobody waits for an answer: the table sees that nothing came of it
			list = append(list, f.log(e)...)
		}
	}
	if f.state.Going != nil {
		list = append(list, f.log(f.goesOn(ctx))...)
	}
	return list
}

func (f *referee) left(o Request) []Entry {
	var people []Member
	for _, m := range f.state.People {
		gone := m.Conn != "" && (o.Left && m.Conn == o.Conn || slices.ContainsFunc(o.Gone, func(server string) bool { return strings.HasPrefix(m.Conn, server+"/") }))
		if gone {
			one := *m
			one.Conn = ""
			people = append(people, one)
		}
	}
	if len(people) == 0 {
		return nil
	}
	slices.SortFunc(people, func(a, b Member) int { return ByAge(a.ID, b.ID) })
	list := f.log(Entry{People: people})
	if gone := f.traceless(); len(gone) > 0 {
		list = append(list, f.log(Entry{Gone: gone})...)
	}
	return list
}

func (f *referee) join(o Request) Entry {
	e := Entry{Conn: o.Conn, ID: o.Command.ID, Do: DoJoin}
	m, err := f.joined(o)
	if err != nil {
		e.Refused = f.explained(o.Lang, err)
		if errors.Is(err, ErrRemoved) {
			e.Member = o.Command.Member
		}
		return e
	}
	e.Member, e.People = m.ID, []Member{*m}
	return e
}

func (f *referee) joined(o Request) (*Member, error) {
	c := o.Command
	for _, m := range f.state.People {
		if m.Conn == o.Conn && m.Proof == o.Fresh {
			return m, nil // the request comes again
		}
	}
	if !slices.Contains([]Part{Host, Stage, Player, Audience}, c.Part) {
		return nil, errPart
	}
	host := slices.Contains(f.state.Hosts, o.Secret)
	if c.Part == Host && !host {
		return nil, errSecret
	}
	open := !f.state.Rules.Locked || c.Part == Host || c.Part == Stage && host // to who is new
	if c.Member != "" {
		known := f.state.People[c.Member]
		switch {
		case known == nil || known.Proof != o.Token:
			return nil, errToken
		case known.Removed:
			return nil, ErrRemoved
		}
		m := *known
		m.Conn, m.From = o.Conn, o.From
		if open || m.Part == Host { // who returns to a locked room keeps the part
			m.Part = c.Part
		}
		return &m, nil
	}
	switch {
	case !open:
		return nil, errLocked
	case c.Part != Host:
		if err := f.seatFor(o.From); err != nil {
			return nil, err
		}
	}
	id := 1
	for known := range f.state.People { // nobody comes again of whom nothing is kept
		n, _ := strconv.Atoi(known[1:])
		id = max(id, n+1)
	}
	return &Member{ID: "m" + strconv.Itoa(id), Part: c.Part, Name: freeName(f.state.People), Proof: o.Fresh, Conn: o.Conn, From: o.From}, nil
}

// seatFor fails if nobody else may come in from there: an address may have
// half as many seats as are left for others, so a third of all.
func (f *referee) seatFor(from string) error {
	here := f.state.Present()
	own := 0
	for _, m := range f.state.People {
		if m.Here() && m.From == from && m.Part != Host {
			own++
		}
	}
	switch {
	case here >= MaxMembers:
		return errRoomFull
	case from != "" && own >= (MaxMembers-here+1)/2:
		return errFromThere
	}
	return nil
}

// keptAway is how many are kept who have left and did nothing: as many as a room has
// seats, for a whole class can be cut off at once and come back.
const keptAway = MaxMembers

// traceless returns whom to forget: of those who have left without a trace those who are
// too many, the oldest first, and of the address that has most: who comes and goes pushes
// out nobody else.
func (f *referee) traceless() []string {
	away := 0
	for _, m := range f.state.People {
		if m.leaves() {
			away++
		}
	}
	if away <= keptAway {
		return nil
	}
	traces := map[string]bool{}
	for _, q := range f.state.Questions() {
		for _, votes := range q.Rounds() {
			for id := range votes {
				traces[id] = true
			}
		}
	}
	for _, seat := range f.state.Seats {
		for _, id := range seat.By {
			traces[id] = true
		}
	}
	many, of := 0, map[string][]string{} // by address
	for id, m := range f.state.People {
		if m.leaves() && !traces[id] {
			of[m.From] = append(of[m.From], id)
			many++
		}
	}
	var gone []string
	for ; many > keptAway; many-- {
		most := slices.MaxFunc(slices.Sorted(maps.Keys(of)), func(a, b string) int { return len(of[a]) - len(of[b]) })
		oldest := slices.MinFunc(of[most], ByAge)
		gone = append(gone, oldest)
		of[most] = slices.DeleteFunc(of[most], func(id string) bool { return id == oldest })
	}
	return gone
}

// leaves reports whether the member is away, and nothing else keeps it.
func (m *Member) leaves() bool { return !m.Here() && !m.Removed && m.Part != Host }

func anybody(*State, *Member) error { return nil }

func hosts(_ *State, m *Member) error {
	if m.Part != Host {
		return ErrNotHost
	}
	return nil
}

func players(_ *State, m *Member) error {
	if m.Part != Player && m.Part != Host {
		return errNotPlayer
	}
	return nil
}

// hands are players, while the class is not held.
func hands(s *State, m *Member) error {
	if err := players(s, m); err != nil {
		return err
	}
	if s.Rules.Held && m.Part != Host {
		return errHeld
	}
	return nil
}

func voters(_ *State, m *Member) error {
	if !m.votes() {
		return errVoters
	}
	return nil
}

func (f *referee) carryOut(ctx context.Context, m *Member, c Command) (Entry, error) {
	if m.Removed {
		return Entry{}, ErrRemoved
	}
	is := commandNamed(Class, c.Do)
	if is == nil || is.do == nil {
		return Entry{}, ErrNotCommand // another server let it in
	}
	if err := is.may(f.state, m); err != nil {
		return Entry{}, err
	}
	return is.do(f, ctx, m, c)
}

func (f *referee) goTo(ctx context.Context, _ *Member, c Command) (Entry, error) {
	b := f.state.Branch(c.Branch)
	if b == nil {
		return Entry{}, ErrNoBranch
	}
	at := len(b.Moves)
	if c.At != nil {
		at = *c.At
	}
	switch {
	case at < 0 || at > len(b.Moves):
		return Entry{}, ErrNoMove
	case c.Moment < 0 || c.Moment > maxMoment || c.Row < 0:
		return Entry{}, errMoment
	case len(c.Focus) > 32 || strings.Trim(c.Focus, "abcdefghijklmnopqrstuvwxyz-") != "":
		return Entry{}, errFocus
	}
	if c.Row > 0 {
		t, err := f.run.Track(ctx, f.state, c.Branch)
		switch {
		case err != nil:
			return Entry{}, err
		case c.Row > t.Positions[at].Row:
			return Entry{}, errMoment
		}
	}
	return Entry{Stand: &Stand{c.Branch, at, c.Row, c.Moment, c.Focus}}, nil
}

// stepped is the outcome of a move: everybody is after it.
func (f *referee) stepped(made *Made) Entry {
	at := f.state.Stand
	e := Entry{Stand: &Stand{Branch: at.Branch, At: at.At + 1, Focus: at.Focus}}
	if made != nil {
		e.Made, e.Stand.Branch = []Made{*made}, made.Branch
	}
	return e
}

// maxRun is how many bytes a room's run may take, as engine.Paths.Size counts
// them: some 3,000 events of sixteen threads.
const maxRun = 8 << 20

// tooLong reports whether the run takes as much as it may.
func (f *referee) tooLong() bool { return f.run.Size() > cmp.Or(f.bytes, maxRun) }

// from returns a branch after the first at moves of which others can be made, where there
// is memory for more.
func (f *referee) from(ctx context.Context, s *State, id, at int) (*Track, error) {
	if f.full != nil {
		if err := f.full(); err != nil {
			return nil, err
		}
	}
	b := s.Branch(id)
	switch {
	case b == nil:
		return nil, ErrNoBranch
	case at < 0 || at > len(b.Moves):
		return nil, ErrNoMove
	}
	return f.run.Track(ctx, s, id)
}

// mayFork fails where a state can have no more branches.
func mayFork(s *State) error {
	if len(s.Branches) >= MaxBranches {
		return ErrBranches
	}
	return nil
}

// fork is another branch of a state: it leaves one after the first at of these moves.
func fork(s *State, id, at int, moves []scenario.Move) (*Made, error) {
	list, err := written(moves[at:])
	return &Made{Branch: s.Made, Parent: id, Fork: at, After: at, Moves: list}, err
}

// try makes a move that is wished for where everybody is.
func (f *referee) try(ctx context.Context, w engine.Wish) (Entry, error) {
	at := f.state.Stand
	made, err := f.make(ctx, at.Branch, at.At, w)
	if err != nil {
		return Entry{}, err
	}
	return f.stepped(made), nil
}

// make makes a wish after the first at moves of a branch, and returns what belongs in the
// log: nothing, if the branch itself goes on with it.
func (f *referee) make(ctx context.Context, id, at int, w engine.Wish) (*Made, error) {
	b, err := f.from(ctx, f.state, id, at)
	if err != nil {
		return nil, err
	}
	atEnd, long := at == len(b.Moves), f.tooLong()
	along := func(m scenario.Move) bool { return !atEnd && b.Moves[at].Equal(m) }
	if m, told := b.Positions[at].Foresee(w); told && along(m) {
		return nil, nil
	}
	switch {
	case atEnd && long:
		return nil, errLong
	case !atEnd:
		if err := mayFork(f.state); err != nil {
			return nil, err
		}
	}
	on, err := f.run.try(ctx, b.Moves[:at], w)
	switch {
	case err != nil:
		return nil, err
	case along(on.Moves[at]):
		return nil, nil // the class can always follow moves that exist
	case long:
		f.run.retain(f.state)
		return nil, errLong
	case atEnd:
		list, err := written(on.Moves[at:])
		return &Made{Branch: id, After: at, Moves: list}, err
	default:
		return fork(f.state, id, at, on.Moves)
	}
}

func (f *referee) step(ctx context.Context, m *Member, c Command) (Entry, error) {
	if c.Thread == "" {
		if err := hosts(f.state, m); err != nil {
			return Entry{}, err
		}
		if f.state.Stand.At < len(f.state.Branch(f.state.Stand.Branch).Moves) {
			return f.stepped(nil), nil
		}
		return f.try(ctx, engine.Wish{})
	}
	wish := WishStep
	if c.Background {
		wish = WishWatchdog
	}
	return f.wished(ctx, m, c.Thread, wish, func() (Entry, error) {
		return f.try(ctx, engine.Wish{Thread: c.Thread, Background: c.Background, Network: c.Network, Node: c.Node})
	})
}

func (f *referee) time(ctx context.Context, _ *Member, c Command) (Entry, error) {
	to := engine.Passage(c.To)
	var by time.Duration
	switch to {
	case engine.ToEvent, engine.ToExpiry:
	case engine.ByLength:
		var ok bool
		if by, ok = scenario.ParsePassage(c.By); !ok {
			return Entry{}, phrase.New("time passes by a length such as 50ms or 1.5s, up to 24h")
		}
	default:
		return Entry{}, phrase.New("time cannot pass to %q; allowed: event, expiry, by", c.To)
	}
	return f.try(ctx, engine.Wish{Pass: to, By: by})
}

func (f *referee) strike(ctx context.Context, m *Member, c Command) (Entry, error) {
	if c.Fault == nil {
		return Entry{}, scenario.ErrNoFault
	}
	if m.Part == Host {
		return f.struck(ctx, c.Fault)
	}
	var kind, thread string
	_ = json.Unmarshal(c.Fault["do"], &kind)
	_ = json.Unmarshal(c.Fault["thread"], &thread)
	switch {
	case thread == "":
		return Entry{}, errOwnFault
	case kind != WishSlow && !slices.Contains(f.state.Rules.Allowed, kind):
		return Entry{}, errNotAllowed
	}
	return f.wished(ctx, m, thread, kind, func() (Entry, error) {
		if kind == WishLose {
			return f.byWish(ctx, thread, kind)
		}
		return f.struck(ctx, c.Fault)
	})
}

// struck makes a fault happen where the room is.
func (f *referee) struck(ctx context.Context, wanted map[string]json.RawMessage) (Entry, error) {
	m, err := f.run.Scenario().ParseStrike(wanted)
	switch {
	case err != nil:
		return Entry{}, err
	case m.Fault == nil:
		return Entry{}, scenario.ErrNoFault
	}
	return f.try(ctx, engine.Wish{Move: &m})
}

// byWish does what a table wishes for.
func (f *referee) byWish(ctx context.Context, thread, wish string) (Entry, error) {
	switch wish {
	case WishStep:
		return f.try(ctx, engine.Wish{Thread: thread})
	case WishWatchdog:
		return f.try(ctx, engine.Wish{Thread: thread, Background: true})
	case WishSlow, WishCrash, WishLose:
		return f.struck(ctx, wishedFault(thread, wish, f.nextCall(ctx, thread)))
	default:
		return Entry{}, errWish
	}
}

// nextCall is what a thread asks Redis for next: "lose my reply" means that.
func (f *referee) nextCall(ctx context.Context, thread string) string {
	call := fault.AtUnlock
	b, err := f.run.Track(ctx, f.state, f.state.Stand.Branch)
	if err != nil {
		return call // the fault says why it cannot be
	}
	for _, o := range b.Positions[f.state.Stand.At].Options {
		if o.Thread == thread && !o.Background && slices.Contains(fault.Calls(), o.Call.Name) {
			call = o.Call.Name
		}
	}
	return call
}

// wishedFault is a fault as the playground has it at a button; at is the call
// whose reply is lost.
func wishedFault(thread, kind, at string) map[string]json.RawMessage {
	list := map[string]string{"do": kind, "thread": thread}
	k, _ := fault.Named(kind)
	if k.For > 0 {
		list["for"] = phrase.Duration(k.For)
	}
	if kind == WishLose {
		list["at"] = at
	}
	out := map[string]json.RawMessage{}
	for key, value := range list {
		out[key], _ = json.Marshal(value) // a string
	}
	return out
}

func (f *referee) drop(_ context.Context, _ *Member, c Command) (Entry, error) {
	if err := f.mayDrop(c.Branch); err != nil {
		return Entry{}, err
	}
	e := Entry{Dropped: &c.Branch}
	if f.state.Stand.Branch == c.Branch {
		i := slices.IndexFunc(f.state.Branches, func(b Branch) bool { return b.ID != c.Branch })
		b := f.state.Branches[i]
		e.Stand = &Stand{Branch: b.ID, At: min(f.state.Stand.At, len(b.Moves))}
	}
	return e, nil
}

// mayDrop fails where a branch must stay, or is not there.
func (f *referee) mayDrop(id int) error {
	switch {
	case f.state.Branch(id) == nil:
		return ErrNoBranch
	case len(f.state.Branches) == 1:
		return phrase.New("the only branch must stay")
	default:
		return nil
	}
}

func (f *referee) end(context.Context, *Member, Command) (Entry, error) {
	return Entry{Ended: true}, nil
}
