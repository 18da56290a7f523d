package class

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"relock/engine/course"
	"relock/lessons"
	"relock/web/board"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// scripted is where a class goes to break a script that one of it has written.
func (s *plans) scripted(_ context.Context, item, script string) (board.Plan, error) {
	found, ok := s.course().Item(item)
	if !ok { // another server's course had it
		return board.Plan{}, errNoPlan
	}
	task, err := course.TaskOf[*course.Writing](found)
	if err != nil {
		return board.Plan{}, fmt.Errorf("class: %w", err)
	}
	sc, err := task.With(script)
	if err == nil {
		sc, err = sc.Change(map[string]any{"title": string(lessons.OfAClass)})
	}
	if err != nil {
		return board.Plan{}, fmt.Errorf("class: %w", err)
	}
	return board.Plan{Scenario: sc}, nil
}

// judgingTold is how often a member hears that their script is being judged, or waits for
// that: a page takes a silent line for dead.
const judgingTold = time.Second

// judge has a script judged that a member hands in, before the room takes it: where
// the member is connected, one of the room at a time.
func (g *guest) judge(ctx context.Context, c *board.Command) error {
	item, member := "", g.client.Member()
	err := g.room.Look(func(v board.View) (err error) {
		item, err = v.State.Writing(member, c.Script)
		return err
	})
	if err != nil {
		return err
	}
	j := g.written // a page gives a command again that is not answered soon
	if j == nil || j.item != item || j.script != c.Script {
		told := func() { g.reply(ctx, roomAnswer{Judging: true}) }
		whileTelling(judgingTold, told, func() { j, err = g.verdictOn(ctx, item, c.Script) })
		if err != nil {
			return err
		}
	}
	g.written, c.Item, c.Option = j, item, &j.Option
	g.judged.Store(c.ID, j)
	return nil
}

// whileTelling tells something every so often while do runs.
func whileTelling(every time.Duration, tell, do func()) {
	var telling sync.WaitGroup
	defer telling.Wait()
	done := make(chan struct{})
	defer close(done)
	telling.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-done:
				return
			}
		}
	})
	do()
}

// verdictOn has a script judged.
func (g *guest) verdictOn(ctx context.Context, item, script string) (*judgedScript, error) {
	found, ok := g.s.plans.course().Item(item)
	if !ok {
		return nil, errNoPlan
	}
	task, err := course.TaskOf[*course.Writing](found)
	if err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	var j *course.Judged
	whose := "room " + g.room.Code()
	err = g.s.stepping.Searches.InTurn(ctx, g.reading, whose, course.MaxWritten, func(ctx context.Context) (err error) {
		j, err = task.Judge(ctx, script)
		return err
	})
	if err != nil {
		return nil, err
	}
	told := &judgedScript{Says: shell.JudgedSays(g.l, j), Option: int(verdictOf(j)), Right: j.Solved, Line: j.Line, item: item, script: script}
	if j.Rule != "" {
		told.Open, err = link.PlayAddress(j.Run.Scenario, len(j.Run.Scenario.Schedule))
	}
	return told, err
}

// Scripts shows a host what the class has written last.
func (s *Pages) Scripts(w http.ResponseWriter, r *http.Request) error {
	found, err := s.hosted(r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	p := page.RoomScripts{Page: page.Page{Title: l.Say("What the class has written")}}
	err = found.Look(func(v board.View) error {
		q := v.State.Written()
		if q == nil {
			return nil
		}
		p.Goal = inLanguage(q.Text, l)
		last := map[string]int{} // of all rounds
		for _, votes := range q.Rounds() {
			maps.Copy(last, votes)
		}
		for _, id := range slices.SortedFunc(maps.Keys(q.Scripts), board.ByAge) {
			name := ""
			if m := v.State.People[id]; m != nil {
				name = board.Nickname(m.Name, l.Code())
			}
			p.Scripts = append(p.Scripts, page.RoomScript{
				Member: id, Right: last[id] == q.Right, Says: inLanguage(q.Options, l)[last[id]],
				Script: film.Script{Name: name, Lines: film.Coloured(q.Scripts[id])},
			})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	return site.Render(r.Context(), w, http.StatusOK, templates.RoomScriptsPage(p))
}
