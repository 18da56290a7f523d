package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"relock/engine/phrase"
	"relock/engine/store"
	"relock/engine/strict"
	"relock/lessons/advice"
)

const mcpSynopsis phrase.Text = `playground mcp [flags]

Serves the Model Context Protocol on standard input and output: an agent can run and
search scenarios, judge a lock's Lua, read a log, and search a lock of this machine.
"playground help work" says how to add it to a client.`

// agent serves an agent until its input ends, or ctx.
func agent(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("mcp", flag.ContinueOnError)
	addr := fs.String("addr", "127.0.0.1:8080", env.say("where the playground is served, if it is: answers then have links to it, a `host:port`"))
	if code, done := parse(fs, args, env, env.say(mcpSynopsis)); done {
		return code
	}
	if fs.NArg() > 0 {
		return env.refuse("%s takes no arguments, given %q", fs.Name(), fs.Args())
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "relock", Title: "Relock", Version: builtFrom()}, &mcp.ServerOptions{
		Instructions: "Relock runs, searches and judges distributed locks on Redis. A verdict is broken, unbroken or unjudged; unjudged is no verdict, and says what is missing. Read relock://docs/scenarios before you write a scenario.",
	})
	t := toolbox{server: server, env: env, addr: *addr}
	t.addTools()
	t.addResources()
	err := server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(env.in), Writer: written{env.out}})
	if err != nil && ctx.Err() == nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	return exitOK
}

// written is an output that the protocol does not close.
type written struct{ io.Writer }

// Close implements io.Closer.
func (written) Close() error { return nil }

// toolbox is what an agent can call: commands of this program.
type toolbox struct {
	server *mcp.Server
	env    environment
	addr   string
}

// called is what a tool is called with, as a command's arguments and its standard input.
type called interface {
	line() (args []string, input string, err error)
}

// searchBounds are those of explore and mend.
type searchBounds struct {
	Delays    *int     `json:"delays,omitempty" jsonschema:"at most so many delays in an order (default 2)"`
	Faults    []string `json:"faults,omitempty" jsonschema:"kinds of faults that may strike, such as lose-reply, pause or crash, or all"`
	MaxFaults *int     `json:"max_faults,omitempty" jsonschema:"at most so many faults in an order (default 1 with faults, else 0)"`
}

func (b searchBounds) flags(name string) []string {
	args := []string{name}
	add := func(flag string, n *int) {
		if n != nil {
			args = append(args, flag, strconv.Itoa(*n))
		}
	}
	add("-delays", b.Delays)
	add("-max-faults", b.MaxFaults)
	if len(b.Faults) > 0 {
		args = append(args, "-faults", strings.Join(b.Faults, ","))
	}
	return args
}

type runCall struct {
	Scenario string  `json:"scenario" jsonschema:"the scenario, in YAML or JSON"`
	Seed     *uint64 `json:"seed,omitempty" jsonschema:"instead of the scenario's"`
}

func (c runCall) line() ([]string, string, error) {
	args := []string{"run"}
	if c.Seed != nil {
		args = append(args, "-seed", strconv.FormatUint(*c.Seed, 10))
	}
	return append(args, "-"), c.Scenario, nil
}

type exploreCall struct {
	searchBounds

	Scenario string `json:"scenario" jsonschema:"the scenario, in YAML or JSON"`
}

func (c exploreCall) line() ([]string, string, error) {
	return append(c.flags("explore"), "-"), c.Scenario, nil
}

type mendCall struct {
	searchBounds

	Scenario string `json:"scenario" jsonschema:"the scenario, in YAML or JSON"`
}

func (c mendCall) line() ([]string, string, error) {
	return append(c.flags("mend"), "-"), c.Scenario, nil
}

type luaCall struct {
	searchBounds

	Lock    string              `json:"lock" jsonschema:"the script that takes the lock: KEYS[1] is its key"`
	Unlock  string              `json:"unlock" jsonschema:"the script that gives it back"`
	Renew   string              `json:"renew,omitempty" jsonschema:"the script that extends its lease"`
	Args    map[string][]string `json:"args,omitempty" jsonschema:"what lock, unlock and renew get as ARGV, where it is not owner, level, lease-ms: words of relock://docs/scenarios, or texts"`
	Lease   string              `json:"lease,omitempty" jsonschema:"such as 2s, the default"`
	Reenter bool                `json:"reenter,omitempty" jsonschema:"whether a thread takes the lock twice"`
}

