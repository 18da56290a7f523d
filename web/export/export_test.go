package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
	"relock/engine/scenario"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/export"
	"relock/web/page"
	"relock/web/words"
)

var update = flag.Bool("update", false, "write the golden files again")

// style stands for a style sheet: the real one is web/static's to test.
const style = ".lanes-file > rect { fill: white }"

const link = "https://example.org/play#v1.z.abc_-~3"

// played runs a bundled scenario.
func played(t *testing.T, name string) export.Run {
	t.Helper()
	return run(t, lessonstest.Scenario(t, name+".yaml"))
}

func run(tb testing.TB, sc *scenario.Scenario) export.Run {
	tb.Helper()
	p := lessonstest.PlayScenario(tb, sc)
	return export.Run{Header: p.Header, Events: p.Events, Scenario: sc, Language: words.English, Link: link, Style: style}
}

func render(t *testing.T, f export.Format, r export.Run) string {
	t.Helper()
	got, err := export.Render(t.Context(), f, r)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestGolden(t *testing.T) {
	r := played(t, "two-threads")
	for _, f := range []export.Format{export.Markdown, export.CSV, export.Mermaid, export.SVG, export.RedisCLI, export.Commands, export.OTel} {
		name := filepath.Join("testdata", f.FileName("two threads")+".golden")
		got := render(t, f, r)
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (go test ./web/export -update writes it again):\n%s", f, diff)
		}
	}
}

func TestTheTraceIsTheTrace(t *testing.T) {
	r := played(t, "lease-expiry")
	header, events, err := trace.Read(t.Context(), strings.NewReader(render(t, export.JSONL, r)))
	if err != nil || len(events) != len(r.Events) || header.Seed != r.Header.Seed {
		t.Errorf("%d events of %d, %v", len(events), len(r.Events), err)
	}
}

