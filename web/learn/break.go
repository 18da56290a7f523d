package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// breakIt puts a run on the page that is to be broken, or its solution.
func breakIt(_ context.Context, a *asking, task *course.Breaking) error {
	if a.query.Has("solution") {
		a.breakable(page.Prose(a.prose.After))
		a.stage, a.Watching = all(a.made.Solved), a.l.Say("This is how it can be done.")
		return nil
	}
	return a.stepped(task, "/learn/"+a.item.Path()+"/judge", page.Prose(a.prose.After))
}

// breakable puts on the page how far somebody has come, and what there is to say once it is
// broken.
func (a *asking) breakable(after string) {
	a.parts.Ask = templates.LessonTally()
	if after != "" {
		a.parts.Below = templates.LessonBroken(after)
	}
}

// stepped puts the stage on the page on which something is broken; judge is the address that
// judges moves.
func (a *asking) stepped(task *course.Breaking, judge, after string) error {
	a.breakable(after)
	open, err := link.Encode(link.Contents{Scenario: task.Item.Scenario})
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	p := page.Play{Files: export.Files(a.l), Scenario: open, Reach: a.s.ReachOf(a.r)}
	p.SetFaults(a.l)
	p.Viewer = runs.Unplayed(a.l, task.Item.Scenario)
	p.Viewer.Steps = true
	a.Stepping = &page.LessonStepping{Play: p, Controls: strings.Join(task.Controls, " "), Judge: judge}
	return nil
}

// breakHints are what a solution is about, the step that matters, and all steps.
func breakHints(a *asking, task *course.Breaking) {
	presses, first := task.Solution()
	a.hint("what it is about", "<p>"+templates.Escaped(a.l.Sentence(presses[first].About))+"</p>")
	a.hint("which step", a.paragraph("After move %d: press “%s”.", presses[first].Moves, button(a.l, presses[first])))
	list := ""
	for _, one := range presses {
		list += "<li><b>" + templates.Escaped(button(a.l, one)) + "</b></li>"
	}
	a.hint("the solution", "<ol>"+list+"</ol>"+a.button("solution=1", "Play the solution"))
}

// button is the name of what is pressed.
func button(l words.Language, one course.Press) string {
	if one.Fault != nil {
		return page.Struck(l, *one.Fault)
	}
	for _, o := range page.NewOptions(l, one.At.Options) {
		if o.Can && one.Mover == (course.Mover{Thread: o.Thread, Background: o.Background, Network: o.Network, Node: o.Node}) {
			return o.Button()
		}
	}
	return l.Say("Let time pass")
}

// movesToJudge are the moves that were sent: a link's text, or as JSON the
// schedule alone.
func movesToJudge(item *course.Item, text []byte) ([]scenario.Move, error) {
	if len(text) > 0 && text[0] == '{' {
		var sent struct {
			Schedule json.RawMessage `json:"schedule"`
		}
		if err := json.Unmarshal(text, &sent); err != nil {
			return nil, site.Unusable(link.ErrBroken, "That cannot be shown")
		}
		moves, err := item.Scenario.ParseMoves(sent.Schedule)
		if err != nil {
			return nil, site.Unusable(err, "That cannot be shown")
		}
		return moves, nil
	}
	state, err := link.Decode(string(text))
	if err != nil {
		return nil, site.Unusable(err, "That cannot be shown")
	}
	if !item.Plays(state.Scenario) {
		return nil, site.Refuse(http.StatusUnprocessableEntity, "That cannot be shown", "These moves belong to another scenario.")
	}
	return state.Scenario.Schedule[:state.At], nil
}

// maxJudged is how many bytes of a link are read to be judged.
const maxJudged = link.MaxPacked

// Judge tells whether the moves of a link, the request's body, reach the goal
// of an item.
func (s *Pages) Judge(w http.ResponseWriter, r *http.Request) error {
	item, ok := s.Course().Item(r.PathValue("chapter") + "/" + r.PathValue("item"))
	if !ok {
		return site.ErrNoPage
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJudged))
	if err != nil {
		return site.Explained(http.StatusRequestEntityTooLarge, "That cannot be shown", link.ErrTooLong)
	}
	moves, err := movesToJudge(item, text)
	if err != nil {
		return err
	}
	task, err := course.TaskOf[*course.Breaking](item)
	if errors.Is(err, course.ErrOtherKind) {
		err = course.ErrNotBroken
	}
	if err != nil {
		return shell.NotShown(r, err, "That cannot be shown")
	}
	verdict, err := task.Judge(r.Context(), moves)
	if err != nil {
		return shell.NotShown(r, err, "That cannot be shown")
	}
	l := words.From(r.Context())
	html, err := templates.Text(l, templates.Scene(newScene(l, l.Say("Where you are"), verdict.Scene)))
	if err != nil {
		return err
	}
	site.AnswerJSON(w, http.StatusOK, struct {
		course.Verdict

		Scene string `json:"scene"` // HTML
	}{verdict, html})
	return nil
}
