package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/lessons"
	"relock/web/words"
)

const learnUsage phrase.Text = `playground learn -check PATH

Reads the course in the folder PATH, or in the folder of a chapter or file, plays
what its items need, and lists every mistake with its file and line. The exit
code is 1 if there is one. "go doc relock/engine/course" says how to write items.

playground learn -ladder DIR [-teach-back FILE]

Judges your own lock, worker.py, worker.go or worker.js in the folder DIR, level by
level, and stops at the first that does not hold. The page /learn/ladder says what a
level is, and has a worker to start from. With -teach-back, five sentences about your
lock are asked of you and tried; FILE is what comes of it, in Markdown. Exit codes:
those of "playground lab"; with -teach-back, 1 if a sentence is false.`

// learning checks a course that somebody is writing, or judges what a learner has written.
func learning(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("learn", flag.ContinueOnError)
	path := fs.String("check", "", env.say("check the course at `PATH`"))
	rungs := fs.String("ladder", "", env.say("judge the worker in the folder `DIR`, level by level"))
	sentences := fs.String("teach-back", "", env.say("with -ladder: write to `FILE` what you say of your lock, and what the lab found"))
	languageFlag(fs, env) // which is settled by now
	if code, done := parse(fs, args, env, env.say(learnUsage)); done {
		return code
	}
	switch {
	case *rungs != "" && *path == "" && fs.NArg() == 0:
		return climb(ctx, *rungs, *sentences, env)
	case *path == "" || *sentences != "" || fs.NArg() > 0:
		return env.refuse("learn checks one course, playground learn -check lessons/course, or judges your own lock, playground learn -ladder DIR")
	}
	root, only, err := courseAt(*path)
	if err != nil {
		return env.refuseWhy(err)
	}
	taught, err := course.ReadCourse(words.All(), os.DirFS(root), lessons.Scenarios())
	if err == nil {
		err = taught.Prove()
	}
	var mistakes course.Mistakes
	if errors.As(err, &mistakes) {
		found := 0
		for _, m := range mistakes {
			if only != "" && filepath.Dir(m.File) != only && m.File != "" {
				continue
			}
			m.File = filepath.Join(root, m.File)
			fmt.Fprintln(env.err, told(env.speaks(), course.Mistakes{m}))
			found++
		}
		if found > 0 {
			return exitUnexpected
		}
		err = nil
	}
	if err != nil {
		return env.refuseWhy(err)
	}
	items := 0
	if taught != nil {
		items = len(taught.All())
	}
	fmt.Fprintln(env.out, env.say("No mistake in %d items.", items))
	return exitOK
}

// courseAt is the course's folder, and the chapter in it that is asked for, or
// "" for all.
func courseAt(path string) (root, chapter string, err error) {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return "", "", fmt.Errorf("course: %w", err)
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	if _, err := os.Stat(filepath.Join(path, "chapter.yaml")); err == nil {
		return filepath.Dir(path), filepath.Base(path), nil
	}
	return path, "", nil
}
