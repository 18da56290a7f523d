package class

import (
	"crypto/subtle"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/export"
	"relock/web/link"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/stepper"
	"relock/web/words"
)

// Limits of rooms.
const (
	maxRooms          = 500
	maxRoomsOfAddress = 60 // that were made from there and go on
	shareOfFree       = 4  // an address may have one of so many parts of what is free: a few cannot take all
	guessesPerMinute  = 60 // codes of no room, from one address
	mostDebt          = 30 // seconds that one more has to wait, at most, for going on
	answerNoSooner    = 60 * time.Millisecond
)

var (
	errNoRoom = site.Refuse(http.StatusNotFound, "There is no such room",
		"The code may be mistyped: it has six letters and digits, without 0, O, 1, I and L. Or the room has ended with its class.")
	errGuessing = &site.Error{
		Status: http.StatusTooManyRequests, Head: "One moment, please", Limit: "room-codes", After: time.Minute,
		Text: func(l words.Language) string {
			return l.Say("Too many wrong codes came from your address. Wait a minute, then look at the code once more.")
		},
	}
	errRooms = &site.Error{
		Status: http.StatusServiceUnavailable, Head: "No room just now", Limit: "rooms", After: time.Minute,
		Text: func(l words.Language) string {
			return l.Say("The limit of rooms is reached, on this server or from your address. End one that is over, or try again later.")
		},
	}
	errUnreached = site.Refuse(http.StatusServiceUnavailable, "Rooms cannot be reached right now",
		"Their storage does not answer, or takes no writes right now. They go on when it does. Reload the page in a moment.")
	errSpoiled = site.Refuse(http.StatusInternalServerError, "This room cannot be read",
		"Its log is damaged. The operator of this server finds it in the server's log. Make a new room.")
	errNotHost = site.Refuse(http.StatusForbidden, "Only the host can see this",
		"Open it in the browser that made the room, or with the link for co-hosts.")
)

// Pages are the pages of classes, and their sockets.
type Pages struct {
	*shell.Pages

	House    *board.House
	plans    *plans
	frames   nowFrames
	stepping *stepper.Sockets
	guesses  guesses
	visits   sync.WaitGroup
}

// guesses counts wrong codes, by address, and remembers which codes an address has had
// right: somebody who guesses cannot shut out a class behind the same address. It is safe
// for concurrent use.
type guesses struct {
	mu    sync.Mutex
	of    map[string]*rate.Limiter
	right map[string]bool // address and code
}

// maxRight is how many right codes are remembered.
const maxRight = 20_000

func (g *guesses) found(address, code string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.right == nil || len(g.right) >= maxRight {
		g.right = map[string]bool{}
	}
	g.right[address+" "+code] = true
}

func (g *guesses) knows(address, code string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.right[address+" "+code]
}

func (g *guesses) limiter(address string) *rate.Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil || len(g.of) > 10_000 {
		g.of = map[string]*rate.Limiter{}
	}
	l := g.of[address]
	if l == nil {
		l = rate.NewLimiter(rate.Every(time.Minute/guessesPerMinute), guessesPerMinute)
		g.of[address] = l
	}
	return l
}

// room returns the room that r's path names. A wrong code takes as long as a
// right one, and few can be tried.
func (s *Pages) roomOf(r *http.Request) (*board.Room, error) {
	began := time.Now()
	defer s.takeAtLeast(r, began)
	limiter := s.guesses.limiter(site.Address(r))
	code, err := board.ParseCode(r.PathValue("code"))
	if limiter.Tokens() < 1 && (err != nil || !s.guesses.knows(site.Address(r), code)) {
		if limiter.Tokens() > -mostDebt {
			limiter.Reserve() // who goes on guessing waits longer
		}
		return nil, errGuessing
	}
	var found *board.Room
	if err == nil {
		found, err = s.House.Room(r.Context(), code)
	}
	switch {
	case errors.Is(err, board.ErrNoRoom):
		limiter.Allow()
		return nil, errNoRoom
	case errors.Is(err, board.ErrSpoiled):
		return nil, errSpoiled
	case errors.Is(err, board.ErrUnreached):
		return nil, errUnreached
	case err != nil:
		return nil, fmt.Errorf("class: %w", err)
	}
	s.guesses.found(site.Address(r), code)
	return found, nil
}