func (c luaCall) line() ([]string, string, error) {
	scripts := map[string]string{"lock": c.Lock, "unlock": c.Unlock, "renew": c.Renew}
	maps.DeleteFunc(scripts, func(_, text string) bool { return text == "" })
	depth := 1
	if c.Reenter {
		depth = 2
	}
	lock := map[string]any{"protocol": "own", "lease": cmp.Or(c.Lease, "2s"), "scripts": scripts}
	if len(c.Args) > 0 {
		lock["args"] = c.Args
	}
	if c.Renew == "" {
		lock["watchdog"] = "off"
	}
	text, err := json.Marshal(map[string]any{"title": "A lock of one's own", "lock": lock, "threads": []any{
		map[string]any{"name": "A", "depth": depth, "work": "50ms"}, map[string]any{"name": "B", "depth": depth, "work": "50ms"},
	}})
	return append(c.flags("explore"), "-"), string(text), err
}

type logCall struct {
	Log    string `json:"log" jsonschema:"what redis-cli monitor printed, Redisson's log, or spans of OpenTelemetry"`
	Lock   string `json:"lock,omitempty" jsonschema:"the lock's key, where several could be one"`
	Inside int    `json:"inside,omitempty" jsonschema:"how many may be inside at once (default 1)"`
}

func (c logCall) line() ([]string, string, error) {
	args := []string{"import"}
	if c.Lock != "" {
		args = append(args, "-lock", c.Lock)
	}
	if c.Inside != 0 {
		args = append(args, "-inside", strconv.Itoa(c.Inside))
	}
	return append(args, "-"), c.Log, nil
}

type labCall struct {
	Command   []string `json:"command" jsonschema:"the worker and its arguments; it is started on this machine, a copy for each thread, with REDIS_URL"`
	Threads   int      `json:"threads,omitempty" jsonschema:"1 to 6 (default 2)"`
	Faults    []string `json:"faults,omitempty" jsonschema:"kinds that may strike, such as lose-reply or lease-ends; none for none (default lose-reply)"`
	MaxOrders int      `json:"max_orders,omitempty" jsonschema:"try so many orders (default 2000)"`
	Lock      string   `json:"lock,omitempty" jsonschema:"the lock's key"`
	Inside    int      `json:"inside,omitempty" jsonschema:"how many may be inside at once (default 1)"`
	Resource  string   `json:"resource,omitempty" jsonschema:"the key of what the lock protects"`
}

func (c labCall) line() ([]string, string, error) {
	args := []string{"lab"}
	for _, f := range []struct{ flag, value string }{{"-lock", c.Lock}, {"-resource", c.Resource}, {"-faults", strings.Join(c.Faults, ",")}} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	for _, f := range []struct {
		flag  string
		value int
	}{{"-threads", c.Threads}, {"-max-orders", c.MaxOrders}, {"-inside", c.Inside}} {
		if f.value != 0 {
			args = append(args, f.flag, strconv.Itoa(f.value))
		}
	}
	if len(c.Command) == 0 {
		return nil, "", phrase.New("command: the lab needs a worker to start")
	}
	return slices.Concat(args, []string{"--"}, c.Command), "", nil
}

func (t toolbox) addTools() {
	addTool[runCall](t, "run", "Runs a scenario on an embedded Redis. Answers with each Redis command and the lock's key right after it, and the rules that were broken.")
	addTool[exploreCall](t, "explore", "Searches every order of a scenario's moves within bounds: can a rule break? Answers with the counts and the smallest order that breaks each.")
	addTool[mendCall](t, "mend", "Says what would mend a scenario that breaks a rule: tries each change in every order. Can take a minute.")
	addTool[luaCall](t, "judge_lua", "Judges a lock of one's own by its Lua scripts, in every order of two threads. The scripts run in a process that is walled in.")
	addTool[logCall](t, "import_log", "Reads a log of a lock's Redis commands, and says which rules were broken in it.")
	addTool[labCall](t, "lab", "Searches every order of a lock's own client. It STARTS THE COMMAND ON THIS MACHINE, with this program's rights; the worker finds its Redis in REDIS_URL, and asks for each round with ECHO relock:round.")
	receive(t, "which_lock", "Says which lock to use, or none, by four answers; without them, asks the questions.", t.whichLock)
}

