package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/lessons"
	"relock/lessons/advice"
	"relock/lessons/libraries"
	"relock/web"
	"relock/web/export"
	"relock/web/film"
	"relock/web/labs"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/words"
)

const labSynopsis phrase.Text = `playground lab [flags] -- COMMAND [ARGS]
       playground lab [flags]
       playground lab -example NAME

Puts your own lock on the stage, unmodified. The first form starts a copy of
COMMAND for each thread, each with a Redis port of its own (REDIS_URL,
REDIS_HOST, REDIS_PORT, RELOCK_THREAD), and tries every order of their commands,
with at most -max-faults faults: can a rule break? For each broken rule it prints
the smallest order, as a table and as a line for -replay. The second form listens
on a port for each thread, and prints what comes: connect with any client.

A worker sends ECHO relock:round when it is ready for a round; the answer comes
when all are ready, on an empty Redis. Without it, each order takes a new process.
ECHO relock:enter and ECHO relock:leave say that it is inside, and that it has
left: that judges a lock of any kind. Behind a mark, in the same word of ECHO, may
stand the name of the lock, where there are several, and "read" for a reader.
Without marks the lab judges three kinds of keys that say who is inside.

With -nodes N each worker has N Redis, REDIS_URL_1 to REDIS_URL_N, for a lock of their
majority: who has more than half of them is inside, and orders that cannot differ
because they are of different nodes are tried once.

With -open a browser shows the lab: each thread's next command waits there for
you, with the faults beside it. Without a COMMAND, -json reads JSON Lines from
standard input that steer it.

Faults: lose-request, lose-reply, lose-message, delay, late-copy, evict,
lease-ends (with -clock gate), crash and pause (with -clock wall). Redis' clock
is the gate's and stands still: "the lease ends" means that the client paused
for that long. With -clock wall leases run, a pause is SIGSTOP and a crash
SIGKILL.

Exit codes: 0 no rule is broken, and nothing is missing that a judgement needs;
1 broken; 2 bad input; 3 a worker fails (it hangs, dies, or talks to nobody), or no
Redis answers; 4 no rule is broken, but it cannot tell whether one can be: it
says why, and what helps.`

// labFlags are the flags of lab, beside its options.
type labFlags struct {
	o        lab.Options
	json     bool
	open     bool
	check    *bool
	save     string
	mortem   bool
	replay   string
	bare     bool // a ladder says itself what is missing, and what comes next
	language *words.Language
	report   report

	kinds, example, url string
	seed                seedFlag
	vars                listFlag
}

// lockFlags adds the flags that say which key is the lock's, and which it is by default, and how many
// may be inside.
func lockFlags(fs *flag.FlagSet, env environment, key *string, kind *check.Kind, also *[]string, byDefault phrase.Text) {
	fs.Func("lock", env.say("the `lock`: KEY, or KEY,KEY for several (default: the first key that a worker writes before it says that it is inside; without marks, %s)", env.say(byDefault)), func(text string) error {
		l, err := infer.ParseLock(text)
		*key, *also = l.Key, l.Also
		return toldError(env, err)
	})
	fs.Func("inside", env.say("`N` may be inside at once, as the worker's marks say it (default 1)"), func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = 0
		}
		*kind, err = check.Inside(n)
		return toldError(env, err)
	})
	fs.StringVar(key, "key", *key, env.say("the lock's `key`, the same as -lock KEY"))
}

// kindsOfLocks lists what can be judged, for a help text.
func kindsOfLocks(env environment) string {
	text := "\n\n" + env.say("What the lock's key may hold, and whether that is judged (%s):", verdict.AsFlag)
	for _, k := range verdict.Kinds() {
		text += "\n  " + pad(env.say(k.Judgeable()), 12) + env.say(k.Holds)
	}
	return text
}

// listFlag is a flag that can be given more than once.
type listFlag []string

func (l *listFlag) String() string { return "" }

func (l *listFlag) Set(s string) error {
	if name, _, ok := strings.Cut(s, "="); !ok || name == "" {
		return errors.New("allowed: NAME=VALUE")
	}
	*l = append(*l, s)
	return nil
}

