package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"relock/engine/racetest"
	"relock/engine/store"
)

// agentOf is an agent's session with this program, which notes how far a call is.
func agentOf(t *testing.T, progress func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- command(t.Context(), []string{"mcp", "-addr", "127.0.0.1:1"}, environment{getenv: func(string) string { return "" }, in: toServer, out: fromServer, err: io.Discard})
		_ = fromServer.Close()
	}()
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		if progress != nil {
			progress(r.Params)
		}
	}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, o).Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = fromClient.Close()
		if code := <-ended; code != exitOK {
			t.Errorf("exit code %d", code)
		}
	})
	return session
}

func asked(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range r.Content {
		if one, ok := c.(*mcp.TextContent); ok {
			text += one.Text
		}
	}
	return text, r.IsError
}

func TestAnAgentIsAnswered(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	worker := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", worker, "../../lessons/libraries/_workers/relock.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	broken := read(t, bad)
	const two = "threads: [{name: A, work: 50ms}, {name: B, work: 50ms}]"
	s := agentOf(t, nil)
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		failed     bool
		want       []string
	}{
		{"a run", "run", map[string]any{"scenario": broken}, false, []string{"two inside at once"}},
		{"no scenario", "run", map[string]any{"scenario": "threds: []"}, true, []string{"threds", "allowed"}},
		{"a field that is none", "run", map[string]any{"text": "threads: []"}, true, []string{`arguments: given the key "text"`, "allowed: scenario, seed"}},
		{"nothing", "run", map[string]any{}, true, []string{"given nothing, allowed: one YAML or JSON document"}},
		{"a seed that is none", "run", map[string]any{"scenario": two, "seed": -1}, true, []string{"seed: given number -1, allowed: a whole number from 0 to"}},
		{"a text in place of a list", "lab", map[string]any{"command": "python3"}, true, []string{"command: given string, allowed: a list"}},
		{"every order", "explore", map[string]any{"scenario": two + "\nlock: {protocol: mutex-unsafe, lease: 100ms, watchdog: off}", "delays": 1, "faults": []string{"pause"}}, false, []string{"(mutual-exclusion)", "schedule: ["}},
		{"too many delays", "explore", map[string]any{"scenario": two, "delays": 99}, true, []string{"delays must be 0 to 8"}},
		{"what mends it", "mend", map[string]any{"scenario": two + "\nlock: {protocol: mutex-unsafe, lease: 100ms, watchdog: off}", "delays": 0, "faults": []string{"crash"}}, false, []string{"orders"}},
		{"scripts", "judge_lua", map[string]any{
			"lock": "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0", "unlock": "return redis.call('DEL', KEYS[1])", "args": map[string]any{"lock": []string{"owner", "lease-ms"}},
			"faults": []string{"pause"},
		}, false, []string{"(foreign-release)"}},
		{"no Lua", "judge_lua", map[string]any{"lock": "retrun 1", "unlock": "return 1"}, true, []string{"not Lua"}},
		{"a log", "import_log", map[string]any{"log": read(t, "../../engine/outside/logs/testdata/redislock-0.9.4-lease-over.log")}, false, []string{"after"}},
		{"no log", "import_log", map[string]any{"log": "hello"}, true, []string{"log"}},
		{"a worker", "lab", map[string]any{"command": []string{worker}, "faults": []string{"none"}}, false, []string{"none breaks a rule"}},
		{"no worker", "lab", map[string]any{"command": []string{}}, true, []string{"needs a worker"}},
		{"a worker that ends", "lab", map[string]any{"command": []string{"/bin/true"}}, true, []string{"talks to nobody"}},
		{"which lock, asked", "which_lock", map[string]any{}, false, []string{"harm"}},
		{"an answer that is none", "which_lock", map[string]any{"answers": map[string]string{"harm": "wastes"}}, true, []string{`answers.harm: given "wastes" (did you mean waste?), allowed: waste, compares`}},
		{"a question that is none", "which_lock", map[string]any{"answers": map[string]string{"hram": "waste"}}, true, []string{`answers: given the key "hram"`}},
	} {
		text, failed := asked(t, s, c.tool, c.args)
		for _, want := range c.want {
			if failed != c.failed || !strings.Contains(text, want) {
				t.Errorf("%s: failed %v, want %v and %q:\n%s", c.name, failed, c.failed, want, text)
			}
		}
		if n := strings.Count(text, "\n"); n > longAnswer+20 {
			t.Errorf("%s: %d lines", c.name, n)
		}
	}
}

func TestAnAgentReads(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := agentOf(t, nil)
	for uri, want := range map[string]string{
		"relock://schema/scenario": `"$schema"`, "relock://locks": "fenced", "relock://differences": store.Differences(), "relock://docs/scenarios": "# ",
	} {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if tool.Name == "lab" && !strings.Contains(tool.Description, "STARTS THE COMMAND ON THIS MACHINE") {
			t.Errorf("the lab does not say that it starts a command: %s", tool.Description)
		}
	}
	slices.Sort(names)
	if have := strings.Join(names, " "); have != "explore import_log judge_lua lab mend run which_lock" {
		t.Errorf("tools: %s", have)
	}
}

// A call that takes long says how far it is, and ends when its agent does not want it any more.
func TestAnAgentWaitsAndGivesUp(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	noted := make(chan *mcp.ProgressNotificationParams, 100)
	s := agentOf(t, func(p *mcp.ProgressNotificationParams) {
		noted <- p
		giveUp()
	})
	p := &mcp.CallToolParams{Name: "explore", Arguments: map[string]any{"scenario": read(t, "../../lessons/scenarios/two-locks-ordered.yaml"), "delays": 8, "faults": []string{"all"}, "max_faults": 4}}
	p.SetProgressToken("long")
	began := time.Now()
	_, err := s.CallTool(ctx, p)
	if err == nil || ctx.Err() == nil {
		t.Errorf("it was not given up: %v, after %v", err, time.Since(began))
	}
	if one := <-noted; one.ProgressToken != "long" || !strings.Contains(one.Message, "states") {
		t.Errorf("%+v", one)
	}
	if text, failed := asked(t, s, "which_lock", map[string]any{}); failed {
		t.Errorf("after it: %s", text)
	}
}

func TestLongAnswersAreCut(t *testing.T) {
	long := strings.Repeat("a line\n", 1000) + "the verdict\n"
	if have := brief(long); strings.Count(have, "\n") != longAnswer || !strings.HasSuffix(have, "the verdict\n") || !strings.Contains(have, "lines are left out") {
		t.Errorf("%d lines", strings.Count(have, "\n"))
	}
	if have := brief("short\n"); have != "short\n" {
		t.Errorf("%q", have)
	}
}
