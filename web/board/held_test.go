package board_test

import (
	"errors"
	"log/slog"
	"testing"

	"relock/web/board"
	"relock/web/site/limit"
)

// ledgered is a house whose rooms may hold so many bytes.
func ledgered(t *testing.T, ofAddress, ofAll int) (*board.House, *limit.Ledger) {
	t.Helper()
	ledger := limit.NewLedger(ofAddress, ofAll)
	h := board.NewHouse(board.Config{Journal: solo(t, ""), Log: slog.New(slog.DiscardHandler), Ask: asked, Plan: planned, Ledger: ledger})
	t.Cleanup(h.Close)
	return h, ledger
}

// looked has the room's run made, as showing it does.
func looked(t *testing.T, h *board.House, code string) {
	t.Helper()
	r, err := h.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Look(func(v board.View) error {
		v.Kept["film"] = large{}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// large is something that a view keeps.
type large struct{}

func (large) Size() int { return 20 << 20 }

// Rooms' caches give way to others, even while people are in them; and go when everybody
// has left.
func TestWhatRoomsKeepGivesWay(t *testing.T) {
	h, ledger := ledgered(t, 100<<20, 30<<20)
	first, secret := open(t, h)
	host := joinAs(t, h, first, board.Host, secret)
	looked(t, h, first)
	if held := ledger.Held(); held < 20<<20 {
		t.Fatalf("%d bytes are counted", held)
	}
	second, secret := open(t, h)
	other := joinAs(t, h, second, board.Host, secret)
	looked(t, h, second)
	until(t, "the first room to give way", func() bool { return ledger.Held() < 30<<20 })
	host.mustDo(`{"do":"step"}`) // it goes on all the same
	other.mustDo(`{"do":"step"}`)
	host.client.Leave()
	other.client.Leave()
	until(t, "what nobody needs to go", func() bool { return ledger.Held() < 4<<20 })
}

// If nothing gives way, moves are refused, and the host reads why.
func TestNoMovesWhereThereIsNoMemory(t *testing.T) {
	h, ledger := ledgered(t, 100<<20, 30<<20)
	code, secret := open(t, h)
	host := joinAs(t, h, code, board.Host, secret)
	host.mustDo(`{"do":"step"}`)
	stepping := ledger.Open("192.0.2.1")
	if err := stepping.Hold(40 << 20); !errors.Is(err, limit.ErrFullServer) {
		t.Fatal(err)
	}
	for _, command := range []string{
		`{"do":"step"}`, `{"do":"time","by":"5ms"}`, `{"do":"run","to":"end"}`, `{"do":"cut","branch":0,"at":0}`, `{"do":"add","moves":[0,0]}`,
	} {
		if refused := host.do(command); refused == "" || state(t, h, code).Stand.At != 1 {
			t.Errorf("%s: a move was made: %q", command, refused)
		}
	}
	stepping.Close()
	host.mustDo(`{"do":"step"}`)
}
