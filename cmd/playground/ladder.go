package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"relock/engine/course"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/verdict"
	"relock/lessons"
	"relock/web/words"
)

// progressFile is what `learn -ladder` writes beside a worker, as the pages of the course read it.
const progressFile = "ladder-progress.json"

// climber is a learner's worker on the ladder.
type climber struct {
	*course.Ladder

	env     environment
	l       words.Language
	dir     string
	command []string // of the worker
}

// climb judges the worker in a folder: level by level or, if there is a file for them, the
// sentences that its author completes.
func climb(ctx context.Context, dir, sentences string, env environment) int {
	g, err := course.ReadLadder(words.All(), lessons.Course())
	if err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	command, done, err := workerIn(ctx, dir)
	if err != nil {
		return env.refuseWhy(err)
	}
	defer done()
	c := climber{Ladder: g, env: env, l: env.speaks(), dir: dir, command: command}
	if sentences != "" {
		return c.teachBack(ctx, sentences)
	}
	return c.climb(ctx)
}

// workerIn returns the command of the one worker in a folder, which is built where its language
// asks for that; done removes what was.
func workerIn(ctx context.Context, dir string) (command []string, done func(), err error) {
	var names []string
	for _, name := range course.LadderWorkers() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return nil, nil, phrase.New("-ladder %s: one worker is wanted there, %s; given %d", dir, strings.Join(course.LadderWorkers(), ", "), len(names))
	}
	file, done := filepath.Join(dir, names[0]), func() {}
	switch filepath.Ext(file) {
	case ".py":
		return []string{"python3", file}, done, nil
	case ".js":
		return []string{"node", file}, done, nil
	}
	temp, err := os.MkdirTemp("", "ladder")
	if err != nil {
		return nil, nil, fmt.Errorf("-ladder: %w", err)
	}
	built := filepath.Join(temp, "worker")
	build := exec.CommandContext(ctx, "go", "build", "-o", built, ".") //nolint:gosec // the folder that the user named, into one of ours
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		_ = os.RemoveAll(temp)
		return nil, nil, phrase.New("-ladder %s: go build: %s", dir, strings.TrimSpace(string(out)+" "+err.Error()))
	}
	return []string{built}, func() { _ = os.RemoveAll(temp) }, nil
}

// judge has the lab judge the worker, and prints what it found.
func (c climber) judge(ctx context.Context, g *course.Rung, env environment) (*lab.Found, int) {
	f := labFlags{bare: true}
	fs := flag.NewFlagSet("lab", flag.ContinueOnError)
	f.declare(fs, env)
	err := fs.Parse(strings.Fields(g.Lab))
	if err == nil {
		err = f.settle(c.command)
	}
	if err != nil {
		return &lab.Found{}, f.bad(err, env)
	}
	f.o.Second = startSecond(ctx, env, *f.check)
	defer func() { _ = f.o.Second.Close() }()
	found, err := f.find(ctx, env)
	if found == nil {
		found = &lab.Found{}
	}
	return found, f.tell(found, nil, err, env)
}

// climb judges the worker level by level, until one does not hold.
func (c climber) climb(ctx context.Context) int {
	t := table{w: c.env.out, width: c.env.width(), colour: c.env.colour(), l: c.l}
	items := map[string]climbedForm{}
	for n, level := range c.Levels {
		t.line(c.l.Say("Level %[1]d of %[2]d: %[3]s", n+1, len(c.Levels), level.Title(c.l)), bold)
		found, code := c.judge(ctx, level, c.env)
		fmt.Fprintln(t.w)
		if code != exitOK {
			t.line(c.l.Say("Level %d does not hold yet.", n+1), red)
			if code == exitUnexpected && found.Judgement().Verdict == verdict.Broken {
				t.line(level.Says(c.l, course.PartMissing), "")
				t.line(c.l.Say("Hint: %s", level.Says(c.l, course.PartHint)), "")
			}
			return c.keep(items, code)
		}
		items[level.Path()] = climbedForm{time.Now().Format(time.DateOnly)}
		t.line(c.l.Say("Level %d holds.", n+1), green)
		fmt.Fprintln(t.w)
	}
	return c.keep(items, exitOK)
}

