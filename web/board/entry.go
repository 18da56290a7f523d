package board

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"relock/web/lesson"
)

// Entry is one line of a room's log: what a request came to. All that it has is
// absolute, so folding it is setting values.
//
// An entry is written in the oldest version that can say it, so that servers of
// that version take it, too. Version 1 knows one move at a time; version 2 also
// what is made at once, and a run that goes on; version 3 lessons; version 4
// scripts that a class writes.
type Entry struct {
	V   int   `json:"v,omitempty"` // the version that it was read in, 0 for the first; written is what it takes
	Seq int64 `json:"seq"`
	At  int64 `json:"at"` // when it was decided, in milliseconds since 1970

	// Whose command it answers; empty if the room did it by itself.
	Conn    string `json:"conn,omitempty"`
	Member  string `json:"member,omitempty"`
	ID      int64  `json:"id,omitempty"`
	Do      string `json:"do,omitempty"`
	Refused string `json:"refused,omitempty"` // why nothing was done, a sentence in the member's language

	Whole    *State          `json:"whole,omitempty"` // all of the room: what came before is not needed
	People   []Member        `json:"people,omitempty"`
	Gone     []string        `json:"gone,omitempty"`    // members of whom nothing is kept
	Scene    *Scene          `json:"scene,omitempty"`   // another scenario, to which all have gone: its threads are free but for Seats
	Dropped  *int            `json:"dropped,omitempty"` // a branch
	Made     []Made          `json:"made,omitempty"`
	Going    *Going          `json:"going,omitempty"` // without To: it no longer goes on
	Stand    *Stand          `json:"stand,omitempty"`
	Seats    map[string]Seat `json:"seats,omitempty"` // by thread
	Question *Question       `json:"question,omitempty"`
	Shelved  bool            `json:"shelved,omitempty"` // the question was put away
	Vote     *Vote           `json:"vote,omitempty"`
	Rules    *Rules          `json:"rules,omitempty"`
	Taught   *Taught         `json:"taught,omitempty"` // how far the class has come in the room's lesson
	Epoch    string          `json:"epoch,omitempty"`
	Ended    bool            `json:"ended,omitempty"`
}

// Public returns the entry without what only servers may know.
func (e Entry) Public() Entry {
	e.Conn = ""
	e.People = slices.Clone(e.People)
	for i := range e.People {
		e.People[i] = e.People[i].public()
	}
	if e.Whole != nil {
		e.Whole = e.Whole.clone()
		e.Whole.Hosts, e.Whole.By = nil, ""
		for _, m := range e.Whole.People {
			*m = m.public()
		}
	}
	return e
}

// public is the member without what only servers may know, and without that he is
// lost, or doubts a question: that is nobody's in particular.
func (m Member) public() Member {
	m.Proof, m.Conn, m.From, m.Lost, m.Doubts = "", "", "", false, 0
	return m
}

// Made are moves at the end of a branch; they begin the branch if it is new.
type Made struct {
	Branch int               `json:"branch"`
	Parent int               `json:"parent"` // of a new branch, else ignored
	Fork   int               `json:"fork"`
	After  int               `json:"after"` // so many moves
	Moves  []json.RawMessage `json:"moves"` // as in a scenario's schedule; none where a branch is cut
}

// The versions of entries.
const (
	firstVersion  = 1
	goingVersion  = 2
	lessonVersion = 3
	latestVersion = 4
)

// errVersion is returned for an entry of a server that knows more than this one.
var errVersion = errors.New("board: the entry is of a version that this server does not know")

// version is the oldest one that can say the entry.
func (e Entry) version() int {
	switch {
	case e.Question != nil && e.Question.Kind == Write, e.Vote != nil && e.Vote.Script != "",
		e.Whole != nil && slices.ContainsFunc(e.Whole.Questions(), func(q *Question) bool { return q.Kind == Write }):
		return latestVersion
	case e.Taught != nil || e.Whole != nil && e.Whole.Lesson != nil:
		return lessonVersion
	}
	single := len(e.Made) == 0 || len(e.Made) == 1 && len(e.Made[0].Moves) == 1 && e.Dropped == nil
	if single && e.Going == nil && (e.Whole == nil || e.Whole.Going == nil) {
		return firstVersion
	}
	return goingVersion
}