func TestFormats(t *testing.T) {
	for _, f := range export.Formats() {
		got, err := export.ParseFormat(string(f))
		if err != nil || got != f || f.MediaType() == "" {
			t.Errorf("%s: %q, %v, media type %q", f, got, err, f.MediaType())
		}
	}
	_, err := export.ParseFormat("word")
	if want := `there is no such format: given "word", allowed: md, csv, mermaid, svg, redis-cli, redis-commands, jsonl, html, otel`; !errors.Is(err, export.ErrFormat) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := export.Render(t.Context(), "word", export.Run{}); !errors.Is(err, export.ErrFormat) {
		t.Errorf("Render: %v", err)
	}
	for title, want := range map[string]string{
		"Two threads, one reentrant lock": "two-threads-one-reentrant-lock.csv", "": "relock.csv", "../..": "relock.csv",
		"两个线程": "两个线程.csv", strings.Repeat("long ", 20): "long-long-long-long-long-long-long-long-long.csv",
	} {
		if got := export.CSV.FileName(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// TestEveryScenario writes every scenario in every format and language, and
// reads it again.
func TestEveryScenario(t *testing.T) {
	names, err := filepath.Glob("../../lessons/scenarios/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no scenarios:", err)
	}
	for n, name := range names {
		r := played(t, strings.TrimSuffix(filepath.Base(name), ".yaml"))
		for i, language := range words.All() {
			if testing.Short() && n%len(words.All()) != i {
				continue
			}
			r.Language = language
			if err := sound(r); err != nil {
				t.Errorf("%s in %s: %v", name, language.Code(), err)
			}
		}
	}
}

// sound tells whether r has, in each form, the structure that it is to have.
func sound(r export.Run) error {
	return errors.Join(soundMarkdown(r), soundCSV(r), soundMermaid(r), soundSVG(r), soundTranscript(r), soundOTel(r))
}

func soundMarkdown(r export.Run) error {
	got, err := export.Render(context.Background(), export.Markdown, r)
	if err != nil {
		return err
	}
	head, table, _ := strings.Cut(string(got), "\n\n| ")
	// The title, what happened where something has, the link, and where it ran.
	if n := len(strings.Split(head, "\n\n")); n < 3 || n > 4 || strings.Count(head, "\n") != 2*(n-1) || !strings.HasPrefix(head, "# ") {
		return fmt.Errorf("markdown: %d paragraphs before the table:\n%s", n, head)
	}
	steps := map[int]bool{}
	for _, e := range r.Events {
		steps[e.Step] = true
	}
	rows := strings.Split(strings.TrimSuffix("| "+table, "\n"), "\n")
	if len(rows) != len(steps)+2 {
		return fmt.Errorf("markdown: %d rows of %d steps", len(rows), len(steps))
	}
	for _, row := range rows {
		if n := len(regexp.MustCompile(`\|`).FindAllString(row, -1)); n != len(r.Scenario.Threads)+4 || !strings.HasPrefix(row, "| ") || !strings.HasSuffix(row, " |") {
			return fmt.Errorf("markdown: a row with %d bars:\n%s", n, row)
		}
		if strings.Count(row, "`")%2 != strings.Count(row, "\\`")%2 {
			return fmt.Errorf("markdown: a code that does not end:\n%s", row)
		}
		if strings.Contains(regexp.MustCompile("<br>|`[^`]*`").ReplaceAllString(row, ""), "<") {
			return fmt.Errorf("markdown: a tag:\n%s", row)
		}
	}
	return nil
}

func soundCSV(r export.Run) error {
	got, err := export.Render(context.Background(), export.CSV, r)
	if err != nil {
		return err
	}
	reader := csv.NewReader(bytes.NewReader(got))
	lines, err := reader.ReadAll()
	if err != nil || len(lines) != len(r.Events)+1 {
		return fmt.Errorf("csv: %d lines for %d events: %w", len(lines), len(r.Events), err)
	}
	for _, line := range lines {
		for i, cell := range line {
			if strings.ContainsAny(strings.TrimLeft(cell, " ")[:min(1, len(strings.TrimLeft(cell, " ")))], "=+-@\t\r\n") {
				if _, err := strconv.ParseFloat(cell, 64); err != nil {
					return fmt.Errorf("csv: column %s has a formula: %q", lines[0][i], cell)
				}
			}
		}
	}
	return nil
}

// What lines of a diagram there are, with texts that mean nothing to Mermaid.
var mermaidLine = func() *regexp.Regexp {
	const text = `(?:[^\x00-\x1f#;<>{}%$"&@\[\]\\:ﬂ°¶ß]|#[0-9]+;|:)+`
	return regexp.MustCompile(`^    (?:title ` + text + `|participant [tr][0-9]+ as ` + text + `|Note over [tr][0-9]+(?:,[tr][0-9]+)?: ` + text +
		`|[tr][0-9]+(?:->>|-->>|--x)[+-]?[tr][0-9]+: ` + text + `)$`)
}()

func soundMermaid(r export.Run) error {
	got, err := export.Render(context.Background(), export.Mermaid, r)
	if err != nil {
		return err
	}
	if len(got) > 50_000 {
		return fmt.Errorf("mermaid: %d bytes, more than it draws", len(got))
	}
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	if lines[0] != "sequenceDiagram" {
		return fmt.Errorf("mermaid: begins with %q", lines[0])
	}
	active := map[string]int{}
	for _, l := range lines[1:] {
		if !mermaidLine.MatchString(l) {
			return fmt.Errorf("mermaid: %q", l)
		}
		if m := regexp.MustCompile(`^    (\w+)->>\+(\w+)`).FindStringSubmatch(l); m != nil {
			active[m[2]]++
		}
		if m := regexp.MustCompile(`^    (\w+)--(?:>>|x)-`).FindStringSubmatch(l); m != nil {
			if active[m[1]]--; active[m[1]] < 0 {
				return fmt.Errorf("mermaid: %s ends what has not begun: %q", m[1], l)
			}
		}
	}
	for id, n := range active {
		if n != 0 {
			return fmt.Errorf("mermaid: %s never ends", id)
		}
	}
	return nil
}

// soundSVG wants a file of XML with a name for each thread, and the title.
func soundSVG(r export.Run) error {
	got, err := export.Render(context.Background(), export.SVG, r)
	if err != nil {
		return err
	}
	d := xml.NewDecoder(bytes.NewReader(got))
	var elements, names, titles int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("svg: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if elements++; start.Name.Space != "http://www.w3.org/2000/svg" || elements == 1 && start.Name.Local != "svg" {
			return fmt.Errorf("svg: an element %v", start.Name)
		}
		for _, a := range start.Attr {
			switch {
			case a.Name.Local == "class" && a.Value == "lane-name":
				names++
			case a.Name.Local == "class" && a.Value == "lane-title":
				titles++
			case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "href":
				return fmt.Errorf("svg: an attribute %v", a)
			}
		}
	}
	if names != len(r.Scenario.Threads) || titles != 1 {
		return fmt.Errorf("svg: %d names of %d threads, %d titles", names, len(r.Scenario.Threads), titles)
	}
	return nil
}

func soundTranscript(r export.Run) error {
	got, err := export.Render(context.Background(), export.RedisCLI, r)
	if err != nil {
		return err
	}
	var typed, commands int
	open := false
	for _, l := range strings.Split(string(got), "\n") {
		switch {
		case strings.HasPrefix(l, "127.0.0.1:"):
			typed++
		case strings.HasPrefix(l, "# [ "):
			if open {
				return errors.New("redis-cli: a script within a script")
			}
			open = true
		case l == "# ]":
			open = false
		}
	}
	for _, e := range r.Events {
		if e.Kind() == trace.KindCommand {
			commands++
		}
	}
	if typed != commands || open {
		return fmt.Errorf("redis-cli: %d commands of %d, script still open: %v", typed, commands, open)
	}
	return nil
}

func FuzzNames(f *testing.F) {
	for _, text := range []string{
		"A", "=1+1", "a|b", "a\nb", "a\r\n| c |", "`x`", "\\", "\\|", "<script>", "end", "wrap: x", "nowrap:", "#59;", "a;b", "%%{init}%%",
		"$$x$$", "ﬂ°°35¶ß", "->>", "t0: x", "\u2028", "@x", "线程", "", " ", "-->>", "\"", "\x00", "&lt;", "＝1", "] (x) [",
	} {
		f.Add(text, "B", "EXAMPLE_LOCK", text)
		f.Add("A", text, text, "Title")
	}
	f.Add("0", "1", "0", "   \t") // blanks, and what a spreadsheet takes off with them
	f.Fuzz(func(t *testing.T, first, second, key, title string) {
		if first == second {
			return
		}
		sc, err := scenario.Parse([]byte(`{"threads": [{"name": "A"}, {"name": "B"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		sc.Title, sc.Lock.Key, sc.Threads[0].Name, sc.Threads[1].Name = title, key, first, second
		hash := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"id1": "1"}, PTTL: 7}
		command := trace.Command{Call: "lock", Attempt: 1, Level: 1, Script: "lock.lua", Args: []string{"HINCRBY", key, "id1", "1"}, Reply: title}
		events := []trace.Event{
			{Seq: 1, Step: 1, Thread: first, Body: command, Key: hash},
			{Seq: 2, Step: 1, Thread: first, Body: trace.Outcome{Call: "lock", Result: trace.Failed, Error: title}, Key: hash},
			{Seq: 3, Step: 2, Thread: second, Body: trace.Command{Call: "lock", Args: []string{"GET", key}, Error: title}, Key: hash},
			{Seq: 4, Step: 3, Body: trace.Violation{Rule: "orphan", Threads: []string{first}, Detail: title + first}, Key: hash},
			{Seq: 5, Step: 4, Thread: second, Body: trace.Fault{Do: title, ForMS: 3}, Key: hash, Belief: map[string]int{first: 1}},
			{Seq: 6, Step: 5, Body: trace.End{Error: title}, Key: trace.Absent()},
		}
		r := export.Run{
			Header: trace.Header{Relock: 1, Scenario: json.RawMessage("{}"), Owners: map[string]string{"id1": first, "id2": second}},
			Events: events, Scenario: sc, Language: words.English, Link: "https://example.org/" + title, Style: style,
		}
		if err := sound(r); err != nil {
			t.Error(err)
		}
	})
}

// TestRedisCLIAgrees pastes the commands of every scenario into a real
// redis-cli: the key is in the end what it was in the run. Of a run without
// anything that no command did, redis-cli shows what the transcript shows.
func TestRedisCLIAgrees(t *testing.T) {
	client := storetest.Redis(t)
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("no redis-cli on this machine")
	}
	_, port, err := net.SplitHostPort(client.Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("../../lessons/scenarios/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no scenarios:", err)
	}
	for n, path := range names {
		if testing.Short() && n%3 != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			r := played(t, name)
			last := len(r.Events)
			for i, e := range r.Events { // up to where there was last a key
				if _, ok := e.Body.(trace.Command); ok && (e.Key.Exists() || slices.ContainsFunc(e.Nodes, trace.KeyState.Exists)) {
					last = i + 1
				}
			}
			for _, n := range []int{last, len(r.Events)} {
				part := r
				part.Events = r.Events[:n]
				if err := client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				// The leases of the run are made long, so that a slow machine pastes in time.
				commands := regexp.MustCompile(`(?m)^(PEXPIRE \S+|SET .* PX) (\d+)$`).ReplaceAllString(render(t, export.Commands, part), "$1 ${2}0000")
				cmd := exec.CommandContext(t.Context(), cli, "--no-raw", "-p", port)
				cmd.Stdin = strings.NewReader(commands)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if strings.Contains(string(out), "unknown command 'DELEX'") { // of Redis 8.4
					continue
				}
				if strings.Contains(string(out), "unknown command") || strings.Contains(string(out), "Invalid argument") {
					t.Errorf("redis-cli does not take it:\n%s", out)
				}
				sameKeys(t, client, part)
				if name == "two-threads" {
					sameReplies(t, render(t, export.RedisCLI, part), string(out))
				}
			}
		})
	}
}

// TestCommandsForWhatNoCommandDid replays what faults did to the key.
func TestCommandsForWhatNoCommandDid(t *testing.T) {
	sc, err := scenario.Parse([]byte(`{"threads": [{"name": "A"}], "lock": {"key": "K"}}`))
	if err != nil {
		t.Fatal(err)
	}
	value := "a b"
	text := trace.KeyState{Type: trace.TypeString, Value: &value, PTTL: 70}
	hash := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"y": "2", "x": "1"}, PTTL: trace.NoExpiry}
	command := func(node int, args ...string) trace.Command { return trace.Command{Args: args, Node: node} }
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"the lease ran out", []trace.Event{
			{Body: command(0, "HSET", "K", "x", "1", "y", "2"), Key: hash},
			{Body: trace.Expired{}, Key: trace.Absent()},
			{Body: trace.End{}, Key: trace.Absent()},
		}, "HSET K x 1 y 2\nDEL K\n"},
		{"a replica has an earlier value", []trace.Event{
			{Body: command(0, "DEL", "K"), Key: trace.Absent()},
			{Body: trace.Fault{Do: fault.FailOver}, Key: text},
		}, "DEL K\nSET K \"a b\"\nPEXPIRE K 70\n"},
		{"and another has a hash", []trace.Event{
			{Body: command(0, "SET", "K", "a b"), Key: text},
			{Body: trace.Fault{Do: fault.FailOver}, Key: hash},
		}, "SET K \"a b\"\nDEL K\nHSET K x 1 y 2\n"},
		{"a restart without data", []trace.Event{
			{Body: command(0, "INCR", "token"), Key: trace.Absent()},
			{Body: command(0, "TIME"), Key: trace.Absent()},
			{Body: command(0, "PUBLISH", "box", "wake"), Key: trace.Absent()},
			{Body: command(0, "SET", "K", "a b"), Key: text},
			{Body: trace.Fault{Do: fault.Restart}, Key: trace.Absent()},
			{Body: trace.Fault{Do: fault.Restart}, Key: trace.Absent()},
		}, "INCR token\nTIME\nPUBLISH box wake\nSET K \"a b\"\nDEL token\nDEL K\n"},
		{"a restart with data", []trace.Event{
			{Body: command(0, "SET", "K", "a b"), Key: text},
			{Body: trace.Fault{Do: fault.Restart, Keep: true}, Key: text},
		}, "SET K \"a b\"\n"},
		{"nodes", []trace.Event{
			{Body: command(1, "SET", "K", "a b"), Nodes: []trace.KeyState{text, trace.Absent()}},
			{Body: command(2, "SET", "K", "a b"), Nodes: []trace.KeyState{text, text}},
			{Body: trace.Fault{Do: fault.Restart, Node: 1}, Nodes: []trace.KeyState{trace.Absent(), text}},
			{Body: command(1, "GET", "K"), Nodes: []trace.KeyState{trace.Absent(), text}},
		}, "SET K \"a b\"\nSELECT 1\nSET K \"a b\"\nSELECT 0\nDEL K\nGET K\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := render(t, export.Commands, export.Run{Events: c.events, Scenario: sc, Language: words.English})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sameKeys compares what is on Redis with a run's end.
func sameKeys(t *testing.T, client *redis.Client, r export.Run) {
	t.Helper()
	end := r.Events[len(r.Events)-1]
	states := end.Nodes
	if len(states) == 0 {
		states = []trace.KeyState{end.Key}
	}
	for i, want := range states {
		c := redis.NewClient(&redis.Options{Addr: client.Options().Addr, DB: i, DisableIdentity: true})
		defer func() { _ = c.Close() }()
		kind, err := c.Type(t.Context(), r.Scenario.Lock.Key).Result()
		if err != nil || kind != want.Type {
			t.Errorf("after event %d, node %d: a %s, want %s (%v)", end.Seq, i+1, kind, want.Type, err)
			continue
		}
		switch want.Type {
		case trace.TypeHash:
			if got := c.HGetAll(t.Context(), r.Scenario.Lock.Key).Val(); !maps.Equal(got, want.Fields) {
				t.Errorf("after event %d, node %d: %v, want %v", end.Seq, i+1, got, want.Fields)
			}
		case trace.TypeString:
			if got := c.Get(t.Context(), r.Scenario.Lock.Key).Val(); got != *want.Value {
				t.Errorf("after event %d, node %d: %q, want %q", end.Seq, i+1, got, *want.Value)
			}
		}
	}
}

// sameReplies compares a transcript's replies with redis-cli's, but for those
// that tell the time.
func sameReplies(t *testing.T, transcript, out string) {
	t.Helper()
	var want []string
	var timed []int
	for _, l := range strings.Split(transcript, "\n") {
		switch {
		case strings.Contains(l, "> PTTL "):
			timed = append(timed, len(want))
		case l == "", strings.HasPrefix(l, "#"), strings.HasPrefix(l, "127.0.0.1:"):
		default:
			want = append(want, l)
		}
	}
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for _, i := range timed {
		if i < len(got) && i < len(want) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("transcript and redis-cli:", diff)
	}
}

// TestRepliesAsRedisCLIShowsThem asks a real one.
func TestRepliesAsRedisCLIShowsThem(t *testing.T) {
	client := storetest.Redis(t)
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("no redis-cli on this machine")
	}
	_, port, _ := net.SplitHostPort(client.Options().Addr)
	long := []string{"RPUSH", "long"}
	var longReply []any
	for i := range 12 {
		long = append(long, strconv.Itoa(i))
		longReply = append(longReply, strconv.Itoa(i))
	}
	commands := []trace.Command{
		{Args: []string{"SET", "k", "v"}, Reply: "OK"},
		{Args: []string{"SET", "k", "w", "NX"}, Reply: nil},
		{Args: []string{"GET", "k"}, Reply: "v"},
		{Args: []string{"SET", "OK", "OK"}, Reply: "OK"},
		{Args: []string{"GET", "OK"}, Reply: "OK"},
		{Args: []string{"HSET", "k", "f", "1"}, Error: "WRONGTYPE Operation against a key holding the wrong kind of value"},
		{Args: []string{"INCRBY", "n", "-3"}, Reply: int64(-3)},
		{Args: []string{"LRANGE", "none", "0", "-1"}, Reply: []any{}},
		{Args: []string{"SET", "a \"key\"\\ \n\x01\u2028é", "线程 \t\"x\"\\"}, Reply: "OK"},
		{Args: []string{"GET", "a \"key\"\\ \n\x01\u2028é"}, Reply: "线程 \t\"x\"\\"},
		{Args: []string{"SET", "", "''"}, Reply: "OK"},
		{Args: []string{"GET", ""}, Reply: "''"},
		{Args: long, Reply: int64(12)},
		{Args: []string{"LRANGE", "long", "0", "-1"}, Reply: longReply},
		{Args: []string{"ZADD", "z", "1", "a", "2", "b"}, Reply: int64(2)},
		{Args: []string{"ZPOPMIN", "z"}, Reply: []any{"a", "1"}},
		{Args: []string{"EVAL", "return {1, {'x', {2, 3}}, {}, 'y'}", "0"}, Reply: []any{int64(1), []any{"x", []any{int64(2), int64(3)}}, []any{}, "y"}},
	}
	sc, err := scenario.Parse([]byte(`{"threads": [{"name": "A"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := export.Run{Scenario: sc, Language: words.English}
	for i, c := range commands {
		r.Events = append(r.Events, trace.Event{Seq: i + 1, Step: 1, Thread: "A", Body: c, Key: trace.Absent()})
	}
	cmd := exec.CommandContext(t.Context(), cli, "--no-raw", "-p", port)
	cmd.Stdin = strings.NewReader(render(t, export.Commands, r))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	// redis-cli ends an error with an empty line where it does not talk to a terminal.
	got := slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool { return l == "" })
	sameReplies(t, render(t, export.RedisCLI, r), strings.Join(got, "\n"))
}

func TestALongRunIsCutInTheDiagram(t *testing.T) {
	r := played(t, "two-threads")
	one := r.Events
	for range 40 {
		r.Events = append(r.Events, one...)
	}
	if err := soundMermaid(r); err != nil {
		t.Error(err)
	}
	if got := render(t, export.Mermaid, r); !strings.Contains(got, "a diagram cannot hold more") {
		t.Errorf("nothing says that it was cut:\n%s", got[len(got)-300:])
	}
}

func TestALongRunIsCutInThePicture(t *testing.T) {
	r := played(t, "two-threads")
	one := r.Events
	for i := range 40 {
		for _, e := range one {
			e.Step += (i + 1) * 100
			r.Events = append(r.Events, e)
		}
	}
	if err := soundSVG(r); err != nil {
		t.Error(err)
	}
	for language, want := range map[words.Language]string{words.English: "the first 240 of 615 steps", words.Match("zh"): "前 240 步，共 615 步"} {
		r.Language = language
		if got := render(t, export.SVG, r); !strings.Contains(got, want) {
			t.Errorf("nothing says that it was cut:\n%.900s", got)
		}
	}
	if got := render(t, export.SVG, played(t, "two-threads")); strings.Contains(got, "the first") {
		t.Errorf("a whole run says that it was cut:\n%.900s", got)
	}
}

func TestAPictureNeedsAStyle(t *testing.T) {
	r := played(t, "two-threads")
	r.Style = ""
	if got, err := export.Render(t.Context(), export.SVG, r); err == nil {
		t.Errorf("%.300s", got)
	}
	if got, err := export.CardPicture(t.Context(), words.English, "a card", page.CardTable{}, ""); err == nil {
		t.Errorf("%.300s", got)
	}
}

// A cell of the table is in the order of the events: the write at the end of
// the work came before the unlock.
func TestACellIsInTheOrderOfTheEvents(t *testing.T) {
	got := render(t, export.Markdown, played(t, "fenced-late-write"))
	const want = "| writes 1 with token 105,000<br>**unlock: released**<br>`HMGET "
	if !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// What arrives late is told from what its thread does, in every format that
// names calls.
func TestALateCopyIsMarked(t *testing.T) {
	r := played(t, "late-unlock")
	for f, want := range map[export.Format][]string{
		export.Markdown: {"**late copy of unlock, level 1**<br>"},
		export.CSV:      {`,unlock,1,1,`, `"{""late"":true}"`},
		export.Mermaid:  {"t0->>+r1: T8 · 85 ms · late copy of unlock, level 1 · unlock.lua", "r1--x-t0: the script has ended\n    t1->>+r1: T9"},
		export.RedisCLI: {"# T8 · 85 ms · A\n# late copy of unlock, level 1\n# [ unlock.lua\n"},
		export.JSONL:    {`"reply":0,"late":true,`},
	} {
		got := render(t, f, r)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s lacks %q", f, w)
			}
		}
		if n := strings.Count(got, "late copy of"); n > 1 {
			t.Errorf("%s names it %d times", f, n)
		}
	}
	// One command that is no script's.
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex-unsafe, lease: 1s, retry: {times: 1, interval: 10ms}}\nthreads: [{name: A, work: 10ms}]\nfaults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, export.Mermaid, run(t, sc))
	if want := "t0->>r1: T5 · 40 ms · late copy of unlock, level 1 · DEL EXAMPLE_LOCK\n    r1--xt0: 0\n"; !strings.Contains(got, want) {
		t.Errorf("the diagram lacks %q:\n%s", want, got)
	}
}

// A handout says why each step came about, and who believed what was not so.
func TestHandoutsKeepReasonsAndBeliefs(t *testing.T) {
	for _, f := range []export.Format{export.Markdown, export.SVG} {
		r := played(t, "lease-expiry")
		whole := render(t, f, r)
		for _, want := range []string{"its lease of 200 ms is over", "A and B are inside at once"} {
			if got := strings.Join(strings.Fields(tags.ReplaceAllString(whole, " ")), " "); !strings.Contains(got, want) {
				t.Errorf("%s does not say %q:\n%s", f, want, got)
			}
		}
		belief := map[export.Format]string{export.Markdown: "believes it holds the lock", export.SVG: "A believes: I hold it, once."}[f]
		if n := strings.Count(whole, belief); n < 3 { // from the expiry to A's unlock
			t.Errorf("%s says %d times %q", f, n, belief)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)