// addTool adds a command of this program as a tool.
func addTool[C called](t toolbox, name, says string) {
	receive(t, name, says, func(ctx context.Context, req *mcp.CallToolRequest, c C) (string, bool, error) {
		args, input, err := c.line()
		if err != nil {
			return "", false, err
		}
		out, progress := &bytes.Buffer{}, &progressNotes{ctx: ctx, req: req}
		env := t.env
		env.in, env.out, env.err, env.terminal, env.errTerminal, env.columns = strings.NewReader(input), out, progress, false, true, maxWidth
		env.pages = t.pages
		code := command(ctx, args, env)
		return brief(out.String()) + "\n" + progress.said(), code == exitUsage || code == exitUnreachable, ctx.Err()
	})
}

// receive adds a tool that is called with a C. What is wrong with that we say ourselves.
func receive[C any](t toolbox, name, says string, answer func(context.Context, *mcp.CallToolRequest, C) (text string, failed bool, err error)) {
	schema, err := jsonschema.For[C](nil)
	if err != nil {
		panic(err) // a type of ours
	}
	t.server.AddTool(&mcp.Tool{Name: name, Description: says, InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var c C
		var text string
		var failed bool
		err := arguments(req.Params.Arguments, slices.Sorted(maps.Keys(schema.Properties)), &c)
		if err == nil {
			text, failed, err = answer(ctx, req, c)
		}
		if err != nil {
			text, failed = told(t.env.speaks(), err), true
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimSpace(text)}}, IsError: failed}, nil
	})
}

// noneOf says that a word is none of those that are allowed.
func noneOf(key string, given phrase.Wording, word string, allowed []string) error {
	return phrase.New("%s: given %s, allowed: %s", key, strict.Meant(given, word, allowed), strict.Among(allowed...))
}

// arguments reads what a tool is called with.
func arguments(data json.RawMessage, names []string, into any) error {
	if len(data) == 0 {
		return nil
	}
	var given map[string]json.RawMessage
	err := json.Unmarshal(data, &given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return noneOf("arguments", strict.TheKey(name), name, names)
		}
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	var mistyped *json.UnmarshalTypeError
	if !errors.As(err, &mistyped) {
		return err
	}
	kind := mistyped.Type.Kind()
	allowed := map[reflect.Kind]phrase.Wording{
		reflect.String: phrase.Say("a text"), reflect.Slice: strict.Say("a list"), reflect.Map: strict.Say("a map"), reflect.Bool: strict.Among("true", "false"),
		reflect.Int: phrase.Say("a whole number"), reflect.Uint64: strict.Whole[uint64](0, math.MaxUint64),
	}[kind]
	return phrase.New("%s: given %s, allowed: %s", cmp.Or(mistyped.Field, "arguments"), mistyped.Value, allowed)
}

// pages says where the playground is served, "" where it is not.
func (t toolbox) pages(ctx context.Context) string {
	if askReady(ctx, t.addr, false) != nil {
		return ""
	}
	return "http://" + t.addr
}

// longAnswer is how many lines an answer has at most: an agent reads all of it.
const longAnswer = 160

// brief is an answer without its middle where it is long: the verdict is at its ends.
func brief(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if left := len(lines) - longAnswer; left > 0 {
		gap := fmt.Sprintf("… %d lines are left out\n", left)
		return strings.Join(slices.Concat(lines[:longAnswer/2], []string{gap}, lines[len(lines)-longAnswer/2:]), "")
	}
	return text
}

// progressNotes takes what a command says beside its output, and tells the agent how far it is,
// if that has asked. It is safe for concurrent use.
type progressNotes struct {
	ctx context.Context
	req *mcp.CallToolRequest

	mu   sync.Mutex
	told int
	last time.Time
	text strings.Builder
}

// oneNote is how long no other note follows a note.
const oneNote = 500 * time.Millisecond

