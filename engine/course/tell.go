package course

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trial"
)

// teller says in a language what a text asks of a run.
type teller struct {
	l       Language
	run     *Run
	options map[string]*Run
}

// nobody knows the names of the functions, and no run.
var nobody = teller{}

// errNoRun is the error of a teller without a run.
var errNoRun = phrase.New("there is no run to ask")

// Tells are the functions of a text: what each says of the item's run.
var Tells = map[string]string{
	"at":       `the instant of a moment: {{at "B acquired"}}`,
	"row":      `its row in the table: {{row "B acquired"}}`,
	"between":  `how long it is from one moment to another`,
	"left":     `what is left of the lease at a moment`,
	"count":    `a thread's hold count at a moment: {{count "A" "A reentered"}}`,
	"value":    `the counter or the stock at a moment`,
	"token":    `a thread's token at a moment`,
	"times":    `how often a moment comes: {{times "B refused"}}`,
	"commands": `how many commands Redis has run at a moment`,
	"asked":    "how often the lock was asked for, at a moment",
	"together": "how many of these came at one instant with another one",
	"jitter":   "how much longer than the interval a pause between retries is at most, by chance",
	"command":  `a command as it was sent, and what Redis answered: {{command "A DEL"}}`,
	"lua":      `a line of the lock's script: {{lua "unlock" 3}}`,
	"lease":    "the lease",
	"watchdog": "how often the watchdog renews",
	"interval": "the pause between retries",
	"retries":  "how many retries there are",
	"work":     `how long a thread works on a level: {{work "A"}}`,
	"after":    `how long a thread works on when an inner call has returned: {{after "A"}}`,
	"start":    "when a thread begins",
	"length":   `how long a fault at a moment lasts: {{length "A pause"}}`,
	"nodes":    "how many nodes there are",
	"majority": "how many nodes are a majority",
	"size":     "what the counter or the stock is at the start",
	"threads":  "how many threads there are",
	"until":    `how long a lock may be relied on, as its client has it: {{until "A acquired"}}`,
	"drift":    `how much faster or slower a thread's clock runs: {{drift "A"}}`,
	"allowed":  "what the lock takes off a lease for clocks that drift",
	"worker":   "the text of the worker that a lab has tried, its lines numbered",
	"lab":      "the command by which the lab tries it",
	"orders":   "how many orders the lab has tried",
	"broken":   `in how many of them some rule is broken`,
	"breaks":   `in how many of them a rule is broken: {{breaks "shut-out"}}`,
	"claim":    `nothing: the sentence makes this claim of its item, {{claim "late"}}`,
	"in":       `asks an option's run: {{in "renewed" "at" "A renewed"}}`,
}

func (t teller) functions() map[string]any {
	return map[string]any{
		"at":       t.at,
		"row":      t.row,
		"between":  t.between,
		"left":     t.left,
		"count":    t.count,
		"value":    t.value,
		"token":    t.token,
		"times":    t.times,
		"commands": t.commands,
		"asked":    func(text string) (int, error) { return t.crowds(text, sum) },
		"together": func(text string) (int, error) { return t.crowds(text, together) },
		"jitter": func() (string, error) {
			return t.ofLock(func(k scenario.Lock) time.Duration { return k.Retry.Jitter.Max })
		},
		"command":  t.command,
		"lua":      t.lua,
		"until":    t.until,
		"length":   t.length,
		"work":     t.work,
		"after":    t.after,
		"start":    t.start,
		"lease":    func() (string, error) { return t.ofLock(func(k scenario.Lock) time.Duration { return k.Lease }) },
		"watchdog": func() (string, error) { return t.ofLock(func(k scenario.Lock) time.Duration { return k.Watchdog }) },
		"interval": func() (string, error) {
			return t.ofLock(func(k scenario.Lock) time.Duration { return k.Retry.Interval })
		},
		"retries":  func() (int, error) { return t.number(func(s *scenario.Scenario) int { return s.Lock.Retry.Times }) },
		"nodes":    func() (int, error) { return t.number(func(s *scenario.Scenario) int { return s.Lock.Nodes }) },
		"majority": func() (int, error) { return t.number(func(s *scenario.Scenario) int { return s.Lock.Nodes/2 + 1 }) },
		"threads":  func() (int, error) { return t.number(func(s *scenario.Scenario) int { return len(s.Threads) }) },
		"size": func() (int, error) {
			return t.number(func(s *scenario.Scenario) int {
				if s.Resource == nil {
					return 0
				}
				return s.Resource.Size
			})
		},
		"allowed": func() (string, error) {
			return t.ofLock(scenario.Lock.Margin)
		},
		"drift":  t.drift,
		"worker": t.worker,
		"lab":    t.lab,
		"orders": func() (string, error) { return t.found(func(f *Lab) (string, error) { return f.Orders.String(), nil }) },
		"broken": func() (string, error) { return t.found(func(f *Lab) (string, error) { return f.Broken.String(), nil }) },
		"breaks": t.breaks,
		"claim":  func(string) (string, error) { return "", nil }, // it is searched, and not said
		"in":     t.in,
	}
}