// plainEntry is an entry as its fields are written.
type plainEntry Entry

// entryJSON is an entry of any version.
type entryJSON struct {
	plainEntry

	Moved *movedJSON `json:"moved,omitempty"` // of version 1
}

// movedJSON is what version 1 has for Made.
type movedJSON struct {
	Branch int             `json:"branch"`
	Parent int             `json:"parent"`
	Fork   int             `json:"fork"`
	After  int             `json:"after"`
	Move   json.RawMessage `json:"move"`
}

// MarshalJSON implements json.Marshaler.
func (e Entry) MarshalJSON() ([]byte, error) {
	out := entryJSON{plainEntry: plainEntry(e)}
	if out.V = e.version(); out.V == firstVersion {
		out.V = 0
		for _, m := range e.Made { // one at most
			out.Made, out.Moved = nil, &movedJSON{m.Branch, m.Parent, m.Fork, m.After, m.Moves[0]}
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler. It fails for an unknown version.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var in entryJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.V > latestVersion {
		return fmt.Errorf("%w: %d", errVersion, in.V)
	}
	*e = Entry(in.plainEntry)
	if m := in.Moved; m != nil {
		e.Made = []Made{{m.Branch, m.Parent, m.Fork, m.After, []json.RawMessage{m.Move}}}
	}
	return nil
}

// Stand is the place of the whole room.
type Stand struct {
	Branch int    `json:"branch"`
	At     int    `json:"at"`     // after so many moves
	Row    int    `json:"row"`    // within the move, 0 at its end
	Moment int    `json:"moment"` // the command within the row's script, 0 at its end
	Focus  string `json:"focus"`  // the part of the page that the host points at, or ""
}

// Part is the role of a member in a room.
type Part string

// The parts.
const (
	Host     Part = "host"
	Stage    Part = "stage"
	Player   Part = "player"
	Audience Part = "audience"
)

// Member is somebody who has joined.
type Member struct {
	ID      string `json:"id"`
	Part    Part   `json:"part"`
	Name    int    `json:"name"`           // of names
	Proof   string `json:"proof"`          // of the token, see Proof
	Conn    string `json:"conn,omitempty"` // the connection, "" while away
	From    string `json:"from,omitempty"` // where the connection comes from, a digest
	Removed bool   `json:"removed,omitempty"`
	Lost    bool   `json:"lost,omitempty"`   // does not follow any more, and says so to the hosts, who see how many do
	Doubts  int    `json:"doubts,omitempty"` // the question that the member finds wrong, 0 for none; hosts see how many do

	// Last is the greatest ID of a command that was decided, a join's aside.
	// Done says which were done, and Refusals why others were not: as many as
	// are remembered.
	Last     int64            `json:"last,omitempty"`
	Done     [][2]int64       `json:"done,omitempty"` // from one ID to another, growing
	Refusals map[int64]string `json:"refusals,omitempty"`
}

// outcome returns what became of the member's command of an ID up to Last: why
// it was refused, or "". It fails with errOld for what is not remembered.
func (m *Member) outcome(id int64) (refused string, err error) {
	if why, ok := m.Refusals[id]; ok {
		return why, nil
	}
	if slices.ContainsFunc(m.Done, func(span [2]int64) bool { return span[0] <= id && id <= span[1] }) {
		return "", nil
	}
	return "", errOld
}

// ByAge compares IDs of members: the one who joined first comes first, m2 before
// m10.
func ByAge(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// Here reports whether the member is connected.
func (m *Member) Here() bool { return m.Conn != "" && !m.Removed }

// votes reports whether the member is asked.
func (m *Member) votes() bool { return m.Part == Player || m.Part == Audience }

// Seat is the players of a thread: nobody, one member, or a table of them.
type Seat struct {
	By     []string          `json:"by,omitempty"`     // members
	Wishes map[string]string `json:"wishes,omitempty"` // of a table, by member: a Wish
	Since  int64             `json:"since,omitempty"`  // when the first wished, in milliseconds since 1970
	Tied   bool              `json:"tied,omitempty"`   // the wait is over, and the host decides
}

// Wishes of a player.
const (
	WishStep     = "step"
	WishWatchdog = "watchdog" // step the thread's background
	WishSlow     = "pause"
	WishCrash    = "crash"
	WishLose     = "lose-reply"
)

// Rules are the host's settings.
type Rules struct {
	Locked  bool     `json:"locked"`         // nobody new can join
	Allowed []string `json:"allowed"`        // faults that players may have happen to their threads
	Held    bool     `json:"held,omitempty"` // the host leads: players watch and vote

	Lobby  bool `json:"lobby,omitempty"`  // the stages show how one joins
	Veiled bool `json:"veiled,omitempty"` // the bars of a first vote are for hosts alone until the second

	Reserved bool `json:"reserved,omitempty"` // only hosts give seats: players claim none
}

// Question is asked of everybody.
type Question struct {
	ID      int                 `json:"id"`
	Scene   int                 `json:"scene,omitempty"` // the scenario in which it was asked, of State.Scenes
	Kind    string              `json:"kind"`
	Item    string              `json:"item,omitempty"` // of the course, whose question it is
	Stand   Stand               `json:"stand"`          // where it was asked
	Text    map[string]string   `json:"text"`           // by language
	Options map[string][]string `json:"options"`        // by language
	Right   int                 `json:"right"`
	Round   int                 `json:"round"` // from 1
	Closed  bool                `json:"closed"`
	Votes   map[string]int      `json:"votes,omitempty"`  // of this round, by member
	Before  []map[string]int    `json:"before,omitempty"` // of the earlier rounds
	Step    int                 `json:"step,omitempty"`   // the row after which it was asked, 0 at the start
	Until   int64               `json:"until,omitempty"`  // when the host would have the votes, in milliseconds since 1970; nothing happens then
	Told    bool                `json:"told,omitempty"`   // the host has shown all of it, however few were right

	// Of the kind Write.
	Call    string            `json:"call,omitempty"`    // whose script the class writes: "unlock"
	Start   string            `json:"start,omitempty"`   // what it begins with
	Scripts map[string]string `json:"scripts,omitempty"` // the last one of each member, of all rounds
}

// If this many in a hundred were right, talking helps: they can convince the others, and
// there are enough others to make it worth while (Mazur's peer instruction).
const (
	fewRight  = 35
	manyRight = 70
)

// FewRight reports whether so few were right that the answer stays hidden: fewer
// than 35 % of the voters in the last round. No votes at all do not count as few,
// and the verdict on a script gives no answer away.
func (q *Question) FewRight() bool {
	return q.Kind != Write && len(q.Votes) > 0 && 100*q.Counts(q.Round)[q.Right] < fewRight*len(q.Votes)
}

// Divided reports whether enough were right, and enough wrong, in the last round
// that they can convince each other.
func (q *Question) Divided() bool {
	return q.Kind != Write && len(q.Votes) > 0 && !q.FewRight() && 100*q.Counts(q.Round)[q.Right] <= manyRight*len(q.Votes)
}

// Talks reports whether a class should talk and then vote again: it is divided after its
// first vote, and neither its host nor the run has shown what is right.
func (s *State) Talks() bool {
	q := s.Question
	return q != nil && q.Closed && q.Round == 1 && q.Divided() && !q.Told && s.unshown()
}

// unshown reports whether the class is where it was asked: the run goes on from
// there, and has not shown the answer.
func (s *State) unshown() bool {
	q := s.Question
	return s.Stand.Branch == q.Stand.Branch && s.Stand.At == q.Stand.At
}

// Veiled reports whether only hosts see the first votes.
func (s *State) Veiled() bool {
	q := s.Question
	return q != nil && s.Rules.Veiled && !q.Told && (q.Round == 1 && q.Closed || q.Round == 2 && !q.Closed)
}

// Counts returns how many voted for each option in a round, from 1.
func (q *Question) Counts(round int) []int {
	counts := make([]int, len(q.Options[plain]))
	for _, option := range q.Rounds()[round-1] {
		counts[option]++
	}
	return counts
}

// Rounds returns the votes of each round, by member.
func (q *Question) Rounds() []map[string]int { return append(slices.Clone(q.Before), q.Votes) }

// Vote is one member's vote for an option of the open question, or the script that
// a member has written, whose verdict is that option.
type Vote struct {
	Member string `json:"member"`
	Option int    `json:"option"`
	Script string `json:"script,omitempty"`
}

// Branch is a line of moves.
type Branch struct {
	ID     int               `json:"id"`
	Parent int               `json:"parent"` // -1: none
	Fork   int               `json:"fork"`
	Moves  []json.RawMessage `json:"moves"`
}

// Scene is a scenario that a class goes through, and the branches it has made.
type Scene struct {
	Scenario json.RawMessage `json:"scenario"`        // without moves
	Title    lesson.Words    `json:"title,omitempty"` // what it is called in this room; nil: as its scenario
	First    int             `json:"first,omitempty"` // the ID of its first branch: IDs go on growing from scene to scene
	Goal     string          `json:"goal,omitempty"`  // the item of the course that has the class break it, "" for none
	Branches []Branch        `json:"branches"`
}

// size is how many bytes are kept of it, about.
func (s Scene) size() int {
	n := len(s.Scenario)
	for _, title := range s.Title {
		n += len(title)
	}
	for _, b := range s.Branches {
		for _, m := range b.Moves {
			n += len(m)
		}
	}
	return n
}

// State is a room after some entry. It is not safe for concurrent use.
type State struct {
	Scene // that the class is in

	Earlier []Scene `json:"earlier,omitempty"` // those before it, as they were left, the first first

	Code     string             `json:"code"`
	By       string             `json:"by,omitempty"` // who made it, as limits count: a digest
	Epoch    string             `json:"epoch"`
	Seq      int64              `json:"seq"`
	Opened   int64              `json:"opened"` // in milliseconds since 1970, like all instants
	Hosts    []string           `json:"hosts"`  // proofs of the secrets that make a host
	Made     int                `json:"made"`   // branches so far, of all scenes
	Stand    Stand              `json:"stand"`
	Going    *Going             `json:"going,omitempty"` // nil if nothing goes on by itself
	People   map[string]*Member `json:"people"`
	Seats    map[string]Seat    `json:"seats"`
	Question *Question          `json:"question,omitempty"`
	Past     []*Question        `json:"past,omitempty"`
	Rules    Rules              `json:"rules"`
	Lesson   *lesson.Lesson     `json:"lesson,omitempty"` // that the host goes through, nil for none: it stays
	Taught   Taught             `json:"taught,omitzero"`  // how far
	Deserted int64              `json:"deserted"`         // since when no host is here, 0 while one is
	Ended    bool               `json:"ended,omitempty"`
	Began    int64              `json:"began,omitempty"` // the seq of the whole entry that the log begins with
	Wrote    int                `json:"wrote,omitempty"` // bytes of scripts in the log since then
}

// Scenes returns all scenes, oldest first; the class is in the last one.
func (s *State) Scenes() []Scene { return append(slices.Clone(s.Earlier), s.Scene) }

// Branch returns a branch of the scene that the class is in, or nil.
func (s *State) Branch(id int) *Branch {
	for i := range s.Branches {
		if s.Branches[i].ID == id {
			return &s.Branches[i]
		}
	}
	return nil
}

// Asked returns how many of a branch's first moves lead to the place of the last
// question, or to where the class is now, or to where other moves lead there: the moves
// after them may be the answer. It is all of them without a question.
func (s *State) Asked(b Branch) int {
	places := []Stand{s.Stand}
	switch {
	case s.Question != nil:
		places = append(places, s.Question.Stand)
	case !s.Awaits():
		return len(b.Moves)
	}
	most := 0
	for _, place := range places {
		if of := s.Branch(place.Branch); of != nil {
			most = max(most, min(common(b.Moves, of.Moves), place.At))
		}
	}
	return most
}

// Questions returns all questions, oldest first.
func (s *State) Questions() []*Question {
	if s.Question == nil {
		return s.Past
	}
	return append(slices.Clone(s.Past), s.Question)
}

// Written returns the last question that asked for scripts, nil for none.
func (s *State) Written() *Question {
	for _, q := range slices.Backward(s.Questions()) {
		if len(q.Scripts) > 0 {
			return q
		}
	}
	return nil
}

// Voters returns the number of members who can vote.
func (s *State) Voters() int {
	n := 0
	for _, m := range s.People {
		if m.Here() && m.votes() {
			n++
		}
	}
	return n
}

// Lost returns how many of them have said that they are lost.
func (s *State) Lost() int {
	n := 0
	for _, m := range s.People {
		if m.Here() && m.votes() && m.Lost {
			n++
		}
	}
	return n
}

// Doubted returns how many have said that the last question is wrong.
func (s *State) Doubted() int {
	n := 0
	for _, m := range s.People {
		if s.Question != nil && m.votes() && m.Doubts == s.Question.ID {
			n++
		}
	}
	return n
}

// Present returns how many members are here.
func (s *State) Present() int {
	n := 0
	for _, m := range s.People {
		if m.Here() {
			n++
		}
	}
	return n
}

// How much is remembered of what became of a member's commands: so many that
// were refused, and so many spans of IDs without a gap that were done.
const (
	keptRefusals = 16
	keptSpans    = 32
)

// Fold applies an entry to the state.
func (s *State) Fold(e Entry) {
	if e.Whole != nil {
		*s = *e.Whole.clone()
		s.Seq, s.Began, s.Wrote = e.Seq, e.Seq, 0
		return
	}
	s.Seq = e.Seq
	for _, m := range e.People {
		m.Refusals, m.Done = maps.Clone(m.Refusals), slices.Clone(m.Done)
		s.People[m.ID] = &m
	}
	for _, id := range e.Gone {
		delete(s.People, id)
	}
	if m := s.People[e.Member]; m != nil && e.ID > m.Last && e.Do != DoJoin {
		m.decided(e.ID, e.Refused)
	}
	if e.Scene != nil {
		s.open(*e.Scene)
	}
	if e.Dropped != nil {
		s.Branches = slices.DeleteFunc(s.Branches, func(b Branch) bool { return b.ID == *e.Dropped })
	}
	for _, m := range e.Made {
		s.make(m)
	}
	if e.Going != nil {
		s.Going = e.Going
		if e.Going.To == "" {
			s.Going = nil
		}
	}
	if e.Stand != nil {
		s.Stand = *e.Stand
	}
	maps.Copy(s.Seats, e.Seats)
	s.ask(e)
	if e.Rules != nil {
		s.Rules = *e.Rules
	}
	if e.Taught != nil {
		s.Taught = *e.Taught
	}
	if e.Epoch != "" {
		s.Epoch = e.Epoch
	}
	s.Ended = s.Ended || e.Ended
	s.watch(e.At)
}

// decided notes what became of a command that is newer than all before it.
func (m *Member) decided(id int64, refused string) {
	n := len(m.Done)
	switch {
	case refused != "":
		m.refuse(id, refused)
	case n > 0 && m.Done[n-1][1] == id-1:
		m.Done[n-1][1] = id
	default:
		m.Done = append(m.Done[max(0, n+1-keptSpans):], [2]int64{id, id})
	}
	m.Last = id
}

func (m *Member) refuse(id int64, why string) {
	if m.Refusals == nil {
		m.Refusals = map[int64]string{}
	}
	m.Refusals[id] = why
	if len(m.Refusals) > keptRefusals {
		delete(m.Refusals, slices.Min(slices.Collect(maps.Keys(m.Refusals))))
	}
}

// open has the class go on to another scene.
func (s *State) open(next Scene) {
	s.Earlier = append(slices.Clip(s.Earlier), s.Scene)
	next.Branches = slices.Clone(next.Branches)
	s.Scene, s.Seats = next, map[string]Seat{}
	for _, b := range next.Branches {
		s.Made = max(s.Made, b.ID+1)
	}
}

func (s *State) make(m Made) {
	b := s.Branch(m.Branch)
	if b == nil {
		fresh := Branch{ID: m.Branch, Parent: m.Parent, Fork: m.Fork}
		if parent := s.Branch(m.Parent); parent != nil {
			fresh.Moves = slices.Clone(parent.Moves[:m.After])
		}
		s.Branches = append(s.Branches, fresh)
		s.Made = max(s.Made, m.Branch+1)
		b = &s.Branches[len(s.Branches)-1]
	}
	b.Moves = append(b.Moves[:m.After:m.After], m.Moves...)
}

func (s *State) ask(e Entry) {
	if s.Question != nil && (e.Shelved || e.Scene != nil || e.Question != nil && e.Question.ID != s.Question.ID) {
		s.Past = append(s.Past, s.Question)
		s.Question = nil
	}
	if e.Question != nil {
		s.Question = e.Question.clone()
	}
	if e.Vote != nil && s.Question != nil {
		if s.Question.Votes == nil {
			s.Question.Votes = map[string]int{}
		}
		s.Question.Votes[e.Vote.Member] = e.Vote.Option
		if e.Vote.Script != "" {
			if s.Question.Scripts == nil {
				s.Question.Scripts = map[string]string{}
			}
			s.Question.Scripts[e.Vote.Member] = e.Vote.Script
			s.Wrote += len(e.Vote.Script)
		}
	}
}

// watch notes since when no host is here.
func (s *State) watch(now int64) {
	for _, m := range s.People {
		if m.Part == Host && m.Here() {
			s.Deserted = 0
			return
		}
	}
	if s.Deserted == 0 {
		s.Deserted = now
	}
}

// entered reports whether a host has been here.
func (s *State) entered() bool { return s.Deserted != s.Opened }

// ends returns when the room ends by itself, if no host is here.
func (s *State) ends() int64 {
	if s.entered() {
		return s.Deserted + HostsAbsent.Milliseconds()
	}
	return s.Deserted + HostsCome.Milliseconds()
}

// deserted reports whether nobody is here, and no host has been lately.
func (s *State) deserted() bool { return s.Deserted > 0 && s.Present() == 0 }

func (q *Question) clone() *Question {
	c := *q
	c.Votes, c.Scripts = maps.Clone(q.Votes), maps.Clone(q.Scripts)
	return &c
}

// clone copies all that Fold changes.
func (s *State) clone() *State {
	c := *s
	c.Branches = slices.Clone(s.Branches)
	c.People = make(map[string]*Member, len(s.People))
	for id, m := range s.People {
		one := *m
		one.Refusals, one.Done = maps.Clone(m.Refusals), slices.Clone(m.Done)
		c.People[id] = &one
	}
	c.Seats = maps.Clone(s.Seats)
	if c.Seats == nil {
		c.Seats = map[string]Seat{}
	}
	if s.Question != nil {
		c.Question = s.Question.clone()
	}
	c.Past = slices.Clone(s.Past)
	c.Earlier = slices.Clone(s.Earlier)
	return &c
}
