package step

import (
	"context"
	"slices"

	"relock/engine/phrase"
	"relock/web/board"
)

// handler carries out a frame's command.
type handler func(p *player, ctx context.Context, frame []byte) error

// decided is a command that makes a difference.
type decided struct {
	name string
	do   handler
}

// commands are what a page that steps alone can ask for, apart from reads.
var commands = []decided{
	{board.DoOpen, taking((*player).open)},
	{"step", taking((*player).step)},
	{"run", ordering(func(c runArgs) board.Command { return board.Command{Branch: c.Branch, To: c.To, Thread: c.Thread} })},
	{"time", ordering(func(c timeArgs) board.Command { return board.Command{Branch: c.Branch, At: c.At, To: c.To, By: c.By} })},
	{"strike", ordering(func(c strikeArgs) board.Command { return board.Command{Branch: c.Branch, At: c.At, Fault: c.Fault} })},
	{"cut", ordering(func(c afterMoves) board.Command { return board.Command{Branch: c.Branch, At: c.At} })},
	{"drop", ordering(func(c onBranch) board.Command { return board.Command{Branch: c.Branch} })},
	{board.DoExample, going(board.DoExample)},
	{board.DoWalk, going(board.DoWalk)},
}

// commandNames returns the names of all commands of a page that steps alone.
func commandNames() phrase.Names {
	var names phrase.Names
	for _, name := range board.Commands() {
		if slices.ContainsFunc(commands, func(c decided) bool { return c.name == name }) || slices.ContainsFunc(reads, func(r read) bool { return r.name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// taking reads a command's arguments.
func taking[T any](do func(*player, context.Context, T) error) handler {
	return func(p *player, ctx context.Context, frame []byte) error {
		args, err := argsOf[T](frame)
		if err != nil {
			return err
		}
		return do(p, ctx, args)
	}
}

// ordering handles a command that a board decides.
func ordering[T interface{ name() string }](of func(T) board.Command) handler {
	return taking(func(p *player, ctx context.Context, args T) error {
		c := of(args)
		c.Do = args.name()
		return p.order(ctx, c)
	})
}

// going handles a command that leads to what was found.
func going(name string) handler {
	return func(p *player, ctx context.Context, frame []byte) error {
		c, err := p.reader.Way(ctx, name, frame)
		if err != nil {
			return err
		}
		return p.order(ctx, c)
	}
}

// noCommandError is the name of an unknown command.
type noCommandError string

func (e noCommandError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e noCommandError) Says() phrase.Wording {
	return phrase.Say("there is no command %q; there are %s", string(e), commandNames())
}

// decide does what a command asks for, if it is known.
func (p *player) decide(ctx context.Context, name string, text []byte) (known bool, err error) {
	for _, c := range commands {
		if c.name == name {
			return true, c.do(p, ctx, text)
		}
	}
	if known, err = p.reader.Answer(ctx, name, text, p.answer); !known {
		err = noCommandError(name)
	}
	return known, err
}