// moment is the event of a moment, and how many there are when its step is over.
func (t teller) moment(text string) (trace.Event, int, error) {
	if t.run == nil {
		return trace.Event{}, 0, errNoRun
	}
	m, err := parseMoment(text, t.run.Scenario)
	if err != nil {
		return trace.Event{}, 0, err
	}
	at, ok := m.find(t.run.Events)
	if !ok {
		return trace.Event{}, 0, phrase.New("the run never comes to %q", text)
	}
	if at < 0 {
		return trace.Event{Key: trace.Absent()}, 0, nil
	}
	return t.run.Events[at], stepEnd(t.run.Events, at), nil
}

func (t teller) at(text string) (string, error) {
	e, _, err := t.moment(text)
	return t.duration(e.At.Duration()), err
}

func (t teller) row(text string) (string, error) {
	e, _, err := t.moment(text)
	return fmt.Sprintf("T%d", e.Step), err
}

func (t teller) between(from, to string) (string, error) {
	a, _, err := t.moment(from)
	if err != nil {
		return "", err
	}
	b, _, err := t.moment(to)
	return t.duration((b.At - a.At).Duration()), err
}

func (t teller) left(text string) (string, error) {
	_, n, err := t.moment(text)
	if err != nil {
		return "", err
	}
	key := t.run.Events[max(0, n-1)].Key
	if key.PTTL < 0 {
		return "", phrase.New("at %q there is no lease", text)
	}
	return t.duration(trace.Millis(key.PTTL).Duration()), nil
}

func (t teller) count(thread, text string) (int, error) {
	e, _, err := t.moment(text)
	if err != nil {
		return 0, err
	}
	return holdCount(t.run, e.Key, thread), nil
}

func (t teller) value(text string) (int, error) {
	_, n, err := t.moment(text)
	if err != nil {
		return 0, err
	}
	return value(t.run, n), nil
}

func (t teller) token(thread, text string) (int64, error) {
	_, n, err := t.moment(text)
	if err != nil {
		return 0, err
	}
	e, ok := last(t.run, n, func(e trace.Event) bool {
		o, ok := e.Body.(trace.Outcome)
		return ok && e.Thread == thread && o.Token > 0
	})
	if !ok {
		return 0, phrase.New("%s has no token at %q", thread, text)
	}
	return e.Body.(trace.Outcome).Token, nil
}

func (t teller) times(text string) (int, error) {
	if t.run == nil {
		return 0, errNoRun
	}
	m, err := parseMoment(text, t.run.Scenario)
	if err != nil {
		return 0, err
	}
	if m.is == nil {
		return 0, phrase.New("%q comes once", text)
	}
	n := 0
	for _, e := range t.run.Events {
		if m.is(e) {
			n++
		}
	}
	return n, nil
}

func (t teller) commands(text string) (int, error) {
	_, n, err := t.moment(text)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, e := range t.run.Events[:n] {
		if e.Kind() == trace.KindCommand {
			count++
		}
	}
	return count, nil
}

// crowds counts what came of how many asked at each instant.
func (t teller) crowds(text string, count func([]int) int) (int, error) {
	_, n, err := t.moment(text)
	if err != nil {
		return 0, err
	}
	list := asked(t.run, n)
	if len(list) == 0 {
		return 0, phrase.New("nobody has asked for the lock at %q", text)
	}
	return count(list), nil
}

func (t teller) command(text string) (string, error) {
	e, _, err := t.moment(text)
	if err != nil {
		return "", err
	}
	c, ok := e.Body.(trace.Command)
	if !ok {
		return "", phrase.New("%q is no command", text)
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		if thread := t.run.Header.Owners[a]; thread != "" {
			a = thread // an owner's id tells nobody anything
		}
		args[i] = a
	}
	reply := fmt.Sprint(c.Reply)
	if c.Reply == nil {
		reply = "nil"
	}
	if thread := t.run.Header.Owners[reply]; thread != "" {
		reply = thread
	}
	return "`" + strings.Join(args, " ") + " → " + reply + "`", nil
}

