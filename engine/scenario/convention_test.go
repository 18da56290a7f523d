package scenario_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"relock/engine/lock/protocol"
	"relock/engine/scenario"
)

const printedText = `lock:
  protocol: own
  lease: 30s
  args: {lock: [owner, lease-s, 5, "NX"], unlock: []}
  keys: ["{key}", "{key}:count", "channel:{key}"]
  replies: {lock: {entered: nil, refused: pttl}, unlock: {released: 1, entered: 0, refused: OK}}
  release: once
  scripts: {lock: return 1, unlock: return 1}
threads: [{name: A}]
`

func TestAnOwnLockAsItIsPrinted(t *testing.T) {
	sc := parse(t, printedText)
	same(t, sc)
	word := func(w string) protocol.Arg { return protocol.Arg{Word: w} }
	want := protocol.Convention{
		Args: map[string][]protocol.Arg{"lock": {word("owner"), word("lease-s"), {Text: "5"}, {Text: "NX"}}, "unlock": {}},
		Keys: []string{"{key}", "{key}:count", "channel:{key}"},
		Replies: map[string]protocol.Replies{
			"lock":   {"entered": {Kind: protocol.AnswerNil}, "refused": {Kind: protocol.AnswerPTTL}},
			"unlock": {"released": {Kind: protocol.AnswerNumber, Number: 1}, "entered": {Kind: protocol.AnswerNumber}, "refused": {Kind: protocol.AnswerText, Text: "OK"}},
		},
	}
	if !reflect.DeepEqual(sc.Lock.Convention, want) {
		t.Errorf("%+v\nwant %+v", sc.Lock.Convention, want)
	}
	if keys := sc.Lock.Implementation().Keys("K"); !reflect.DeepEqual(keys, []string{"K", "K:count", "channel:K"}) {
		t.Errorf("%q", keys)
	}
	if sc.Lock.Implementation() != parse(t, printedText).Lock.Implementation() {
		t.Error("the same lock is made twice")
	}
	if other := parse(t, strings.Replace(printedText, "lease-s, 5", "lease-s, 6", 1)); other.Lock.Implementation() == sc.Lock.Implementation() {
		t.Error("another lock is the same")
	}
	if other := sc.With("mutex"); !reflect.DeepEqual(other.Lock.Convention, protocol.Convention{}) || other.Lock.ReleaseOnce {
		t.Errorf("%+v", other.Lock)
	} else {
		same(t, other)
	}
	text, err := sc.Compact()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"args":{"lock":["owner","lease-s","5","NX"],"unlock":[]}`, `"keys":["{key}","{key}:count","channel:{key}"]`,
		`"replies":{"lock":{"entered":"nil","refused":"pttl"},"unlock":{"entered":0,"released":1,"refused":"OK"}}`, `"release":"once"`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s\nhas no %s", text, part)
		}
	}
}

// An own lock that says nothing of its arguments is written as ever.
func TestAnOwnLockThatSaysNothingIsWrittenAsEver(t *testing.T) {
	for _, form := range []func(*scenario.Scenario) ([]byte, error){(*scenario.Scenario).Compact, (*scenario.Scenario).MarshalJSON} {
		text, err := form(parse(t, ownText))
		if err != nil {
			t.Fatal(err)
		}
		var written struct{ Lock map[string]json.RawMessage }
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"args", "keys", "replies", "release", "like"} {
			if _, there := written.Lock[key]; there {
				t.Errorf("%s has %s", text, key)
			}
		}
		if _, there := written.Lock["scripts"]; !there {
			t.Errorf("%s has no scripts", text)
		}
	}
}

func TestMistakesOfWhatAnOwnLockSays(t *testing.T) {
	for name, c := range map[string]struct{ says, want string }{
		"an unknown word":        {"args: {lock: [owner, lease-sec]}", `lock.args.lock[1]: given "lease-sec", allowed: owner, level, lease-ms, lease-s, deadline-ms, token, a number, or a text of 1 to 64 characters in quotes`},
		"a truth":                {"args: {lock: [true]}", `given "true"`},
		"nothing":                {"args: {lock: [~]}", "given nothing"},
		"a map":                  {"args: {lock: [{a: b}]}", "given a map"},
		"no list":                {"args: {lock: owner}", "a list of at most 16 arguments"},
		"too many":               {"args: {lock: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}", "given 17 arguments"},
		"an empty text":          {`args: {lock: [""]}`, `given ""`},
		"a call without script":  {"args: {renew: [owner]}", `lock.args: given the key "renew", allowed: lock, unlock`},
		"half a second":          {"args: {lock: [lease-s]}, lease: 1500ms", "given lease-s with a lease of 1.5s, allowed: a lease in whole seconds: EXPIRE takes no other"},
		"another key first":      {`keys: ["{key}:a"]`, `lock.keys[0]: given "{key}:a", allowed: {key} in quotes, or a part of the lock's key from which the scripts make it: the first`},
		"no part of the key":     {`key: invoice:7, keys: ["order"]`, `lock.keys: given "order", allowed: {key} in quotes, or a part of the lock's key`},
		"the key itself":         {`key: invoice:7, keys: ["invoice:7"]`, `lock.keys: given "invoice:7"`},
		"no quotes":              {"keys: [{key}]", "given a map"},
		"a key of nobody's":      {`keys: ["{key}", count]`, `lock.keys[1]: given "count"`},
		"a key twice":            {`keys: ["{key}", "{key}"]`, "each once"},
		"a space":                {`keys: ["{key}", "{key} b"]`, "without spaces"},
		"the owner twice":        {`keys: ["{key}", "{owner}{key}{owner}"]`, "other braces"},
		"a long key":             {`keys: ["{key}", "{key}` + strings.Repeat("a", scenario.MaxKey-4) + `"]`, "text of at most 64 characters"},
		"no keys":                {"keys: []", "given an empty list"},
		"keys beside its own":    {`keys: ["{key}"], like: fenced`, "the scripts of fenced get its keys"},
		"alike":                  {"replies: {lock: {entered: 1, refused: 1}}", "given 1 for refused, and 1 for entered, allowed: replies that can be told apart"},
		"alike, how long":        {"replies: {lock: {entered: 1, refused: pttl}}", "given pttl for refused, and 1 for entered"},
		"alike, texts":           {"replies: {unlock: {released: OK, entered: 'OK'}}", "told apart"},
		"how long of an unlock":  {"replies: {unlock: {refused: pttl}}", `given "pttl", allowed: nil, a whole number, OK, or a text`},
		"how long of an entry":   {"replies: {lock: {entered: pttl}}", `given "pttl"`},
		"a word":                 {"replies: {lock: {entered: yes-it-is}}", `given "yes-it-is", allowed: nil, a whole number, OK, or a text of 1 to 64 characters in quotes`},
		"null":                   {"replies: {lock: {entered: ~}}", "given nothing"},
		"half a number":          {"replies: {lock: {entered: 1.5}}", `given "1.5"`},
		"another outcome":        {"replies: {lock: {released: 1}}", `given the key "released", allowed: entered, refused`},
		"no outcome":             {"replies: {lock: {}}", "at least one of entered, refused"},
		"which of the two":       {"replies: {unlock: {refused: nil}}", "given only refused, allowed: also released or entered: what is not named could be either"},
		"a call without replies": {"replies: {leave: {refused: 1}}", `given the key "leave"`},
	} {
		t.Run(name, func(t *testing.T) {
			lock := "{protocol: own, " + c.says + ", scripts: {lock: return 1, unlock: return 1}}"
			_, err := scenario.Parse([]byte("lock: " + lock + "\nthreads: [{name: A}]"))
			var mistakes scenario.Mistakes
			if !errors.As(err, &mistakes) || len(mistakes) != 1 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	for _, key := range []string{"args: {lock: [owner]}", `keys: ["{key}"]`, "replies: {lock: {entered: 1}}", "release: once"} {
		if _, err := scenario.Parse([]byte("lock: {protocol: mutex, " + key + "}\nthreads: [{name: A}]")); err == nil || !strings.Contains(err.Error(), "only with protocol: own") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// An outcome that is left out means any other reply.
func TestTheReplyThatIsNotNamed(t *testing.T) {
	for call, list := range map[string]map[string]string{
		"lock":   {"entered": "refused", "refused": "entered", "entered refused": ""},
		"unlock": {"released": "refused", "entered": "refused", "released entered": "refused", "released refused": "entered", "entered refused": "released", "released entered refused": "", "refused": "?"},
		"renew":  {"renewed": "refused", "refused": "renewed"},
	} {
		for named, want := range list {
			r := protocol.Replies{}
			for i, one := range strings.Fields(named) {
				r[one] = protocol.Answer{Kind: protocol.AnswerNumber, Number: int64(i)}
			}
			got, clear := r.Rest(call)
			if !clear {
				got = "?"
			}
			if got != want {
				t.Errorf("%s, %s named: %q, want %q", call, named, got, want)
			}
		}
	}
}

func FuzzConvention(f *testing.F) {
	for _, says := range []string{
		"args: {lock: [owner, lease-s]}", `args: {lock: [token, "x", 1, 1.5, -0, 0x10, 1e3, '日'], unlock: []}`, `keys: ["{key}", "{key}:count"]`, "replies: {lock: {entered: nil, refused: pttl}}",
		"replies: {unlock: {released: 1, entered: 0, refused: 'no'}}", "replies: {lock: {entered: -7}}", "args: {lock: &a [owner], unlock: *a}", "keys: [[]]", "replies: {lock: {entered: {}}}", "release: once, like: mutex",
	} {
		f.Add(says)
	}
	f.Fuzz(func(t *testing.T, says string) {
		sc, err := scenario.Parse([]byte("lock: {protocol: own, " + says + ", scripts: {lock: return 1, unlock: return 1}}\nthreads: [{name: A}]"))
		if err != nil {
			return
		}
		same(t, sc)
		if sc.Lock.InSeconds() && sc.Lock.Lease%time.Second != 0 {
			t.Errorf("a lease of %s in seconds", sc.Lock.Lease)
		}
		sc.Lock.Implementation()
	})
}