// The progress of a learner, as a browser keeps it.
type (
	progressForm struct {
		Version int                    `json:"relock_progress"`
		Items   map[string]climbedForm `json:"items"`
	}
	climbedForm struct {
		At string `json:"at"` // the day
	}
)

// keep writes which levels hold.
func (c climber) keep(items map[string]climbedForm, code int) int {
	if len(items) == 0 {
		return code
	}
	name := filepath.Join(c.dir, progressFile)
	text, err := json.Marshal(progressForm{1, items})
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644) //nolint:gosec // anybody may read it
	}
	if err != nil {
		c.env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	fmt.Fprintln(c.env.out, c.env.say("How far it is: %s. The page /learn/ladder shows it: merge this file there.", name))
	return code
}

// teachBack asks for the end of each sentence, has the lab try it, and writes what it found.
func (c climber) teachBack(ctx context.Context, file string) int {
	said := make([]string, len(c.Sentences))
	lines := bufio.NewScanner(c.env.in)
	for n, s := range c.Sentences {
		ends := []string{course.PartHolds, course.PartBreaks}
		if n%2 == 1 { // the place says nothing
			ends = []string{course.PartBreaks, course.PartHolds}
		}
		fmt.Fprintf(c.env.out, "%s …\n  1: … %s\n  2: … %s\n", s.Title(c.l), s.Says(c.l, ends[0]), s.Says(c.l, ends[1]))
		for said[n] == "" {
			fmt.Fprint(c.env.out, c.env.say("1 or 2?"), " ")
			if !lines.Scan() {
				return c.env.refuse("-teach-back asks for the end of %d sentences, and has read %d", len(c.Sentences), n)
			}
			switch strings.TrimSpace(lines.Text()) {
			case "1":
				said[n] = ends[0]
			case "2":
				said[n] = ends[1]
			}
		}
	}
	text := "# " + c.l.Say("Our lock in %d sentences", len(c.Sentences)) + "\n\n" +
		c.l.Say("Relock's lab has tried each of them on %s, with two copies of the worker. Below it is what was tried, and the smallest order that breaks a rule.", "`"+strings.Join(c.command, " ")+"`") + "\n"
	code := exitOK
	for n, s := range c.Sentences {
		one, came := c.tried(ctx, s, said[n])
		if text += one; came == exitUsage || came == exitUnreachable {
			return came
		}
		code = graver(code, came)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // the file the user named
		c.env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	fmt.Fprintln(c.env.out, c.env.say("saved: %s", file))
	return code
}

// tried is a sentence as its author has completed it, in Markdown, with what the lab says of it.
// The code is exitOK if that is true.
func (c climber) tried(ctx context.Context, s *course.Rung, said string) (text string, code int) {
	var out bytes.Buffer
	env := c.env
	env.out, env.terminal, env.columns = &out, false, maxWidth
	found, code := c.judge(ctx, s, env)
	whole := func(end string) string { return c.l.Say("%[1]s %[2]s", s.Title(c.l), s.Says(c.l, end)) }
	is := map[verdict.Verdict]string{verdict.Unbroken: course.PartHolds, verdict.Broken: course.PartBreaks}[found.Judgement().Verdict]
	says := ""
	switch {
	case code == exitUsage || code == exitUnreachable:
		return "", code
	case is == "":
		says = c.l.Say("Not judged.")
	case is == said:
		says, code = c.l.Say("True."), exitOK
	default:
		says, code = c.l.Say("False. In fact: %s", whole(is)), exitUnexpected
	}
	fmt.Fprintln(c.env.out, whole(said), says)
	return fmt.Sprintf("\n## %s\n\n**%s**\n\n`playground lab %s -- %s`\n\n```text\n%s\n```\n", whole(said), says, s.Lab, strings.Join(c.command, " "), strings.TrimSpace(out.String())), code
}