func (t teller) lua(script string, line int) (string, error) {
	if t.run == nil {
		return "", errNoRun
	}
	lines, err := trial.Lines(t.run.Scenario.Lock.Protocol, script)
	if err != nil {
		return "", phrase.New("the lock has no script %q", script)
	}
	if line < 1 || line > len(lines) {
		return "", phrase.New("%s has no line %d", script, line)
	}
	code, _, _ := strings.Cut(lines[line-1], " --") // its comment is English
	return "`" + strings.TrimSpace(code) + "`", nil
}

func (t teller) until(text string) (string, error) {
	e, _, err := t.moment(text)
	if err != nil {
		return "", err
	}
	o, ok := e.Body.(trace.Outcome)
	if !ok || o.Until == 0 {
		return "", phrase.New("nobody says at %q how long the lock is valid", text)
	}
	return t.duration(o.Until.Duration()), nil
}

func (t teller) length(text string) (string, error) {
	e, _, err := t.moment(text)
	if err != nil {
		return "", err
	}
	f, ok := e.Body.(trace.Fault)
	if !ok || f.ForMS == 0 {
		return "", phrase.New("%q is no fault that lasts", text)
	}
	return t.duration(f.ForMS.Duration()), nil
}

// found asks what a lab found.
func (t teller) found(get func(*Lab) (string, error)) (string, error) {
	switch {
	case t.run == nil:
		return "", errNoRun
	case t.run.Lab == nil:
		return "", phrase.New("the run is not what a lab recorded")
	}
	return get(t.run.Lab)
}

func (t teller) worker() (string, error) {
	return t.found(func(f *Lab) (string, error) {
		if f.Worker == "" {
			return "", phrase.New("%s has no file of the command %q", labs, f.Command)
		}
		out := "```\n"
		for n, line := range strings.Split(strings.TrimSuffix(f.Worker, "\n"), "\n") {
			out += fmt.Sprintf("%2d  %s\n", n+1, line)
		}
		return out + "```", nil
	})
}

func (t teller) lab() (string, error) {
	return t.found(func(f *Lab) (string, error) { return f.Line(), nil })
}

func (t teller) breaks(rule string) (string, error) {
	return t.found(func(f *Lab) (string, error) {
		rule, ok := check.Named(rule)
		if !ok {
			return "", phrase.New("there is no rule %q", rule)
		}
		return f.Breaks(rule).String(), nil
	})
}

func (t teller) thread(name string) (scenario.Thread, error) {
	if t.run == nil {
		return scenario.Thread{}, errNoRun
	}
	for _, one := range t.run.Scenario.Threads {
		if one.Name == name {
			return one, nil
		}
	}
	return scenario.Thread{}, phrase.New("there is no thread %q", name)
}

func (t teller) work(name string) (string, error) {
	one, err := t.thread(name)
	if err == nil && one.Work.Min != one.Work.Max {
		return "", phrase.New("the work of %s takes %s", name, one.Work)
	}
	return t.duration(one.Work.Max), err
}

func (t teller) after(name string) (string, error) {
	one, err := t.thread(name)
	if err == nil && one.After.Min != one.After.Max {
		return "", phrase.New("the work of %s after an inner call takes %s", name, one.After)
	}
	return t.duration(one.After.Max), err
}

func (t teller) drift(name string) (string, error) {
	one, err := t.thread(name)
	return one.Drift.Size(), err
}

func (t teller) start(name string) (string, error) {
	one, err := t.thread(name)
	return t.duration(one.Start), err
}

func (t teller) ofLock(get func(scenario.Lock) time.Duration) (string, error) {
	if t.run == nil {
		return "", errNoRun
	}
	return t.duration(get(t.run.Scenario.Lock)), nil
}

func (t teller) number(get func(*scenario.Scenario) int) (int, error) {
	if t.run == nil {
		return 0, errNoRun
	}
	return get(t.run.Scenario), nil
}

// in asks an option's run.
func (t teller) in(option, function string, args ...any) (any, error) {
	run := t.options[option]
	if run == nil {
		return nil, phrase.New("there is no option %q", option)
	}
	f, ok := teller{l: t.l, run: run}.functions()[function]
	if !ok || function == "in" {
		return nil, phrase.New("there is no function %q", function)
	}
	call := reflect.ValueOf(f)
	if call.Type().NumIn() != len(args) {
		return nil, phrase.New("%q takes %d arguments", function, call.Type().NumIn())
	}
	values := make([]reflect.Value, len(args))
	for n, a := range args {
		values[n] = reflect.ValueOf(a)
		if !values[n].IsValid() || !values[n].Type().AssignableTo(call.Type().In(n)) {
			return nil, phrase.New("%q does not take %s", function, a)
		}
	}
	out := call.Call(values)
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

// duration is a length of time in words; without a language, as in scenarios.
func (t teller) duration(d time.Duration) string {
	if t.run == nil {
		return d.String()
	}
	return t.l.Duration(d)
}