func laboratory(ctx context.Context, args []string, env environment) int {
	var f labFlags
	fs := flag.NewFlagSet("lab", flag.ContinueOnError)
	f.declare(fs, env)
	if code, done := parse(fs, args, env, env.say(labSynopsis)+kindsOfLocks(env)); done {
		return code
	}
	if f.example != "" {
		return printWorker(f.example, fs.NArg(), env)
	}
	if err := f.settle(fs.Args()); err != nil {
		return f.bad(err, env)
	}
	var order []lab.Decision
	if f.replay != "" {
		var err error
		if order, err = readOrder(f.replay, env); err != nil {
			return f.bad(err, env)
		}
	}
	if f.url != "" {
		external, err := store.Connect(ctx, f.url)
		if err != nil {
			return redisFailed(err, env)
		}
		defer func() { _ = external.Close() }()
		f.o.External = external
		if err := f.o.Check(); err != nil {
			return f.bad(err, env)
		}
	}
	return f.start(ctx, order, env)
}

// start does what the flags ask for; the order is that of -replay.
func (f labFlags) start(ctx context.Context, order []lab.Decision, env environment) int {
	switch {
	case len(f.o.Command) == 0 && (f.replay != "" || f.save != "" || f.mortem):
		return env.refuse("-save, -replay and -post-mortem need a COMMAND, behind --")
	case f.report.wanted() && (f.json || f.open || len(f.o.Command) == 0):
		return env.refuse("-format %s is for a search of a COMMAND, behind --, without -json", f.report.format)
	case f.open && (f.replay != "" || f.save != "" || f.json || f.mortem):
		return env.refuse("-open goes without -json, -save, -replay and -post-mortem: the page does what they do")
	case f.mortem && (f.json || f.report.wanted()):
		return env.refuse("-post-mortem goes without -json and -format: it is a format")
	case f.open:
		return f.page(ctx, env)
	case len(f.o.Command) == 0 && f.json:
		return f.steer(ctx, env)
	case len(f.o.Command) == 0:
		return f.listen(ctx, env)
	}
	f.o.Second = startSecond(ctx, env, *f.check)
	defer func() { _ = f.o.Second.Close() }()
	if f.replay != "" {
		return f.again(ctx, order, env)
	}
	return f.search(ctx, env)
}

// declare adds the flags.
func (f *labFlags) declare(fs *flag.FlagSet, env environment) {
	fs.IntVar(&f.o.Threads, "threads", 2, env.say("`N` threads, 1 to %d", lab.MaxThreads))
	fs.IntVar(&f.o.Nodes, "nodes", 1, env.say("give each worker `N` Redis of its own for a lock of their majority, 1 to %d: REDIS_URL_1 to REDIS_URL_N", lab.MaxNodes))
	fs.StringVar(&f.kinds, "faults", lab.LoseReply, env.say("the `kinds` of faults that may strike, with commas between them, or none"))
	fs.IntVar(&f.o.MaxFaults, "max-faults", 1, env.say("at most `N` faults in an order, 0 to %d", lab.MaxFaults))
	fs.IntVar(&f.o.MaxOrders, "max-orders", 2000, env.say("try `N` orders, 1 to %d; if there are more, draw some at random", typed(lab.MaxOrders)))
	lockFlags(fs, env, &f.o.Key, &f.o.Kind, &f.o.Also, "the key whose state decided what another thread was told")
	fs.StringVar(&f.o.Resource, "resource", "", env.say("the `key` of what the lock protects: its GETs and SETs are reads and writes"))
	fs.BoolVar(&f.o.Once, "once", false, env.say("what a worker writes down with RPUSH on the key of -resource must be done once"))
	fs.Func("rules", env.say("only these `rules` count, with commas between them (default: all)"), func(text string) error {
		f.o.Rules = named(text)
		return nil
	})
	fs.StringVar(&f.o.Clock, "clock", "", env.say("Redis' `clock`: gate (it stands still) or wall (default: gate; wall without a COMMAND, and with -redis)"))
	fs.StringVar(&f.url, "redis", "", env.say("put the Redis at this `URL` behind the gate, instead of the embedded one (with ?master_name=NAME, the master that a sentinel names; with ?cluster=true and -key, the node that has the key); the lab deletes there every key that your clients name, before each round"))
	fs.BoolFunc("probe", env.say("at the end of each order, let each thread try once more to get in, alone: is anybody shut out? (default true)"), func(text string) error {
		probe, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("allowed: true or false")
		}
		f.o.NoProbe = !probe
		return nil
	})
	fs.BoolVar(&f.json, "json", false, env.say("print JSON Lines"))
	fs.StringVar(&f.save, "save", "", env.say("write the trace of the smallest break to `FILE`, and of each further rule's beside it, with the rule in its name"))
	fs.BoolVar(&f.mortem, "post-mortem", false, env.say("if a rule is broken, print a post-mortem in Markdown instead: what happened, why and what would have saved it, and the smallest order as a table"))
	fs.StringVar(&f.replay, "replay", "", env.say("play the order in `FILE` (- is standard input), or the order itself"))
	f.seed.add(fs, env, "draw with seed `N` (default 1)")
	fs.DurationVar(&f.o.Timeout, "timeout", time.Minute, env.say("how long a worker may be silent, a `duration`"))
	fs.Var(&f.vars, "env", env.say("set `K=V` in the workers' environment; can be given more than once"))
	fs.StringVar(&f.example, "example", "", env.say("print a worker to start from, by its `name`: %s", workersNamed(env)))
	fs.StringVar(&f.o.Listen, "listen", "", env.say("open the ports on this `host`; * is every address of this machine (default: loopback)"))
	fs.BoolVar(&f.open, "open", false, env.say("steer it on a page, in the browser"))
	f.check = checkFlag(fs, env)
	f.report.flag(fs, env)
	f.language = languageFlag(fs, env)
}

