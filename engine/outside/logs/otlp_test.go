package logs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"relock/engine/lock/telemetry"
	"relock/engine/outside/logs"
	"relock/engine/trace"
)

// with are further attributes of a span: texts and numbers.
type with map[string]any

type object = map[string]any

func attributes(all with) (list []object) {
	for key, v := range all {
		value := object{"stringValue": v}
		if n, ok := v.(int); ok {
			value = object{"intValue": strconv.Itoa(n)}
		}
		list = append(list, object{"key": key, "value": value})
	}
	return list
}

func nano(ms int) string { return fmt.Sprint(1_700_000_000_000_000_000 + int64(ms)*1_000_000) }

// span is an attempt between two instants, in milliseconds.
func span(from, to int, call, result, owner string, more with) object {
	all := with{telemetry.Call: call, telemetry.Attempt: 1, telemetry.Level: 1, telemetry.Key: "lock", telemetry.Owner: owner}
	if result != "" {
		all[telemetry.Result] = result
	}
	for key, v := range more {
		if all[key] = v; v == nil {
			delete(all, key)
		}
	}
	return object{"startTimeUnixNano": nano(from), "endTimeUnixNano": nano(to), "name": call, "attributes": attributes(all)}
}

// ran adds commands and what was answered to a span, at its beginning.
func ran(s object, commands ...string) object {
	var events []object
	for i := 0; i < len(commands); i += 2 {
		events = append(events, object{"timeUnixNano": s["startTimeUnixNano"], "name": "command", "attributes": attributes(with{telemetry.Query: commands[i], telemetry.Reply: commands[i+1]})})
	}
	s["events"] = events
	return s
}

// late is a span of no attempt: commands of it came when nobody waited for them any more.
func late(at int, owner string) object {
	return object{"startTimeUnixNano": nano(at), "endTimeUnixNano": nano(at + 100), "name": "thread", "attributes": attributes(with{telemetry.Owner: owner})}
}

// on says that another node ran a span's commands.
func on(node int, s object) object {
	for _, e := range s["events"].([]object) {
		e["attributes"] = append(e["attributes"].([]object), attributes(with{telemetry.Node: node})...)
	}
	return s
}

