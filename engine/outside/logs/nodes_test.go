package logs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/outside/logs"
	"relock/engine/trace"
)

// readFiles reads several logs as one.
func readFiles(t testing.TB, texts ...string) *logs.Log {
	t.Helper()
	l, err := logs.ReadFiles(t.Context(), filesOf(texts...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func filesOf(texts ...string) []logs.File {
	var files []logs.File
	for i, text := range texts {
		files = append(files, logs.File{Name: fmt.Sprintf("%c.log", 'a'+i), Reader: strings.NewReader(text)})
	}
	return files
}

// recorded returns what MONITOR told on each of three servers.
func recorded(t testing.TB, name string) []string {
	t.Helper()
	var texts []string
	for n := 1; n <= 3; n++ {
		data, err := os.ReadFile(filepath.Join("testdata", "servers", fmt.Sprintf("%s-%d.log", name, n)))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	return texts
}

// Programs that collect the output of containers write a prefix on each line: it is dropped, and
// the log says the same.
func TestAPrefixIsDropped(t *testing.T) {
	lines := strings.SplitAfter(at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`)+at(100, two, `"SET" "lock" "v2" "NX" "PX" "300"`)+
		at(200, one, `"EVAL" "x" "1" "lock" "v1"`)+at(200, "lua", `"get" "lock"`)+at(200, "lua", `"del" "lock"`)+at(350, two, `"SET" "lock" "v2" "NX" "PX" "300"`), "\n")
	lines = lines[:len(lines)-1]
	const said = "monitor lock 4 value A B replies names before"
	for name, c := range map[string]struct {
		prefix func(n int) string
		want   string
	}{
		"none":                  {func(int) string { return "" }, ""},
		"docker compose logs":   {func(int) string { return "redis-1  | " }, " prefix=11"},
		"the same, in colour":   {func(int) string { return "\x1b[36mredis-1  | \x1b[0m" }, " prefix=20"},
		"kubectl logs --prefix": {func(int) string { return "[pod/redis-0/redis] " }, " prefix=20"},
		"docker logs -t":        {func(n int) string { return fmt.Sprintf("2026-11-26T07:25:34.12345678%dZ ", n) }, " prefix=31"},
		"compose, and -t":       {func(n int) string { return fmt.Sprintf("redis-1  | 2026-11-26T07:25:34.1%dZ ", n) }, " prefix=35"},
		"a time of another width": {func(n int) string {
			return "2026-11-26T07:25:34" + strings.Repeat("0", n)[:0] + "." + strings.Repeat("1", n+1) + "Z "
		}, " prefixes=28"},
		"journald": {func(n int) string { return fmt.Sprintf("Nov 2%d 07:25:34 host redis-cli[12]: ", n) }, " prefix=36"},
	} {
		var text strings.Builder
		for n, l := range lines {
			text.WriteString(c.prefix(n) + l)
		}
		want := said + c.want + " inside=1"
		if have := brief(t, read(t, text.String()), logs.Options{}); have != want {
			t.Errorf("%s:\n have %s\n want %s", name, have, want)
		}
		if !logs.Is([]byte(text.String())) {
			t.Errorf("%s: it is taken for no log", name)
		}
	}
}

// Comments and the lines of other programs are left out, and counted.
func TestOtherLinesAreLeftOut(t *testing.T) {
	take, drop := at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`), at(5, one, `"DEL" "lock"`)
	const fine = "monitor lock 2 value A replies names before"
	for name, c := range map[string]struct{ text, want string }{
		"comments":                           {"# recorded on Monday\n\n" + take + "  # here it hangs\n" + drop, fine + " comments=3"},
		"blank lines alone say nothing":      {"\n" + take + "\n" + drop, fine},
		"a comment, then a line that is cut": {"# recorded\n0.1 [0 x] \"GET\"\n" + take + drop, fine + " comments=1 begun"},
		"other containers":                   {"app-1  | ready\nr-1    | OK\nr-1    | " + take + "app-1  | 1700000000 [x] done\nr-1    | " + drop, fine + " prefix=9 else=2"},
		"the end is cut, behind a prefix":    {"r-1 | " + take + "r-1 | " + drop + "r-1 | 17000", fine + " prefix=6 cut"},
		"a damaged line behind a prefix":     {"r-1 | " + take + "r-1 | 1700000000.1 [0 x] \"DEL\" \"lock\"\n", "! line 2: it is not a line of MONITOR; allowed: 1700000000.123456 [0 127.0.0.1:6379] \"SET\" \"k\" \"v\""},
		"a person's words":                   {take + "Why is it still there?\n", "monitor lock 1 value A replies names before else=1"},
		"a line of MONITOR within a command": {take + at(1, one, `"SET" "x" "r-1 | 1700000000.000001 [0 1.2.3.4:5] \"DEL\" \"lock\""`) + drop, fine},
	} {
		l, err := logs.Read(t.Context(), strings.NewReader(c.text))
		have := ""
		if err != nil {
			have = "! " + err.Error()
		} else {
			have = brief(t, l, logs.Options{})
		}
		if have != c.want {
			t.Errorf("%s:\n have %s\n want %s", name, have, c.want)
		}
	}
}

// judged is what the logs of several servers came to: the verdict, its reasons, and where a rule is first broken.
func judged(t *testing.T, l *logs.Log, o logs.Options) string {
	t.Helper()
	found, err := l.Trace(t.Context(), o)
	if err != nil {
		return "! " + err.Error()
	}
	names := make([]string, len(found.Scenario.Threads))
	for i, one := range found.Scenario.Threads {
		names[i] = one.Name
	}
	if err := trace.Check(found.Header, found.Events, names); err != nil {
		t.Errorf("its trace is refused: %v", err)
	}
	words := []string{string(found.Judgement.Verdict), strings.Join(names, "")}
	for _, lack := range found.Judgement.Unjudged {
		words = append(words, string(lack.Reason))
	}
	for _, e := range found.Events {
		if v, is := e.Body.(trace.Violation); is {
			file, line := found.Where(e.Step)
			words = append(words, fmt.Sprintf("%s:%s@%s:%d", v.Rule, strings.Join(v.Threads, ""), file, line))
		}
	}
	return strings.Join(words, " ")
}

// The logs of several servers are read as nodes: who holds is whose value stands on a majority.
func TestSeveralServersAreNodes(t *testing.T) {
	fine, over := recorded(t, "fine"), recorded(t, "over")
	const three = "127.0.0.1:5003"
	take := func(ms int, client, value string, px int) string {
		return at(ms, client, fmt.Sprintf(`"SET" "lock" "%s" "NX" "PX" "%d"`, value, px))
	}
	free := func(ms int, client, value string) string {
		return at(ms, client, `"EVAL" "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0" "1" "lock" "`+value+`"`) +
			at(ms, "lua", `"get" "lock"`)
	}
	freed := func(ms int, client, value string) string {
		return free(ms, client, value) + at(ms, "lua", `"del" "lock"`)
	}
	for name, c := range map[string]struct {
		texts []string
		o     logs.Options
		want  string
	}{
		"redlock on three":               {fine, logs.Options{}, "unbroken AB"},
		"redlock, and a lease is over":   {over, logs.Options{}, "broken AB mutual-exclusion:AB@b.log:25"},
		"two servers may not be all":     {fine[:2], logs.Options{}, "unjudged AB kind-unknown"},
		"two servers that are all":       {fine[:2], logs.Options{Nodes: 2}, "unbroken AB"},
		"two of three":                   {fine[:2], logs.Options{Nodes: 3}, "unjudged AB kind-unknown"},
		"one of three":                   {fine[:1], logs.Options{Nodes: 3}, "unjudged AB kind-unknown"},
		"two inside, without marks":      {fine, logs.Options{Kind: check.Kind{Permits: 2}}, "unjudged AB kind-unknown"},
		"more logs than servers":         {fine, logs.Options{Nodes: 2}, "! -nodes 2: allowed: 3, as many as there are logs, to 9"},
		"two of three, and a lease over": {over[:2], logs.Options{Nodes: 3}, "broken AB kind-unknown mutual-exclusion:AB@a.log:25"},
		"a minority is nobody's":         {[]string{take(0, one, "a", 300), take(5, two, "b", 300), take(9, three, "c", 300)}, logs.Options{}, "unjudged ABC nobody-inside"},
		"the loser gives back in time":   {[]string{take(0, one, "a", 300) + take(2, two, "b", 300) + freed(20, one, "a"), take(1, one, "a", 300) + take(3, two, "b", 300) + freed(21, one, "a"), take(2, two, "b", 300) + take(4, one, "a", 300) + freed(6, two, "b")}, logs.Options{}, "unjudged AB one-inside"},
		"another's key deleted on one":   {[]string{take(0, one, "a", 300) + at(9, two, `"SET" "lock" "b" "NX" "PX" "300"`) + at(10, two, `"DEL" "lock"`), take(1, one, "a", 300), take(2, one, "a", 300)}, logs.Options{}, "broken AB one-inside foreign-release:BA@a.log:3"},
		"left behind on a majority":      {[]string{take(0, one, "a", 9000) + freed(20, one, "a"), take(1, one, "a", 9000), take(2, one, "a", 9000)}, logs.Options{}, "broken A one-inside shut-out:A@a.log:2"},
		"over before the last log ends":  {[]string{take(0, one, "a", 300) + at(1000, two, `"GET" "lock"`), take(1, one, "a", 300), take(2, one, "a", 300)}, logs.Options{}, "unjudged AB one-inside"},
		"too late by the client's clock": {[]string{take(0, one, "a", 300) + free(310, one, "a"), take(298, one, "a", 300) + freed(310, one, "a"), at(0, three, `"PING"`)}, logs.Options{}, "unjudged A nobody-inside"},
		"everybody writes the same":      {[]string{take(0, one, "x", 300) + take(5, two, "x", 300), take(1, one, "x", 300), take(2, one, "x", 300)}, logs.Options{}, "unjudged A kind-unknown"},
		"a hash":                         {[]string{at(0, one, `"HINCRBY" "lock" "p:1" "1"`), at(1, one, `"HINCRBY" "lock" "p:1" "1"`), at(2, one, `"HINCRBY" "lock" "p:1" "1"`)}, logs.Options{}, "unjudged A kind-unknown"},
		"a server that nobody has asked": {append(slices.Clone(fine[:2]), at(0, one, `"PING"`)), logs.Options{}, "unbroken AB"},
		"a connection is of one server":  {fine, logs.Options{Threads: logs.ByConnection}, "unbroken AB"},
		"marks say who is inside":        {[]string{take(0, one, "a", 300) + at(3, one, `"ECHO" "relock:enter"`) + take(400, two, "b", 300), take(1, one, "a", 300) + take(401, two, "b", 300) + at(403, two, `"ECHO" "relock:enter"`), take(2, one, "a", 300) + take(402, two, "b", 300)}, logs.Options{}, "broken AB one-inside mutual-exclusion:AB@b.log:3"},
	} {
		if have := judged(t, readFiles(t, c.texts...), c.o); have != c.want {
			t.Errorf("%s:\n have %s\n want %s", name, have, c.want)
		}
	}
}

// Several containers in one file are several servers, told apart by their prefixes.
func TestContainersAreNodes(t *testing.T) {
	data, err := os.ReadFile("testdata/redlock-4.2.0-lease-over.compose.log")
	if err != nil {
		t.Fatal(err)
	}
	l := read(t, string(data))
	if have, want := judged(t, l, logs.Options{}), "broken AB mutual-exclusion:AB@:77"; have != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
	found, err := l.Trace(t.Context(), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if have, want := fmt.Sprint(found.Header.Log.Servers), "[{redis-1 0} {redis-2 0} {redis-3 0}]"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
	var many strings.Builder
	for n := range 10 {
		many.WriteString(fmt.Sprintf("redis-%d | ", n) + at(n, one, `"SET" "lock" "v" "NX" "PX" "300"`))
	}
	if _, err := logs.Read(t.Context(), strings.NewReader(many.String())); err == nil || !strings.HasPrefix(err.Error(), "line 10: its prefix is yet another") {
		t.Error(err)
	}
}

// Files that cannot be read together are refused with one sentence that names the file.
func TestFilesThatCannotBeReadTogether(t *testing.T) {
	take := at(0, one, `"SET" "lock" "v" "NX" "PX" "300"`)
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"Redisson's TRACE":   {[]string{take, "2026-11-22 10:00:00.001 TRACE : channel: [id: 0x01, L:/1 - R:r/2:6379] message: *1\r\n$4\r\nPING\r\n\n"}, "b.log: it is not a log of redis-cli monitor; allowed: several files only if each is the log of redis-cli monitor on one of a lock's servers"},
		"a line of the last": {[]string{take + take, take + "1700000000.1 [0 x] \"DEL\"\n" + take}, `b.log: line 2: it is not a line of MONITOR; allowed: 1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "v"`},
		"an empty one":       {[]string{take, ""}, "b.log: the log is empty"},
		"several containers": {[]string{take, "r-1 | " + take + "r-2 | " + take}, "b.log: it has the lines of 2 servers already, by their prefixes; allowed: this file alone"},
		"ten":                {slices.Repeat([]string{take}, 10), "the logs are of 10 servers; allowed: at most 9"},
	} {
		if _, err := logs.ReadFiles(t.Context(), filesOf(c.texts...)); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n have %v\n want %s", name, err, c.want)
		}
	}
}

// A client's own log that tells too little is refused with how to get one that can be read.
func TestClientsLogsThatCannotBeRead(t *testing.T) {
	files, err := filepath.Glob("testdata/unread/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		library, _, _ := strings.Cut(filepath.Base(name), "-4")
		_, err = logs.Read(t.Context(), strings.NewReader(string(data)))
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), library) || !strings.HasSuffix(err.Error(), "redis-cli monitor > monitor.log") {
			t.Errorf("%s: %v", name, err)
		}
		if !logs.Is(data) {
			t.Errorf("%s: it is taken for no log", name)
		}
	}
	_, err = logs.Read(t.Context(), strings.NewReader("2026-01-01 DEBUG o.r.command.RedisExecutor - acquired connection for command (EVAL) and params [x]\n"))
	if err == nil || !strings.Contains(err.Error(), "TRACE for org.redisson.client.handler") {
		t.Error(err)
	}
}

// A log from which somebody has taken the scripts' own lines does not say who ran their
// commands: nobody is accused of an unlock, and nobody is found innocent.
func TestCommandsOfScriptsWithoutTheirLineAreNobodys(t *testing.T) {
	const (
		script  = `1700000000.300000 [0 127.0.0.1:2] "EVALSHA" "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4" "1" "k" "B"` + "\n"
		release = `1700000000.000000 [0 127.0.0.1:1] "SET" "k" "A" "NX" "PX" "100"` + "\n" +
			`1700000000.200000 [0 127.0.0.1:2] "SET" "k" "B" "NX" "PX" "200"` + "\n" +
			script +
			`1700000000.300010 [0 lua] "GET" "k"` + "\n" +
			`1700000000.300020 [0 lua] "DEL" "k"` + "\n"
	)
	for text, want := range map[string]string{
		release:                                 "unbroken AB",
		strings.Replace(release, script, "", 1): "unjudged ABC commands-failed",
	} {
		l := read(t, text)
		if came := judged(t, l, logs.Options{Key: "k"}); came != want {
			t.Errorf("%s\ncame to %s, not %s", text, came, want)
		}
	}
}
