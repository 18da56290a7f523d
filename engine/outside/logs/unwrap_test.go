package logs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"relock/engine/outside/logs"
)

// A log is the same log however a collector has packed its lines.
func TestPackedLogs(t *testing.T) {
	lines := []string{
		at(0, one, `"SET" "pay" "v1" "NX" "PX" "300"`), at(350, two, `"SET" "pay" "v2" "NX" "PX" "300"`), at(400, one, `"DEL" "pay"`),
	}
	plain := strings.Join(lines, "")
	const said = "monitor pay 3 value A B mutual-exclusion:AB@%d foreign-release:AB@%d replies names before"
	object := func(fields func(text string, n int) any) string {
		var b strings.Builder
		for n, l := range lines {
			text, err := json.Marshal(fields(l, n))
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(string(text) + "\n")
		}
		return b.String()
	}
	prefixed := func(prefix string) string {
		var b strings.Builder
		for n, l := range lines {
			fmt.Fprintf(&b, prefix, n*3+7)
			b.WriteString(l)
		}
		return b.String()
	}
	type fields map[string]any
	for _, c := range []struct {
		name, text string
		second     int // the line of the second command
		notes      string
	}{
		{"docker's files", object(func(text string, n int) any {
			return fields{"log": text, "stream": "stdout", "time": fmt.Sprintf("2026-11-28T11:40:0%d.25Z", n)}
		}), 2, ""},
		{"a field that nobody has thought of, inside others", object(func(text string, n int) any {
			return fields{"date": n, "body": fields{"line": strings.TrimSpace(text)}, "kubernetes": fields{"labels": []string{"cache"}}}
		}), 2, ""},
		{"an object beside others", `{"level":"info","msg":"ready"}` + "\n" + object(func(text string, _ int) any { return fields{"msg": text} }), 3, " else=1"},
		{"CSV", "@timestamp,@message\n" + strings.NewReplacer(`"`, `""`, "\n", "\"\n", "1700000000.", `2026-11-28 11:40:00,"1700000000.`).Replace(plain), 3, " else=1"},
		{"numbers of cat -n", prefixed("%6d\t"), 2, " prefix=7"},
		{"numbers of grep -n", prefixed("%d:"), 2, " prefixes=3"},
		{"numbers of grep -Hn", prefixed("redis.log:%d:"), 2, " prefixes=13"},
		{"redis-cli, by hand", "$ redis-cli\n127.0.0.1:6379> monitor\nOK\n" + plain + "^C(12.1s)\n", 5, " else=3"},
		{"a question with the log in it", "Why does B get in?\n\n```\n" + plain + "```\nThank you.\n", 5, " else=4"},
	} {
		want := fmt.Sprintf(said, c.second, c.second+1) + c.notes
		if have := brief(t, read(t, c.text), logs.Options{}); have != want {
			t.Errorf("%s:\n have %s\n want %s", c.name, have, want)
		}
		if !logs.Is([]byte(c.text)) {
			t.Errorf("%s: it is taken for no log", c.name)
		}
	}
	nodes := object(func(text string, n int) any {
		return fields{"log": text, "kubernetes": fields{"pod_name": fmt.Sprintf("redis-%d", n)}}
	})
	found, err := read(t, nodes).Trace(t.Context(), logs.Options{})
	if err != nil || fmt.Sprint(found.Header.Log.Servers) != "[{redis-0 0} {redis-1 0} {redis-2 0}]" {
		t.Errorf("three pods are three servers: %v", err)
	}
}

// Redisson's commands go on over several lines, each behind the same prefix; two programs' lines
// are mixed.
func TestRedissonBehindPrefixes(t *testing.T) {
	const script = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 300) then return nil; end; return redis.call('pttl', KEYS[1]);`
	command := func(ms int, channel, owner string) string {
		return fmt.Sprintf("2026-11-28 09:20:00.%03d TRACE 1 --- CommandEncoder : channel: [id: %s, L:/10.8.0.4:40112 - R:redis/10.8.0.2:6379] message: *5\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n1\r\n$3\r\njob\r\n$%d\r\n%s\r\n\n", ms, channel, len(script), script, len(owner), owner)
	}
	a, b := command(100, "0x0a", "u-1:7"), command(450, "0x0b", "u-2:9")
	want := brief(t, read(t, a+b), logs.Options{})
	if !strings.HasPrefix(want, "redisson job 2 value A B ") {
		t.Fatal(want)
	}
	mixed := func(first, second string) string {
		one, two := strings.SplitAfter(strings.TrimSuffix(a, "\n"), "\n"), strings.SplitAfter(strings.TrimSuffix(b, "\n"), "\n")
		var text strings.Builder
		for i := range one {
			text.WriteString(first + one[i] + second + two[i])
		}
		return text.String()
	}
	object := func(text, at string) string {
		_, message, _ := strings.Cut(text, " : ")
		line, err := json.Marshal(map[string]string{"@timestamp": at, "message": message, "logger_name": "CommandEncoder"})
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	for name, text := range map[string]string{
		"kubectl logs --prefix":          mixed("[pod/bill-1/app] ", "[pod/mail-22/app] "),
		"programs in no order":           mixed("[pod/zed-22/app] ", "[pod/abe-1/app] "),
		"the same, with its own instant": mixed("[pod/bill-1/app] 2026-11-28T09:20:00.100000000Z ", "[pod/mail-22/app] 2026-11-28T09:20:00.45Z "),
		"docker compose logs":            mixed("bill-1  | ", "mail-22 | "),
		"objects of JSON":                object(a, "2026-11-28T09:20:00.100Z") + object(b, "2026-11-28T09:20:00.450Z"),
		"CSV":                            "timestamp,message\n1,\"" + strings.ReplaceAll(a, `"`, `""`) + "\"\n2,\"" + strings.ReplaceAll(b, `"`, `""`) + "\"\n",
	} {
		if have := brief(t, read(t, text), logs.Options{}); have != want {
			t.Errorf("%s:\n have %s\n want %s", name, have, want)
		}
	}
}

// What is recognised and cannot be read is named, with how to get a log that can.
func TestNamedAndNotRead(t *testing.T) {
	for text, want := range map[string]string{
		spansOf(object{"startTimeUnixNano": "1", "name": "SET", "attributes": attributes(with{"db.system": "redis", "db.statement": "SET pay v NX PX 300"})}):       "OpenTelemetry's instrumentation",
		spansOf(object{"startTimeUnixNano": "1", "name": "SET", "attributes": attributes(with{"db.system.name": "redis", "db.query.text": "SET pay v NX PX 300"})}): "OpenTelemetry's instrumentation",
		"12:31:07.250 [0 172.17.0.1:5001] \"SET\" \"pay\" \"v\"\n": "the time of day",
	} {
		_, err := logs.Read(t.Context(), strings.NewReader(text))
		var bad *logs.LineError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "redis-cli monitor > monitor.log") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