// spansOf is a line of OTLP/JSON.
func spansOf(list ...object) string {
	text, err := json.Marshal(object{"resourceSpans": []object{{
		"resource":   object{"attributes": attributes(with{"service.name": "invoices", "api.token": "s3cret"})},
		"scopeSpans": []object{{"scope": object{"name": "x"}, "spans": list}},
	}}})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func TestWhatSpansShow(t *testing.T) {
	lease := with{telemetry.Lease: 50}
	for _, c := range []struct {
		name, text, want string
	}{
		{
			"a lease that is over", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(60, 61, "lock", "acquired", "b", lease), span(70, 71, "unlock", "lost", "a", nil), span(80, 81, "unlock", "released", "b", nil)),
			"otlp lock 4 owner A B mutual-exclusion:AB@1 within before commands=4",
		},
		{
			"nothing says how long the lease is", spansOf(span(0, 1, "lock", "acquired", "a", nil), span(60, 61, "lock", "acquired", "b", nil), span(70, 71, "unlock", "lost", "a", nil), span(80, 81, "unlock", "released", "b", nil)),
			"otlp lock 4 owner A B mutual-exclusion:AB@1 within before commands=4 lease=2 other=1",
		},
		{
			"who releases is slow to hear of it: the next is not inside with it", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(10, 30, "unlock", "released", "a", nil), span(12, 14, "lock", "acquired", "b", lease), span(40, 41, "unlock", "released", "b", nil)),
			"otlp lock 4 owner A B within before commands=4",
		},
		{
			"at the same instant, on a virtual clock", spansOf(span(0, 0, "lock", "acquired", "a", lease), span(8, 8, "lock", "acquired", "b", lease), span(8, 8, "unlock", "released", "a", nil), span(40, 41, "unlock", "released", "b", nil)),
			"otlp lock 4 owner A B within before commands=4",
		},
		{
			"two levels at that instant", spansOf(span(0, 0, "lock", "acquired", "a", lease), span(1, 1, "lock", "reentered", "a", with{telemetry.Level: 2, telemetry.Lease: 50}), span(8, 8, "lock", "acquired", "b", lease), span(8, 8, "unlock", "decremented", "a", with{telemetry.Level: 2}), span(8, 8, "unlock", "released", "a", nil), span(40, 41, "unlock", "released", "b", nil)),
			"otlp lock 6 owner A B within before commands=6",
		},
		{
			"who is granted is slow to hear of it: the other is refused by it", spansOf(span(0, 30, "lock", "acquired", "a", lease), span(2, 3, "lock", "refused", "b", lease), span(40, 41, "unlock", "released", "a", nil)),
			"otlp lock 3 owner A B within before commands=3",
		},
		{
			"who is refused is slow to hear of it: it was by the holder", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(5, 30, "lock", "refused", "b", lease), span(8, 9, "unlock", "released", "a", nil)),
			"otlp lock 3 owner A B within before commands=3",
		},
		{
			"levels, and a renewal", spansOf(span(0, 0, "lock", "acquired", "a", lease), span(1, 1, "lock", "reentered", "a", with{telemetry.Level: 2, telemetry.Lease: 50}), span(40, 40, "renew", "renewed", "a", lease), span(60, 60, "unlock", "decremented", "a", with{telemetry.Level: 2}), span(61, 61, "unlock", "released", "a", nil)),
			"otlp lock 5 owner A within before commands=5",
		},
		{
			"what nobody knows", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(2, 3, "lock", "error", "b", lease), span(3, 4, "lock", "", "b", lease), span(4, 4, "lock", "exhausted", "b", nil), span(5, 6, "unlock", "released", "a", nil)),
			"otlp lock 2 owner A within before commands=2 unanswered=2",
		},
		{
			"whose it is nobody says", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(2, 3, "lock", "refused", "b", with{telemetry.Owner: nil}), span(5, 6, "unlock", "released", "a", nil)),
			"otlp lock 2 owner A within before commands=2 nobody=1",
		},
		{
			"commands, of another lock", spansOf(ran(span(0, 0, "lock", "acquired", "v1", nil), "SET lock v1 NX PX 50", "OK"), ran(span(60, 60, "lock", "acquired", "v2", nil), "SET lock v2 NX PX 50", "OK"), ran(span(70, 70, "unlock", "released", "v1", nil), "DEL lock", "(integer) 1")),
			"otlp lock 3 value A B mutual-exclusion:AB@1 foreign-release:AB@1 within before",
		},
		{
			"a late copy, for which nobody waits", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(2, 3, "unlock", "released", "a", nil), ran(late(20, "a"), "HINCRBY lock a 1", "(integer) 1", "PEXPIRE lock 50", "(integer) 1"), span(30, 31, "lock", "refused", "b", lease), span(90, 91, "lock", "acquired", "b", lease), span(95, 96, "unlock", "released", "b", nil)),
			"otlp lock 6 owner A B within before commands=5 silent=1",
		},
		{
			"another node's commands", spansOf(on(2, ran(span(0, 1, "lock", "acquired", "a", lease), "SET lock a NX PX 50", "OK")), ran(span(0, 1, "lock", "acquired", "a", lease), "SET lock a NX PX 50", "OK")),
			"otlp lock 1 value A within before nodes=1",
		},
		{
			"lines of several files, and metrics between", spansOf(span(60, 61, "unlock", "lost", "a", nil)) + `{"resourceMetrics":[]}` + "\n\n" + spansOf(span(0, 1, "lock", "acquired", "a", lease)),
			"otlp lock 2 owner A within before commands=2",
		},
		{
			"cut at its end", spansOf(span(0, 1, "lock", "acquired", "a", lease), span(5, 6, "unlock", "released", "a", nil)) + `{"resourceSpans":[{"resou`,
			"otlp lock 2 owner A within before commands=2 cut",
		},
	} {
		if have := brief(t, read(t, c.text), logs.Options{}); have != c.want {
			t.Errorf("%s:\n have %s\n want %s", c.name, have, c.want)
		}
		if have := brief(t, read(t, c.text), logs.Options{NoScripts: true}); have != c.want {
			t.Errorf("%s, where no script of others runs:\n have %s\n want %s", c.name, have, c.want)
		}
	}
}

