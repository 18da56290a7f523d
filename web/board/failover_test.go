package board_test

import (
	"strings"
	"testing"
	"time"

	"relock/engine/lock/locktest"
	"relock/engine/store/storetest"
	"relock/web/board"
	"relock/web/board/stream"
)

// back joins as the same member again, by another connection.
func (m *member) back(h *board.House, code string, part board.Part, secret string) (again *member, refused string) {
	m.t.Helper()
	again = enter(m.t, h, code)
	again.id = m.id
	refused = again.give(1, `{"do":"join","part":"`+string(part)+`","secret":"`+secret+`","member":"`+m.joined.Member+`","token":"`+m.joined.Token+`"}`)
	return again, refused
}

// The Redis of a room dies, and a replica that lacks the end takes its place.
// All are led back to what it has; what it lacks can be done again; nothing
// counts twice.
func TestAReplicaTakesOver(t *testing.T) {
	master := storetest.Start(t)
	host, port, _ := strings.Cut(master.Addr, ":")
	replica := storetest.Start(t, "--replicaof", host, port)
	network, err := locktest.Listen(master.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	servers := []*board.House{
		newHouse(t, onRedis(t, network.Addr(), stream.Options{Beat: 50 * time.Millisecond})),
		newHouse(t, onRedis(t, network.Addr(), stream.Options{Beat: 50 * time.Millisecond})),
	}
	code, secret := open(t, servers[0])
	teacher := joinAs(t, servers[0], code, board.Host, secret)
	a, b := joinAs(t, servers[1], code, board.Player, ""), joinAs(t, servers[1], code, board.Audience, "")
	a.mustDo(`{"do":"claim","thread":"A"}`, `{"do":"step","thread":"A"}`)
	teacher.mustDo(`{"do":"ask","kind":"predict"}`)
	a.mustDo(`{"do":"vote","option":1}`)

	// The replica has all of that, and nothing of what follows.
	direct, second := storetest.Client(master.Addr), storetest.Client(replica.Addr)
	t.Cleanup(func() { _, _ = direct.Close(), second.Close() })
	head := "relock:room:{" + code + "}:head"
	until(t, "the replica to have all", func() bool {
		return second.HGet(t.Context(), head, "seq").Val() == direct.HGet(t.Context(), head, "seq").Val()
	})
	if err := second.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	kept := state(t, servers[0], code)
	b.mustDo(`{"do":"vote","option":0}`)
	late := joinAs(t, servers[1], code, board.Audience, "")
	teacher.mustDo(`{"do":"reveal"}`, `{"do":"close"}`, `{"do":"step"}`)
	told := state(t, servers[1], code)
	if told.Epoch != kept.Epoch || told.Seq <= kept.Seq {
		t.Fatalf("nothing was told that is to be lost: seq %d and %d", kept.Seq, told.Seq)
	}

	master.Kill()
	began := time.Now()
	network.Redirect(replica.Addr)
	for _, m := range []*member{teacher, a, b, late} {
		m.closes(board.Restarts)
	}
	back := func(m *member, h *board.House, part board.Part, secret string) *member {
		t.Helper()
		var again *member
		var refused string
		until(t, "the room to be there", func() bool {
			again, refused = m.back(h, code, part, secret)
			return refused == "" || refused != board.ErrUnreached.Error()
		})
		if refused != "" {
			t.Fatalf("%s: %s", m.joined.Member, refused)
		}
		return again
	}
	teacher, a, b = back(teacher, servers[0], board.Host, secret), back(a, servers[0], board.Player, ""), back(b, servers[1], board.Audience, "")
	t.Logf("all are back after %d ms", time.Since(began).Milliseconds())
	if a.joined.Mine == nil || *a.joined.Mine != 1 || b.joined.Mine != nil {
		t.Errorf("votes: A's %v, want that for 1; B's %v, want none", a.joined.Mine, b.joined.Mine)
	}
	if _, refused := late.back(servers[1], code, board.Audience, ""); refused == "" {
		t.Error("a member of whom nothing is known was let in as the same")
	}
	for _, h := range servers {
		var s *board.State
		until(t, "a new epoch", func() bool { s = state(t, h, code); return s.Epoch != kept.Epoch })
		if q := s.Question; q == nil || q.Closed || len(q.Votes) != 1 || len(s.Branches[0].Moves) != 1 {
			t.Errorf("the question is %+v, after %d moves", s.Question, len(s.Branches[0].Moves))
		}
	}

	// The class does it again, on either server.
	b.mustDo(`{"do":"vote","option":0}`)
	teacher.mustDo(`{"do":"reveal"}`, `{"do":"close"}`, `{"do":"step"}`)
	joinAs(t, servers[1], code, board.Audience, "")
	var s *board.State
	until(t, "both to see it", func() bool { s = state(t, servers[1], code); return len(s.Branches[0].Moves) == 2 })
	if votes := s.Past[0].Votes; len(s.Past) != 1 || len(votes) != 2 {
		t.Errorf("%d questions, votes %v", len(s.Past), votes)
	}
	r, err := servers[1].Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Log(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	did := map[string]int{}
	for i, e := range list {
		if e.Seq != list[0].Seq+int64(i) {
			t.Errorf("entry %d has seq %d", i, e.Seq)
		}
		if e.Epoch != "" {
			did["epoch"]++
		}
		if e.Refused == "" {
			did[e.Do]++
		}
	}
	for what, times := range map[string]int{"epoch": 1, "vote": 2, "reveal": 1, "close": 1, "step": 2} {
		if did[what] != times {
			t.Errorf("%s is in the log %d times, want %d", what, did[what], times)
		}
	}
}
