package web

import (
	"context"
	"reflect"
	"time"

	"relock/web/board"
	"relock/web/shell"
	"relock/web/site"
)

// MaxForm is how many bytes of a form are read.
const MaxForm = shell.MaxForm

// Routes are the patterns that a server answers.
func Routes(s *Server) []string { return s.routes }

// SetPace sets how long a body may take to begin, and to go on, and how many
// bytes a second it must have in all.
func SetPace(s *Server, first time.Duration, floor int) {
	s.Pace = site.Pace{First: first, Floor: floor}
}

// Drawings are the lanes that are kept of a room as it is now.
func Drawings(ctx context.Context, s *Server, code string) (list []any) {
	found, err := s.rooms.House.Room(ctx, code)
	if err != nil {
		return nil
	}
	_ = found.Look(func(v board.View) error {
		lanes, drawn := v.Fresh["lanes"]
		if !drawn {
			return nil
		}
		for _, one := range reflect.ValueOf(lanes).Seq2() {
			list = append(list, one.Interface())
		}
		return nil
	})
	return list
}

// Held is how many bytes stepping and rooms hold, as they are counted.
func Held(s *Server) int { return s.stepping.Ledger.Held() }

// HeldBySearches is how many bytes searches hold.
func HeldBySearches(s *Server) int { return s.stepping.Searches.Held() }

// Searches is how many searches are under way or wait for that.
func Searches(s *Server) int { return s.stepping.Searches.Count() }

// Searching has searches of somebody under way or waiting until done is called. It
// fails as a search does that finds the line full.
func Searching(ctx context.Context, s *Server, whose string) (done func(), err error) {
	ctx, end := context.WithCancel(ctx)
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.stepping.Searches.InTurn(ctx, s.Turns.Seat(""), whose, 0, func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return nil
		})
	}()
	select {
	case <-began:
		return func() { end(); <-ended }, nil
	case err := <-ended:
		end()
		return nil, err
	}
}

// Made is how many answers that are the same for all were made.
func Made(s *Server) int { return s.Site.Made() }

// NewRoom makes a room of which no visitor knows.
func NewRoom(ctx context.Context, s *Server) (code string, err error) {
	code, _, err = s.rooms.House.Open(ctx, board.Plan{Scenario: s.Examples[0].Scenario()})
	return code, err
}

// Films is how many bytes of films a server keeps, and how often it has folded
// one that it keeps.
func (s *Server) Films() (bytes, folded int) { return s.films.Bytes(), s.films.Folded() }
