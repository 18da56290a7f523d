package mend

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/outside/ownlock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// usual are the scripts of the usual locks, by the type of their key, for one of somebody's own.
var usual = map[string][]struct {
	call, like  string
	title, note phrase.Text
}{
	trace.TypeString: {
		{protocol.CallLock, exhibit.MutexGetDel.Name, "Set the expiry with the grant alone: SET NX PX", "One command takes the key and gives it its expiry. Who is refused changes nothing"},
		{protocol.CallUnlock, exhibit.Mutex.Name, "Compare and delete in one script", "It deletes the key only if its value is still the owner's"},
		{protocol.CallRenew, exhibit.Mutex.Name, "Renew only one's own lease", "It gives the key more time only if its value is still the owner's. Otherwise the owner hears that the lock is lost"},
	},
	trace.TypeHash: {
		{protocol.CallLock, protocol.Reentrant.Name, "Count the holds of the key's owner alone", "It enters if there is no key, or if its own field is there. Who is refused changes nothing"},
		{protocol.CallUnlock, protocol.Reentrant.Name, "Count down one's own field alone", "It counts down, and deletes at 0, only if its own field is there"},
		{protocol.CallRenew, protocol.Reentrant.Name, "Renew only one's own lease", "It gives the key more time only if its own field is there. Otherwise the owner hears that the lock is lost"},
	},
}

// ownScripts adds the changes of somebody's own scripts: what they are given, and one of them
// as the usual lock with such a key has it.
func (m *maker) ownScripts(ctx context.Context) error {
	if !m.sc.Lock.Own() {
		return nil
	}
	calm, err := m.ends(ctx)
	if err != nil {
		return err
	}
	m.like = map[string][]*scenario.Scenario{calm.sent: {m.sc}}
	if err := m.arguments(ctx); err != nil {
		return err
	}
	for _, u := range usual[calm.keyType] {
		args := m.argsOf(u.call)
		if args == nil || !slices.Contains(m.sc.Lock.Scripts.Calls(), u.call) {
			continue
		}
		with := map[string]any{
			"scripts": map[string]any{u.call: scenario.Beginning(u.like)[u.call]}, "args": map[string]any{u.call: args},
		}
		if replies := m.sc.Lock.Convention.Replies; replies[u.call] != nil { // it replies in the usual way
			if with["replies"] = nil; len(replies) > 1 {
				with["replies"] = map[string]any{u.call: nil}
			}
		}
		if err := m.script(ctx, Change{Name: "scripts: " + u.call, Title: phrase.Say(u.title), Note: phrase.Say(u.note)}, with); err != nil {
			return err
		}
	}
	return nil
}

// script adds a change of somebody's own lock, if each thread ends as well with it.
func (m *maker) script(ctx context.Context, c Change, with map[string]any) error {
	other, err := m.sc.WithSchedule(nil).Change(map[string]any{"lock": with})
	if err != nil {
		return nil //nolint:nilerr // it cannot do the scenario
	}
	theirs, err := ends(ctx, other)
	if err != nil {
		return err
	}
	if _, scripts := with["scripts"]; scripts {
		if same, err := m.same(ctx, theirs, other); err != nil || same {
			return err
		}
	}
	if own, err := m.ends(ctx); err != nil || !theirs.asGood(own) {
		return err
	}
	c.Kind, c.calm = Script, &theirs
	m.like[theirs.sent] = append(m.like[theirs.sent], other)
	m.lasting(m.add(c, other, nil))
	return nil
}

// same reports whether a lock sends what an own one sends, or a change of it: without faults, and
// in the run with them.
func (m *maker) same(ctx context.Context, calm outcome, sc *scenario.Scenario) (bool, error) {
	for _, one := range m.like[calm.sent] {
		a, err := played(ctx, one.WithSchedule(nil))
		if err != nil {
			return false, err
		}
		b, err := played(ctx, sc)
		if err != nil {
			return false, err
		}
		if a.sent == b.sent {
			return true, nil
		}
	}
	return false, nil
}

// arguments adds what the scripts may want instead of what they are given: the lease in the
// unit of their command, and an id of its own for each caller.
func (m *maker) arguments(ctx context.Context) error {
	fit, err := ownlock.Try(ctx, m.sc)
	if err != nil {
		return fmt.Errorf("mend: %w", err)
	}
	for _, call := range slices.Sorted(maps.Keys(fit.Args)) {
		list := protocol.ArgTexts(fit.Args[call])
		title := phrase.Say("Give %s the lease in milliseconds", call)
		switch {
		case slices.Contains(list, protocol.ArgLeaseS):
			title = phrase.Say("Give %s the lease in seconds", call)
		case slices.Contains(list, protocol.ArgDeadline):
			title = phrase.Say("Give %s the lease's end in milliseconds", call)
		}
		err := m.script(ctx, Change{
			Name: "args: {" + call + ": [" + strings.Join(list, ", ") + "]}", Title: title,
			Note: phrase.Say("The key then lives as long as the file says"),
		}, map[string]any{"args": map[string]any{call: list}})
		if err != nil {
			return err
		}
	}
	convention := m.sc.Lock.Convention
	fixed := map[string]bool{}
	for _, arg := range convention.Args[protocol.CallLock] {
		_, err := strconv.Atoi(arg.Text)
		fixed[arg.Text] = arg.Word == "" && arg.Text != "" && err != nil
	}
	for _, id := range []string{protocol.ArgOwner, protocol.ArgToken} {
		args, changed := map[string]any{}, false
		for call, list := range convention.Args {
			own := protocol.ArgTexts(list)
			for i, arg := range list {
				if arg.Word == "" && fixed[arg.Text] {
					own[i], changed = id, true
				}
			}
			args[call] = own
		}
		if !changed {
			return nil
		}
		err := m.script(ctx, Change{
			Name: "args: " + id, Title: phrase.Say("An owner id for each caller"),
			Note: phrase.Say("With one id for all, each of them takes the lock of another for its own"),
		}, map[string]any{"args": args})
		if err != nil {
			return err
		}
	}
	return nil
}

// argsOf are the usual arguments of a call's script, with the word by which the lock's other
// scripts know an owner; nil where they know none.
func (m *maker) argsOf(call string) []string {
	other := protocol.CallLock
	if call == other {
		other = protocol.CallUnlock
	}
	for _, arg := range m.sc.Lock.Convention.ArgsOf(other) {
		if arg.Word == protocol.ArgOwner || arg.Word == protocol.ArgToken {
			list := protocol.ArgTexts(protocol.Convention{}.ArgsOf(call))
			list[0] = arg.Word
			return list
		}
	}
	return nil
}

// option is an argument that every caller of an algorithm sends alike: a word of Redis, or a number.
var option = regexp.MustCompile(`^[A-Z]{2,8}$|^-?\d{1,9}$`)

// sent is a command, whoever sends it. Locks that send the same in a run are one algorithm under
// two names.
func sent(e trace.Event, c trace.Command) string {
	text := "\n" + e.Thread
	for _, arg := range c.Args {
		if arg = strings.ToUpper(arg); !option.MatchString(arg) {
			arg = "·"
		}
		text += " " + arg
	}
	return text
}
