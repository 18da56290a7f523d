package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"relock/engine/outside/box"
	"relock/engine/outside/ownlock"
	"relock/engine/scenario"
	"relock/web/page"
	"relock/web/words"
)

// withBox returns a context in which the locks can be run, and a function that
// ends the box that own ones need. If the kernel lacks a wall, it says so and goes on
// without: they are the caller's own scripts.
func withBox(ctx context.Context, env environment, l words.Language, locks ...scenario.Lock) (in context.Context, end func()) {
	if !slices.ContainsFunc(locks, scenario.Lock.Own) {
		return ctx, func() {}
	}
	b, err := box.New(box.Options{})
	if errors.Is(err, box.ErrUnavailable) {
		env.tell("your scripts run without walls, with your rights: %s", err)
		b, err = box.New(box.Options{Unwalled: true})
	}
	if err != nil {
		return ctx, func() {} // the run says that it has no box
	}
	return ownlock.WithBox(ctx, b), func() { _ = b.Close() }
}

// locksOf are the scenarios' locks.
func locksOf(scenarios []*scenario.Scenario) []scenario.Lock {
	locks := make([]scenario.Lock, len(scenarios))
	for i, sc := range scenarios {
		locks[i] = sc.Lock
	}
	return locks
}

// ownMistake says what is wrong with an own script of a scenario, with its file and
// line, if that is what err is. If the line is unknown, it is the script's first.
func ownMistake(ctx context.Context, env environment, l words.Language, name string, sc *scenario.Scenario, err error) bool {
	var m *ownlock.Mistake
	if !errors.As(err, &m) {
		return false
	}
	place := name
	if line := sc.ScriptLine(m.Call, max(m.Line, 1)); line > 0 {
		place = fmt.Sprintf("%s:%d", name, line)
	}
	fmt.Fprintf(env.err, "playground: %s: %s\n", place, l.Sentence(m.Says()))
	for _, note := range append(page.NotesOnRun(ctx, l, sc, nil), page.NotesOnScripts(l, sc.Lock)...) { // which may be why
		fmt.Fprintln(env.err, note)
	}
	return true
}
