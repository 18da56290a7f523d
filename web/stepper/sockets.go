// Package stepper is the socket of pages that step: their commands and the frames in answer, what
// can be asked of branches, and the searches. It has three tenants: a page alone, a page with
// a lab, and a class, which has its own socket and asks here.
//
// It does not know the pages that it serves.
package stepper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"relock/engine/course"
	"relock/engine/fault"
	"relock/engine/panics"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/limit"
	"relock/web/templates"
	"relock/web/words"
)

// Sockets serve pages that step, alone or with a lab, and answer what is asked while a class
// steps. They are safe for concurrent use.
type Sockets struct {
	*shell.Pages

	Sessions *runs.Registry
	Searches *Searches
	Ledger   *limit.Ledger // what sessions hold
	Course   func() *course.Course
}

// Explained is why a command was refused, in a sentence. It logs errors that mean nothing
// to a visitor.
func (s *Sockets) Explained(ctx context.Context, l words.Language, do string, err error) string {
	refused, ok := l.Explain(err)
	if ok {
		return refused
	}
	s.wentWrong(ctx, do, err)
	return l.Say("Something went wrong here. It was logged.")
}

// wentWrong logs an error that means nothing to a visitor.
func (s *Sockets) wentWrong(ctx context.Context, do string, err error) {
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		s.Panicked(ctx, site.OfPlay, panicked)
		return
	}
	s.Log.ErrorContext(ctx, "command failed", slog.String("do", do), slog.String("error", err.Error()))
}

// Described is what a page needs to know of a scenario before its rows come.
func (s *Sockets) Described(l words.Language, sc *scenario.Scenario) (*Opened, error) {
	text, err := sc.Compact()
	if err != nil {
		return nil, fmt.Errorf("stepper: %w", err)
	}
	shown := film.NewScenario(l, sc)
	o := &Opened{Scenario: text, Title: shell.TitleOf(l, sc), Lease: shown.LeaseMillis, Key: shown.Key, Never: page.NewNever(l, sc)}
	for _, t := range shown.Threads {
		o.Threads = append(o.Threads, t.Name)
	}
	if o.Head, err = templates.Text(l, templates.Head(shown)); err != nil {
		return nil, err
	}
	if o.Stage, err = templates.Text(l, templates.Stage(shown, page.Before(l, sc))); err != nil {
		return nil, err
	}
	if o.Rail, err = templates.Text(l, templates.Rail(shown)); err != nil {
		return nil, err
	}
	if o.Setup, err = templates.Text(l, templates.Setup(page.NewSettings(l, string(text)))); err != nil {
		return nil, err
	}
	if o.Lua, err = templates.Text(l, templates.Lua(film.Scripts(l, sc))); err != nil {
		return nil, err
	}
	if o.Kinds, err = kindsOf(l, sc); err != nil {
		return nil, err
	}
	switch name, changed := s.exampleOf(sc); {
	case changed:
		o.Title = l.Say("%s (changed)", o.Title)
	case name != "":
		shown, err := shell.ExhibitOf(name)
		if err != nil {
			return nil, err
		}
		ending, err := shell.EndingOf(l, name)
		if err != nil {
			return nil, err
		}
		o.Shows = l.Say(shown.Shows)
		if o.Ways, err = templates.Text(l, templates.EndingWays(ending)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// exampleOf is the name of the bundled scenario that sc is, whatever moves were
// made in it, or "", and then whether sc still has the title of one.
func (s *Sockets) exampleOf(sc *scenario.Scenario) (name string, changed bool) {
	text := bare(sc)
	for _, e := range s.Examples {
		if e.Scenario().Title != sc.Title {
			continue
		}
		if bare(e.Scenario()) == text {
			return e.Name, false
		}
		changed = true
	}
	return "", changed
}

// bare is a scenario without moves and expectations, "" where it cannot be
// written.
func bare(sc *scenario.Scenario) string {
	without := *sc
	without.Schedule, without.Expect = nil, nil
	text, err := without.Compact()
	if err != nil {
		return ""
	}
	return string(text)
}

// kindsOf are the kinds of faults that a search may have strike.
func kindsOf(l words.Language, sc *scenario.Scenario) (string, error) {
	var list []page.Kind
	for _, name := range sc.StrikeKinds() {
		list = append(list, page.Kind{Name: name, Label: l.Clause(fault.Word(name))})
	}
	return templates.Text(l, templates.ExploreKinds(list))
}