// settle makes the options of the flags and of the workers' command.
func (f *labFlags) settle(command []string) error {
	if f.o.Nodes == 0 { // which options take for one
		return phrase.New("-nodes %d: allowed: 1 to %d", 0, lab.MaxNodes)
	}
	f.o.Command, f.o.Env, f.o.Seed = command, f.vars, 1
	if f.seed.set {
		f.o.Seed = f.seed.value
	}
	f.o.Faults = slices.DeleteFunc(named(f.kinds), func(kind string) bool { return kind == "none" })
	if len(f.o.Faults) == 0 {
		f.o.MaxFaults = 0
	}
	switch {
	case f.o.Clock == lab.ClockGate && f.url != "":
		return phrase.New("-clock gate with -redis: the clock of a Redis elsewhere is the wall's; allowed: -clock wall")
	case len(f.o.Command) == 0 && !f.open && !f.json || f.url != "":
		f.o.Clock = cmp.Or(f.o.Clock, lab.ClockWall)
	}
	f.o.Clock = cmp.Or(f.o.Clock, lab.ClockGate)
	return f.o.Check()
}

func (f labFlags) bad(err error, env environment) int {
	return env.refuseWhy(err)
}

// workersNamed says which workers there are to start from.
func workersNamed(env environment) string {
	languages, names := libraries.Examples()
	return env.say("%s; or for a library: %s", strings.Join(languages, ", "), strings.Join(names, ", "))
}

func printWorker(name string, rest int, env environment) int {
	text, ok := libraries.Example(name)
	if !ok || rest > 0 {
		return env.refuse("-example %q; allowed: one of %s; and nothing else", name, workersNamed(env))
	}
	fmt.Fprint(env.out, text)
	return exitOK
}