// takeAtLeast lets time pass, without the visitor's turn.
func (s *Pages) takeAtLeast(r *http.Request, began time.Time) {
	rest := time.NewTimer(answerNoSooner - time.Since(began))
	defer rest.Stop()
	site.SeatOf(r).Away(r.Context(), func() {
		select {
		case <-rest.C:
		case <-r.Context().Done():
		}
	})
}

// hostCookie is the name of the cookie that makes its bearer a room's host.
func hostCookie(code string) string { return "relock-room-" + code }

func (s *Pages) setHost(w http.ResponseWriter, r *http.Request, code, secret string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the request came by TLS
		Name: hostCookie(code), Value: secret, Path: "/room/" + code, MaxAge: int((24 * time.Hour).Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.Secure(r),
	})
}

// hosts reports whether a secret makes a host of a room.
func hosts(found *board.Room, secret string) bool {
	host := false
	_ = found.Look(func(v board.View) error {
		host = secret != "" && slices.ContainsFunc(v.State.Hosts, func(proof string) bool {
			return subtle.ConstantTimeCompare([]byte(proof), []byte(board.Proof(secret))) == 1
		})
		return nil
	})
	return host
}

// hosted returns the room that r's path names, if its cookie or its bearer
// token is a host's.
func (s *Pages) hosted(r *http.Request) (*board.Room, error) {
	found, err := s.roomOf(r)
	if err != nil {
		return nil, err
	}
	if !leads(r, found) {
		return nil, errNotHost
	}
	return found, nil
}

// leads reports whether a request's cookie or its bearer token is a host's.
func leads(r *http.Request, found *board.Room) bool {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return hosts(found, site.Cookie(r, hostCookie(found.Code()))) || hosts(found, bearer)
}

// LogFile answers a host with the room's log, as JSON Lines.
func (s *Pages) LogFile(w http.ResponseWriter, r *http.Request) error {
	found, err := s.hosted(r)
	if err != nil {
		return err
	}
	list, err := found.Log(r.Context())
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="room-`+found.Code()+`.jsonl"`)
	w.Header().Set("Cache-Control", "no-store")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range list {
		_ = enc.Encode(e.Public()) // the visitor has left: nobody to tell
	}
	return nil
}

// Votes answers a host with every vote of the room, as CSV.
func (s *Pages) Votes(w http.ResponseWriter, r *http.Request) error {
	found, err := s.hosted(r)
	if err != nil {
		return err
	}
	l := words.From(r.Context()).Plain()
	rows := [][]string{{"question", "asked", "round", "member", "option", "answer", "right", "votes", "share", "step", "scenario", "title"}} // for programs: the same in every language
	err = found.Look(func(v board.View) error {
		scenarios, err := scenariosOf(v)
		if err != nil {
			return err
		}
		scenes := v.State.Scenes()
		for _, q := range v.State.Questions() {
			for round, votes := range q.Rounds() {
				rights := 0
				for _, option := range votes {
					if option == q.Right {
						rights++
					}
				}
				for _, member := range slices.Sorted(maps.Keys(votes)) {
					name := ""
					if m := v.State.People[member]; m != nil {
						name = board.Nickname(m.Name, l.Code())
					}
					option := votes[member]
					rows = append(rows, []string{
						strconv.Itoa(q.ID), export.Inert(inLanguage(q.Text, l)), strconv.Itoa(round + 1), name, strconv.Itoa(option + 1),
						export.Inert(inLanguage(q.Options, l)[option]), strconv.FormatBool(option == q.Right),
						strconv.Itoa(len(votes)), strconv.Itoa(100*rights/len(votes)) + "%", "T" + strconv.Itoa(q.Step), strconv.Itoa(q.Scene + 1), export.Inert(titleOf(l, scenes[q.Scene], scenarios[q.Scene])),
					})
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="votes-`+found.Code()+`.csv"`)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("\ufeff"))    // so that spreadsheets take it as UTF-8
	_ = csv.NewWriter(w).WriteAll(rows) // the visitor has left: nobody to tell
	return nil
}