// Write implements io.Writer.
func (p *progressNotes) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	note, is := strings.CutPrefix(string(b), "\r\x1b[K")
	if !is {
		return p.text.Write(b)
	}
	token := p.req.Params.GetProgressToken()
	if token == nil || note == "" || time.Since(p.last) < oneNote {
		return len(b), nil
	}
	p.last = time.Now()
	p.told++
	_ = p.req.Session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: strings.TrimLeft(note, "█░ "), Progress: float64(p.told)}) // without it the answer comes all the same
	return len(b), nil
}

// said is what it has said that is no progress.
func (p *progressNotes) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// whichCall are the answers to the four questions.
type whichCall struct {
	Answers map[string]string `json:"answers,omitempty" jsonschema:"the name of an answer for the name of each question; empty asks the questions"`
}

func (t toolbox) whichLock(_ context.Context, _ *mcp.CallToolRequest, c whichCall) (string, bool, error) {
	var b strings.Builder
	line := func(text phrase.Text, args ...any) { fmt.Fprintln(&b, t.env.say(text, args...)) }
	given := advice.Answers{}
	var names []string
	for _, q := range advice.Questions() {
		names = append(names, q.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Answers)) {
		if !slices.Contains(names, name) {
			return "", false, noneOf("answers", strict.TheKey(name), name, names)
		}
	}
	for _, q := range advice.Questions() {
		if slices.ContainsFunc(q.Answers, func(a advice.Answer) bool { return a.Name == c.Answers[q.Name] }) {
			given[q.Name] = c.Answers[q.Name]
			continue
		}
		if answer, is := c.Answers[q.Name]; is {
			var allowed []string
			for _, a := range q.Answers {
				allowed = append(allowed, a.Name)
			}
			return "", false, noneOf("answers."+q.Name, strict.Quoted(answer), answer, allowed)
		}
		fmt.Fprintf(&b, "%s: %s\n", q.Name, t.env.say(q.Says))
		for _, a := range q.Answers {
			fmt.Fprintf(&b, "  %s: %s\n", a.Name, t.env.say(a.Says))
		}
	}
	if given.Complete() {
		to := advice.To(given)
		if to.Protocol == nil {
			line("no lock")
		} else {
			fmt.Fprintf(&b, "%s: %s\n", to.Protocol.Name, t.env.say(to.Protocol.Summary))
		}
		for _, why := range to.Because {
			fmt.Fprintln(&b, t.env.speaks().Clause(why))
		}
		fmt.Fprintf(&b, "\n%s", to.Program())
	}
	return b.String(), false, nil
}

// addResources adds what an agent may read.
func (t toolbox) addResources() {
	printed := func(args ...string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			var out bytes.Buffer
			env := t.env
			env.in, env.out, env.err, env.terminal, env.columns = strings.NewReader(""), &out, io.Discard, false, maxWidth
			if code := command(ctx, args, env); code != exitOK {
				return "", fmt.Errorf("%s: exit code %d", strings.Join(args, " "), code)
			}
			return out.String(), nil
		}
	}
	for _, r := range []struct {
		uri, title, kind string
		text             func(context.Context) (string, error)
	}{
		{"relock://schema/scenario", "The JSON Schema of a scenario", "application/schema+json", printed("schema")},
		{"relock://locks", "The locks, one on each line", "text/plain", printed("protocols")},
		{"relock://differences", "Where the embedded Redis is not a real one", "text/markdown", func(context.Context) (string, error) { return store.Differences(), nil }},
		{"relock://docs/scenarios", "How to write a scenario", "text/markdown", printed("help", "scenarios")},
		{"relock://docs/lab", "How to search a lock's own client", "text/markdown", printed("help", "lab")},
		{"relock://docs/mylock", "How to write a worker, by kinds of locks", "text/markdown", printed("help", "mylock")},
	} {
		name := r.uri[strings.LastIndexByte(r.uri, '/')+1:]
		t.server.AddResource(&mcp.Resource{URI: r.uri, Name: name, Title: r.title, MIMEType: r.kind}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := r.text(ctx)
			if err != nil {
				return nil, err
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.uri, MIMEType: r.kind, Text: text}}}, nil
		})
	}
}
