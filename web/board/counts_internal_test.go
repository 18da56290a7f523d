package board

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Who is away counts nowhere, and a host and a stage neither vote nor get lost.
func TestWhoIsCounted(t *testing.T) {
	s := &State{Deserted: 1, People: map[string]*Member{
		"m1": {Part: Player, Conn: "c", Lost: true}, "m2": {Part: Audience, Conn: "c"}, "m3": {Part: Player, Conn: "c"},
		"m4": {Part: Player, Lost: true}, "m5": {Part: Player, Conn: "c", Lost: true, Removed: true}, // away, and removed
		"m6": {Part: Host, Conn: "c", Lost: true}, "m7": {Part: Stage, Conn: "c", Lost: true},
	}}
	if voters, lost, present := s.Voters(), s.Lost(), s.Present(); voters != 3 || lost != 1 || present != 5 {
		t.Errorf("%d voters, %d lost, %d present; want 3, 1, 5", voters, lost, present)
	}
	if s.deserted() {
		t.Error("nobody is there, while five are")
	}
	for _, m := range s.People {
		m.Conn = ""
	}
	if !s.deserted() || s.Voters()+s.Lost()+s.Present() != 0 {
		t.Errorf("all are away: %d voters, %d lost, %d present, deserted %v", s.Voters(), s.Lost(), s.Present(), s.deserted())
	}
}

// A class talks, and votes again, where it is divided after its first vote, and nobody
// has shown it what is right.
func TestWhenAClassTalks(t *testing.T) {
	for _, c := range []struct {
		does  string
		with  func(s *State)
		talks bool
	}{
		{"it is divided", func(*State) {}, true},
		{"its host has shown what is right", func(s *State) { s.Question.Told = true }, false},
		{"the run has shown it", func(s *State) { s.Stand.At++ }, false},
		{"it has voted again", func(s *State) { s.Question.Round, s.Question.Before = 2, []map[string]int{{"a": 0}} }, false},
		{"it still votes", func(s *State) { s.Question.Closed = false }, false},
	} {
		s := &State{Question: &Question{Kind: Predict, Options: map[string][]string{plain: {"x", "y"}}, Round: 1, Closed: true, Votes: map[string]int{"a": 0, "b": 1}}}
		c.with(s)
		if s.Talks() != c.talks {
			t.Errorf("%s: talks %v, want %v", c.does, !c.talks, c.talks)
		}
	}
}

// A veil is over the bars from the end of the first vote to the end of the second.
func TestWhenBarsAreVeiled(t *testing.T) {
	for _, c := range []struct {
		round               int
		closed, told, rules bool
		veiled              bool
	}{
		{1, false, false, true, false},
		{1, true, false, true, true},
		{2, false, false, true, true},
		{2, true, false, true, false},
		{3, false, false, true, false},
		{1, true, true, true, false},
		{2, false, true, true, false},
		{1, true, false, false, false},
	} {
		s := &State{Rules: Rules{Veiled: c.rules}, Question: &Question{Round: c.round, Closed: c.closed, Told: c.told}}
		if s.Veiled() != c.veiled {
			t.Errorf("%+v: veiled %v", c, s.Veiled())
		}
	}
	if (&State{Rules: Rules{Veiled: true}}).Veiled() {
		t.Error("no question, and its bars are veiled")
	}
}

// Of each branch a class sees the moves up to where it was asked, or is now: those after
// them may be the answer.
func TestMovesThatMayBeTheAnswer(t *testing.T) {
	moves := func(list ...int) []json.RawMessage {
		var raw []json.RawMessage
		for _, one := range list {
			raw = append(raw, json.RawMessage(fmt.Sprint(one)))
		}
		return raw
	}
	s := &State{Scene: Scene{Branches: []Branch{{ID: 0, Moves: moves(0, 1, 0, 0)}, {ID: 1, Moves: moves(0, 1, 1, 1)}, {ID: 2, Moves: moves(1, 1)}}}}
	for _, c := range []struct {
		asked, now Stand
		want       string
	}{
		{Stand{At: 1}, Stand{At: 1}, "[1 1 0]"},
		{Stand{At: 1}, Stand{At: 3}, "[3 2 0]"},            // it has gone on
		{Stand{At: 2}, Stand{Branch: 2, At: 1}, "[2 2 1]"}, // it has gone elsewhere
	} {
		s.Question, s.Stand = &Question{Stand: c.asked}, c.now
		var got []int
		for _, b := range s.Branches {
			got = append(got, s.Asked(b))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("asked at %+v, now at %+v: %v, want %s", c.asked, c.now, got, c.want)
		}
	}
}

// Nobody but servers learns who is lost, and by what others could pass for a member.
func TestWhatIsPublicOfAMember(t *testing.T) {
	m := Member{ID: "m1", Part: Player, Proof: "proof", Conn: "conn", From: "from", Lost: true}
	e := Entry{Conn: "conn", People: []Member{m}, Whole: &State{Hosts: []string{"proof"}, By: "from", People: map[string]*Member{"m1": &m}}}.Public()
	for _, got := range []Member{e.People[0], *e.Whole.People["m1"]} {
		if got.Proof+got.Conn+got.From != "" || got.Lost {
			t.Errorf("%+v", got)
		}
	}
	if e.Conn != "" || e.Whole.Hosts != nil || e.Whole.By != "" || !m.Lost {
		t.Errorf("%+v of %+v", e, m)
	}
}