func TestWhatIsNoSpanOfALock(t *testing.T) {
	for text, want := range map[string]string{
		`{"resourceMetrics":[]}` + "\n": "it has no span of a lock attempt",
		spansOf(object{"startTimeUnixNano": "1", "name": "GET /", "attributes": attributes(with{"url.query": "s3cret"})}): "it has no span of a lock attempt",
		spansOf() + "hello\n":                         "line 2: it is not a line of OTLP/JSON",
		`{"resourceSpans":` + "\n":                    "line 1: it is not a line of OTLP/JSON",
		`{"resourceSpans":"s3cret"}` + "\n":           "line 1: it is not a line of OTLP/JSON",
		spansOf() + strings.Repeat("x", 2<<20) + "\n": "line 2: it has more than",
	} {
		_, err := logs.Read(t.Context(), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// Of what a span has, only the attributes of a lock's attempt go further, and no password in its
// commands.
func TestSecretsOfSpans(t *testing.T) {
	first := ran(span(0, 0, "lock", "acquired", "a", with{telemetry.Lease: 50, "http.request.header.authorization": "s3cret"}),
		"AUTH s3cret", "OK", "HELLO 3 AUTH user s3cret", "OK", "HINCRBY lock a 1", "(integer) 1", "MIGRATE h 1 lock 0 9 AUTH s3cret", "OK")
	first["status"] = object{"code": 2, "message": "s3cret"}
	l := read(t, spansOf(first, ran(span(1, 1, "lock", "error", "a", nil), "AUTH s3cret", "OK")))
	found, err := l.Trace(t.Context(), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := trace.Write(&b, found.Header, found.Events); err != nil || strings.Contains(b.String(), "s3cret") || !strings.Contains(b.String(), "HINCRBY") {
		t.Error(b.String(), err)
	}
	if all := fmt.Sprintf("%+v", l.Entries); strings.Contains(all, "s3cret") || strings.Count(all, logs.Redacted) < 4 {
		t.Error(all)
	}
}

// tenThousandSpans are of twenty owners in turn, a line for each hundred.
func tenThousandSpans() string {
	var b strings.Builder
	var list []object
	lease := with{telemetry.Lease: 30_000}
	for i := 0; i < 10_000; i += 4 {
		me, other := fmt.Sprint("p:", i/4%20), fmt.Sprint("p:", (i/4+1)%20)
		at := 10 * i
		list = append(list, span(at, at+2, "lock", "acquired", me, lease), span(at+3, at+4, "lock", "refused", other, lease), span(at+10, at+11, "renew", "renewed", me, lease), span(at+20, at+21, "unlock", "released", me, nil))
		if len(list) == 100 {
			b.WriteString(spansOf(list...))
			list = nil
		}
	}
	return b.String()
}

func TestTenThousandSpans(t *testing.T) {
	have := brief(t, read(t, tenThousandSpans()), logs.Options{})
	if want := "otlp lock 10000 owner A B C"; !strings.HasPrefix(have, want) || strings.Contains(have, ":A") || strings.Contains(have, "other=") {
		t.Error(have)
	}
}

func BenchmarkTenThousandSpans(b *testing.B) {
	text := tenThousandSpans()
	for b.Loop() {
		l := read(b, text)
		if _, err := l.Trace(b.Context(), logs.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Once a script has run in a situation, Lua does not run it there again: the commands are
// the same, whatever the owner's name.
func TestTheSameSituationIsTheSame(t *testing.T) {
	round := func(at int, owner, other string) []object {
		lease, two := with{telemetry.Lease: 50}, with{telemetry.Lease: 50, telemetry.Level: 2}
		return []object{
			span(at, at, "lock", "acquired", owner, lease), span(at+1, at+1, "lock", "refused", other, lease), span(at+10, at+10, "renew", "renewed", owner, lease), span(at+11, at+11, "lock", "reentered", owner, two),
			span(at+12, at+12, "unlock", "decremented", owner, two), span(at+13, at+13, "unlock", "lost", other, nil), span(at+14, at+14, "unlock", "released", owner, nil), span(at+15, at+15, "renew", "lost", owner, lease),
		}
	}
	commands := func(text string) (list []string) {
		found, err := read(t, text).Trace(t.Context(), logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Events {
			if c, ok := e.Body.(trace.Command); ok {
				list = append(list, fmt.Sprintf("%q → %v, line %d of %s: %v %d", c.Args, c.Reply, c.Line, c.Script, e.Key.Fields, e.Key.PTTL))
			}
		}
		return list
	}
	for _, owner := range []string{"lock", "1", "50"} { // as the key, a level, a lease
		want := commands(spansOf(round(100, owner, "q")...))
		have := commands(spansOf(append(round(0, "p", "r"), round(100, owner, "q")...)...))
		if len(have) != 2*len(want) || !slices.Equal(have[len(want):], want) {
			t.Errorf("%s:\n have %s\n want %s", owner, strings.Join(have[len(have)/2:], "\n      "), strings.Join(want, "\n      "))
		}
	}
}