// readOrder reads an order from a file, from standard input, or from the flag itself.
func readOrder(name string, env environment) ([]lab.Decision, error) {
	if strings.HasPrefix(name, "[") {
		return lab.ReadOrder(strings.NewReader(name))
	}
	in := env.in
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the file the user named
		if err != nil {
			return nil, fmt.Errorf("-replay: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	order, err := lab.ReadOrder(in)
	if err != nil {
		return nil, fmt.Errorf("-replay %s: %w", name, err)
	}
	return order, nil
}

// search makes a search, and prints what it found.
func (f labFlags) search(ctx context.Context, env environment) int {
	found, err := f.find(ctx, env)
	return f.tell(found, nil, err, env)
}

// find makes a search.
func (f labFlags) find(ctx context.Context, env environment) (*lab.Found, error) {
	shown := false
	last := time.Time{}
	f.o.Progress = func(orders, waiting, broken int) {
		if !env.errTerminal || time.Since(last) < 100*time.Millisecond {
			return
		}
		last, shown = time.Now(), true
		fmt.Fprintf(env.err, "\r\x1b[K%s", page.LabProgress(*f.language, orders, waiting, broken))
	}
	found, err := lab.Search(ctx, f.o)
	if shown {
		fmt.Fprint(env.err, "\r\x1b[K")
	}
	return found, err
}

// again plays one order, and prints what came of it.
func (f labFlags) again(ctx context.Context, order []lab.Decision, env environment) int {
	one, found, err := lab.Replay(ctx, f.o, order)
	return f.tell(found, one, err, env)
}

// tell prints what a search or a replay came to, and says so in an exit code.
func (f labFlags) tell(found *lab.Found, one *lab.Order, err error, env environment) int {
	var failed *lab.WorkerError
	switch {
	case errors.As(err, &failed):
		found.Ending, found.Failed = lab.Worker, failed
	case err != nil:
		if _, ok := phrase.Of(err); ok {
			return f.bad(err, env)
		}
		env.tellWhy(err)
		if errors.Is(err, store.ErrUnreachable) {
			return exitUnreachable
		}
		return exitUnexpected
	}
	saved, err := f.saved(found, one)
	if err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	s := subject{name: f.title(), file: f.source(), kind: f.o.Kind, judgement: found.Judgement()}
	for _, r := range found.Rules {
		s.rules = append(s.rules, r.Name)
	}
	return f.report.write(env, "lab", f.report.add(env, s, func(env environment) int { return f.conclude(env, found, one, saved) }))
}

// source is the file of the worker that a person has written, "" if none is known.
func (f labFlags) source() string {
	at := slices.IndexFunc(f.o.Command, func(word string) bool { return filepath.Ext(word) != "" && !filepath.IsAbs(word) })
	if at < 0 {
		return ""
	}
	return f.o.Command[at]
}

// conclude prints what a search or a replay came to.
func (f labFlags) conclude(env environment, found *lab.Found, one *lab.Order, saved map[*lab.Order]string) int {
	var err error
	switch {
	case f.json:
		err = f.print(env, found, saved)
	case f.mortem && len(found.Rules) > 0:
		err = f.postMortem(env, found, saved)
	default:
		err = f.table(env, found, one, saved)
	}
	switch {
	case err != nil:
		env.tell("cannot write: %s", err)
		return exitUnexpected
	case found.Failed != nil:
		env.tellWhy(found.Failed)
		return exitUnreachable
	default:
		return exitOf(found.Judgement().Verdict)
	}
}

// title says what a trace is of.
func (f labFlags) title() string {
	if len(f.o.Command) == 0 {
		return "lab"
	}
	return "lab: " + strings.Join(f.o.Command, " ")
}

// saved writes the smallest order of each broken rule, or the one that was played, where -save
// asks for it: the first into that file. It returns the names.
func (f labFlags) saved(found *lab.Found, one *lab.Order) (map[*lab.Order]string, error) {
	names := map[*lab.Order]string{}
	if f.save == "" {
		return names, nil
	}
	list := found.Rules
	if one != nil {
		list = []lab.Rule{{Order: one}}
	}
	for i, r := range list {
		if names[r.Order] != "" {
			continue
		}
		name, ext := f.save, filepath.Ext(f.save)
		if i > 0 {
			name = strings.TrimSuffix(name, ext) + "." + r.Name + ext
		}
		if err := f.write(name, found, r.Order); err != nil {
			return nil, err
		}
		names[r.Order] = name
	}
	return names, nil
}

// postMortem writes the smallest order of the first rule as Markdown, with what would have saved it.
func (f labFlags) postMortem(env environment, found *lab.Found, saved map[*lab.Order]string) error {
	l, o := *f.language, found.Rules[0].Order
	h, events, err := o.Trace(found, f.o, f.title())
	if err != nil {
		return err
	}
	sc, err := scenario.Parse(h.Scenario)
	if err != nil {
		return fmt.Errorf("the frame of a trace: %w", err)
	}
	var broken []lab.Broken
	for i, one := range found.Smallest() {
		if found.Rules[i].Order == o {
			broken = append(broken, one)
		}
	}
	text, err := export.Render(context.Background(), export.Markdown, export.Run{
		Header: h, Events: events, Scenario: sc, Title: f.title(), Language: l, Cures: page.NewLabCures(l.Plain(), broken),
	})
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if name := saved[o]; name != "" {
		text = append(text, "\n"+l.Plain().Say("As a film: %s", "`playground import -format html "+name+" > film.html`")+"\n"...)
	}
	if _, err := env.out.Write(text); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

func (f labFlags) write(name string, found *lab.Found, o *lab.Order) error {
	h, events, err := o.Trace(found, f.o, f.title())
	if err != nil {
		return err
	}
	file, err := os.Create(name) //nolint:gosec // the file the user named
	if err != nil {
		return fmt.Errorf("-save: %w", err)
	}
	err = trace.Write(file, h, events)
	if closed := file.Close(); err == nil && closed != nil {
		err = fmt.Errorf("-save: %w", closed)
	}
	return err
}

// The lines of -json.
type (
	labForm struct {
		Lab     int      `json:"lab"` // the version
		Command []string `json:"command"`
		Threads int      `json:"threads"`
		Nodes   int      `json:"nodes,omitempty"` // where there are several
		faultsForm
		Ending   string         `json:"ending"`
		Orders   string         `json:"orders"`
		Broken   string         `json:"broken"`
		Diverged int            `json:"diverged"`
		Store    string         `json:"store"`
		Key      string         `json:"key,omitempty"`  // the lock's, or of several with commas between them
		Kind     string         `json:"kind,omitempty"` // of -inside; keys of several
		Resource string         `json:"resource,omitempty"`
		Once     bool           `json:"once,omitempty"`
		Rules    []string       `json:"rules,omitempty"`      // that count, where not all do
		Checked  string         `json:"checked_on,omitempty"` // the version of a Redis of this machine that was asked, too
		First    *divergedForm  `json:"first_difference,omitempty"`
		Worker   *labWorkerForm `json:"worker,omitempty"`
		verdict.Judgement
	}
	divergedForm struct {
		At   int          `json:"at"` // decision, from 1
		Want lab.Decision `json:"want"`
		Have string       `json:"have"`
	}
	labWorkerForm struct {
		Thread string `json:"thread"`
		Why    string `json:"why"`
		Last   string `json:"last_command"`
		Words  string `json:"last_words"`
	}
	labRuleForm struct {
		Rule   string         `json:"rule"`
		By     string         `json:"by,omitempty"` // of mutual-exclusion
		Orders string         `json:"orders"`
		Order  []lab.Decision `json:"order"`
		Trace  string         `json:"trace,omitempty"`
	}
	labDrawnForm struct {
		Drawn  int      `json:"drawn"`
		Broken int      `json:"broken"`
		Rules  []string `json:"rules"`
		Low    float64  `json:"low"`
		High   float64  `json:"high"`
	}
)

func (f labFlags) print(env environment, found *lab.Found, saved map[*lab.Order]string) error {
	enc := json.NewEncoder(env.out)
	enc.SetEscapeHTML(false)
	form := labForm{
		Lab: 1, Command: f.o.Command, Threads: f.o.Threads, faultsForm: newFaultsForm(f.o.Faults, f.o.MaxFaults), Ending: found.Ending,
		Orders: strconv.Itoa(found.Orders), Broken: strconv.Itoa(found.Broken), Diverged: found.Diverged, Store: found.Store, Key: found.Key, Kind: f.o.Kind.String(), Resource: f.o.Resource, Once: f.o.Once, Rules: f.o.Rules,
		Checked: found.Checked.On, Judgement: found.Judgement(),
	}
	if f.o.Nodes > 1 {
		form.Nodes = f.o.Nodes
	}
	if len(f.o.Also) > 0 {
		form.Key, form.Kind = f.o.Lock().String(), "keys"
	}
	if d := found.First; d != nil {
		form.First = &divergedForm{d.At, d.Want, d.Have}
	}
	if w := found.Failed; w != nil {
		form.Worker = &labWorkerForm{w.Thread, w.Why, w.Last, w.Words}
	}
	err := enc.Encode(form)
	for _, r := range found.Rules {
		line := labRuleForm{Rule: r.Name, Orders: strconv.Itoa(r.Orders), Order: r.Order.Decisions, Trace: saved[r.Order]}
		if r.Name == "mutual-exclusion" {
			line.By = r.By
		}
		if err == nil {
			err = enc.Encode(line)
		}
	}
	if d := found.Drawn; d != nil && err == nil {
		err = enc.Encode(labDrawnForm{d.Orders, d.Broken, d.Rules, rounded(d.Low), rounded(d.High)})
	}
	return err
}

// rounded is a share with four decimals.
func rounded(share float64) float64 { return math.Round(share*1e4) / 1e4 }

// table prints the rules that break, the smallest order of each, and how the search
// ended.
func (f labFlags) table(env environment, found *lab.Found, one *lab.Order, saved map[*lab.Order]string) error {
	l := *f.language
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l}
	t.line(f.title(), bold)
	key := cmp.Or(infer.Lock{Key: found.Key, Kind: f.o.Kind, Also: f.o.Also}.String(), l.Say("none seen"))
	t.line(l.Say("%d threads · lock key %s · faults: %s, at most %d", f.o.Threads, key, cmp.Or(strings.Join(f.o.Faults, ", "), l.Say("none")), f.o.MaxFaults), faint)
	if len(f.o.Rules) > 0 {
		t.line(l.Say("Only these rules count: %s.", strings.Join(f.o.Rules, ", ")), faint)
	}
	if len(found.Rules) > 0 {
		fmt.Fprintln(t.w)
	}
	for _, r := range found.Rules {
		text := page.LabRuleCounted(l, f.o.Kind, r.Name, r.Orders, found.Orders)
		if r.Name == "mutual-exclusion" && r.By == trace.ByEffects {
			text += " " + l.Say(page.LabUnmarked)
		}
		t.line(text, red)
	}
	printed := map[*lab.Order]bool{}
	list := found.Rules
	if one != nil {
		list = []lab.Rule{{Order: one}}
	}
	for n, r := range list {
		if printed[r.Order] || f.bare && n > 0 {
			continue
		}
		printed[r.Order] = true
		h, events, err := r.Order.Trace(found, f.o, f.title())
		if err != nil {
			return err
		}
		sc, err := scenario.Parse(h.Scenario)
		if err != nil {
			return fmt.Errorf("the frame of a trace: %w", err)
		}
		fmt.Fprintln(t.w)
		if r.Name != "" {
			t.line(l.Say("The smallest order that breaks %s:", film.RuleOf(l, f.o.Kind, r.Name)), bold)
		}
		printTable(env, l, film.NewScenario(l, sc), h, events, true)
		fmt.Fprintln(t.w)
		fmt.Fprintln(t.w, "order: "+lab.Line(r.Order.Decisions)) // whole: it is copied
		if name := saved[r.Order]; name != "" {
			fmt.Fprintln(t.w, l.Say("saved: %s", name))
		}
	}
	fmt.Fprintln(t.w)
	j := found.Judgement()
	if one == nil || found.Failed != nil {
		f.ending(t, found, j.Verdict)
	} else if j.Verdict == verdict.Unbroken {
		t.line(l.Say("No rule is broken in this order."), green)
	}
	if d := found.First; d != nil {
		t.line(page.LabDiverged(l, found.Diverged, d), "")
	}
	told := append(page.LabClock(l, f.o.Faults, found.Broken), unjudged(l, j)...)
	if same := found.Checked.Same; !same.IsZero() {
		told = append(told, l.Clause(same))
	}
	for _, text := range told {
		for _, part := range wrap(text, t.width) {
			t.line(part, "")
		}
	}
	if f.bare {
		return nil
	}
	f.cures(t, found, j.Verdict)
	if untried := f.untried(found); one == nil && untried != "" {
		fmt.Fprintln(t.w)
		for _, part := range wrap(untried, t.width) {
			t.line(part, faint)
		}
	}
	return nil
}

// untried says which faults were not tried that could have been, where a worker has not failed.
func (f labFlags) untried(found *lab.Found) string {
	if found.Failed != nil {
		return ""
	}
	var list []string
	for _, name := range lab.Faults() {
		o := f.o
		o.Faults, o.MaxFaults = []string{name}, 1
		if !slices.Contains(f.o.Faults, name) && o.Check() == nil {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return f.language.Say("Faults that were not tried: %s. Add them with -faults.", strings.Join(list, ", "))
}

// cures prints what would have saved a lock that is broken, with code in the worker's language.
func (f labFlags) cures(t table, found *lab.Found, v verdict.Verdict) {
	if v != verdict.Broken {
		return
	}
	language := advice.LanguageOf(f.o.Command)
	fmt.Fprintln(t.w)
	t.line(t.l.Say("What would have saved it?"), bold)
	for i, c := range page.NewLabCures(t.l, found.Smallest()) {
		text := t.l.Say("%[1]d. %[2]s. %[3]s", i+1, c.Title, c.Says)
		for _, part := range wrap(t.l.Say("%[1]s A run that shows it: %[2]s", text, "lessons/scenarios/"+c.Run+".yaml"), t.width) {
			t.line(part, "")
		}
		for _, code := range c.Code {
			for line := range strings.Lines(code.Lines) {
				if code.Name == language {
					fmt.Fprint(t.w, "     "+line) // whole: it is copied
				}
			}
		}
	}
}

func (f labFlags) ending(t table, found *lab.Found, v verdict.Verdict) {
	l := t.l
	style := bold
	switch {
	case found.Ending == lab.Worker || v == verdict.Broken:
		style = red
	case v == verdict.Unbroken:
		style = green
	}
	t.line(page.LabEnding(l, found.Ending, found.Orders, found.Broken, found.Diverged, v), style)
	if found.Drawn != nil {
		t.line(page.LabDrawn(l, found.Drawn), "")
	}
	if found.Started {
		t.line(l.Say("Each order took new processes. A worker that sends ECHO relock:round stays, and is searched many times faster."), faint)
	}
}

// steer lets who writes JSON Lines decide, until they end or ctx does.
func (f labFlags) steer(ctx context.Context, env environment) int {
	s, err := lab.Steer(ctx, f.o)
	if err != nil {
		return f.bad(err, env)
	}
	defer s.Close()
	served := make(chan error, 1)
	go func() { served <- lab.Serve(ctx, s, f.title(), env.in, env.out) }()
	select {
	case err = <-served:
	case <-ctx.Done(): // it may wait for another line for ever
	}
	if err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	return exitOK
}

// page serves the playground with this lab, and leads a browser there.
func (f labFlags) page(ctx context.Context, env environment) int {
	s, err := lab.Steer(ctx, f.o)
	if err != nil {
		return f.bad(err, env)
	}
	defer s.Close()
	config := web.Config{
		Log: slog.New(slog.NewJSONHandler(env.err, &slog.HandlerOptions{Level: slog.LevelWarn})), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(),
		Lab: web.LabConfig{Limits: labs.DefaultLimits(), Fixed: s, Command: strings.Join(f.o.Command, " "), Wall: f.o.Clock == lab.ClockWall},
	}
	at := service{addr: "127.0.0.1:0", config: config, grace: grace, leads: "/lab"}
	if err := at.listen(ctx, env); err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	return exitOK
}

// browse opens an address in the browser of this machine, if there is one.
func browse(ctx context.Context, address string) {
	for _, name := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(name); err == nil {
			_ = exec.CommandContext(ctx, path, address).Start() //nolint:gosec // an address of ours
			return
		}
	}
}

// listen shows what comes, from any client, until ctx ends.
func (f labFlags) listen(ctx context.Context, env environment) int {
	l := *f.language
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l}
	watch, err := lab.Watch(f.o)
	if err != nil {
		return f.bad(err, env)
	}
	defer watch.Close()
	for i, address := range watch.Addresses() {
		fmt.Fprintln(env.out, l.Say("thread %s: redis://%s", lab.Thread(i), strings.Join(address, " redis://")))
	}
	fmt.Fprint(env.out, l.Say("Connect a client to each: its commands are printed here (Ctrl-C ends it)."), "\n\n")
	rows := watch.Rows()
	for {
		select {
		case r := <-rows:
			style := ""
			if r.Bad {
				style = red
			}
			fmt.Fprintln(t.w, t.paint(l.Clause(r.Says), style))
		case <-ctx.Done():
			return exitOK
		}
	}
}