// linkedBranch is a branch of a room, as one takes it home.
type linkedBranch struct {
	Branch int    `json:"branch"`
	Parent int    `json:"parent"`
	Fork   int    `json:"fork"`
	Number int    `json:"number"` // in its scenario, 0 for the one that it begins with
	Scene  int    `json:"scene"`  // the number of its scenario, from 0
	Title  string `json:"title"`  // and its title, "" where it has none
	Link   string `json:"link"`
}

// earlierScenarios is where a View keeps those that the class has gone through.
const earlierScenarios = "earlier/scenarios"

// scenariosOf returns all scenarios that the class has gone through, and the one
// that it is in as the last.
func scenariosOf(v board.View) ([]*scenario.Scenario, error) {
	list, known := v.Kept[earlierScenarios].([]*scenario.Scenario)
	if !known {
		for _, scene := range v.State.Earlier {
			sc, err := scenario.Parse(scene.Scenario)
			if err != nil {
				return nil, fmt.Errorf("class: %w", err)
			}
			list = append(list, sc)
		}
		v.Kept[earlierScenarios] = list
	}
	return append(slices.Clone(list), v.Run.Scenario()), nil
}

// linked returns the branches of a room, each at its end: those of the first
// scenario first. For who is asked what comes they end where that is asked.
func linked(l words.Language, v board.View, asked bool) ([]linkedBranch, error) {
	scenarios, err := scenariosOf(v)
	if err != nil {
		return nil, err
	}
	kept := "earlier/linked/" + l.Code()
	list, known := v.Kept[kept].([]linkedBranch)
	if !known {
		list = []linkedBranch{} // never null
		for n, scene := range v.State.Earlier {
			if list, err = linkedOf(l, list, n, scene, scenarios[n]); err != nil {
				return nil, err
			}
		}
		v.Kept[kept] = list
	}
	now, scene := len(v.State.Earlier), v.State.Scene
	if asked {
		scene.Branches = slices.Clone(scene.Branches)
		for i, b := range scene.Branches {
			scene.Branches[i].Moves = b.Moves[:v.State.Asked(b)]
		}
	}
	return linkedOf(l, slices.Clone(list), now, scene, scenarios[now])
}

// linkedOf adds a scene's branches to a list.
func linkedOf(l words.Language, list []linkedBranch, n int, scene board.Scene, sc *scenario.Scenario) ([]linkedBranch, error) {
	for _, b := range scene.Branches {
		moves, err := stepper.MovesOf(sc, b.Moves)
		if err != nil {
			return nil, err
		}
		text, err := link.Encode(link.Contents{Scenario: sc.WithSchedule(moves), At: len(moves)})
		if err != nil {
			return nil, fmt.Errorf("class: %w", err)
		}
		list = append(list, linkedBranch{
			Branch: b.ID, Parent: b.Parent, Fork: b.Fork, Number: b.ID - scene.First, Scene: n, Title: titleOf(l, scene, sc), Link: "/play#" + text,
		})
	}
	return list, nil
}

// Branches answers with a link to each branch that was made.
func (s *Pages) Branches(w http.ResponseWriter, r *http.Request) error {
	found, err := s.roomOf(r)
	if err != nil {
		return err
	}
	host := leads(r, found)
	var list []linkedBranch
	err = found.Look(func(v board.View) (err error) {
		list, err = linked(words.From(r.Context()), v, !host && covered(v))
		return err
	})
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	site.AnswerJSON(w, http.StatusOK, list)
	return nil
}

// inLanguage returns what there is in a language, or else in English.
func inLanguage[T any](of map[string]T, l words.Language) T {
	if one, ok := of[l.Code()]; ok {
		return one
	}
	return of[words.English.Code()]
}
