package course_test

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"relock/engine/course"
	"relock/engine/outside/logs"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web/words"
)

// diagnosed holds an incident to its runs: one cause writes its logs, and each other one
// other lines; one command tells that cause from the likeliest other one.
func diagnosed(t *testing.T, i *course.Item, made *course.Made) {
	t.Helper()
	d := task[*course.Diagnosis](t, i)
	for n, g := range d.Logs {
		if len(g.Lines) < 2 || len(g.Lines) > 16 {
			t.Errorf("log %d has %d lines", n+1, len(g.Lines))
		}
	}
	for _, a := range made.Answers {
		switch {
		case a.Right != (a.Parts == nil):
			t.Errorf("%s is right: %v, and parts %+v", a.Option.ID, a.Right, a.Parts)
		case a.Right:
		case a.Parts.Here == a.Parts.There || a.Parts.At > made.Run.Events[len(made.Run.Events)-1].At:
			t.Errorf("%s parts at %v: %q, %q", a.Option.ID, a.Parts.At, a.Parts.Here, a.Parts.There)
		case d.Rival == nil || a.Parts.At > d.Rival.Parts.At:
			t.Errorf("%s is likelier than %s", a.Option.ID, d.Rival.Option.ID)
		}
	}
	right := 0
	for _, q := range d.Queries {
		if q.Right != (fmt.Sprint(q.Here.Reply, q.Here.Error) != fmt.Sprint(q.There.Reply, q.There.Error)) {
			t.Errorf("%v: %v, and %v", q.Here.Args, q.Here.Reply, q.There.Reply)
		}
		if q.Right {
			right++
		}
	}
	if asks := i.When() == ""; asks && (right != 1 || len(d.Queries) < 4) || !asks && len(d.Queries) > 0 { // the check asks for the cause alone
		t.Errorf("%d of %d commands are right", right, len(d.Queries))
	}
}

// diagnose is an incident: A stands still for longer than its lease.
const diagnose = `kind: diagnose
    run:
      lock: {protocol: mutex, key: report, lease: 3s, watchdog: 1s, retry: {times: 9, interval: 1s}}
      threads: [{name: A, work: 6s}, {name: B, start: 500ms, work: 2s}]
      faults: [{thread: A, at: renew, do: pause, for: 4s}]
    log: [clients]
    until: A ended
    at: B works
    next: [GET, CLIENT LIST]
    options:
      - {id: paused}
      - {id: died, change: {faults: [{thread: A, at: renew, do: crash}]}}
      - {id: unwatched, change: {lock: {watchdog: "off"}, faults: null}}
`

// ofIncident reads a course of one incident.
func ofIncident(item string) (*course.Item, error) {
	prose := "# One\n## It {#it}\nIt.\n### goal\nWhat?\n### nudge\nThink.\n### after\nSo.\n"
	for _, m := range idOfOption.FindAllStringSubmatch(item, -1) {
		prose += "### " + m[1] + "\nThat.\n\nSo.\n"
	}
	return onlyItem(item, prose)
}

// onlyItem reads a course of one item, and proves it.
func onlyItem(item, prose string) (*course.Item, error) {
	got, err := course.ReadCourse(words.All()[:1], fstest.MapFS{
		"0-one/chapter.yaml": {Data: []byte("id: one\nminutes: 1\nitems:\n  - id: it\n    " + item)},
		"0-one/en.md":        {Data: []byte(prose)},
	}, lessons.Scenarios())
	if err == nil {
		err = got.Prove()
	}
	if err != nil {
		return nil, err
	}
	i, _ := got.Item("one/it")
	return i, nil
}

// An incident is held to its runs.
func TestAnIncidentIsHeldToItsRuns(t *testing.T) {
	t.Parallel()
	const one = "      - {id: paused}\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"as it is", one, one, ""},
		{"two causes write it", one, one + "      - {id: same, change: {title: The same}}\n", "exactly one cause is to write these logs; these do: "},
		{"none does", one, "      - {id: paused, change: {threads: [{name: B, work: 1s}]}}\n", "exactly one cause is to write these logs; these do: "},
		{"two are as likely", "{id: unwatched, change: {lock: {watchdog: \"off\"}, faults: null}}", "{id: gone, change: {faults: [{thread: A, at: renew, do: crash}]}}", "part from the item's at the same instant: "},
		{"no command tells", "[GET, CLIENT LIST]", "[GET, PTTL]", "exactly one command is to tell the cause from died; these do: "},
		{"two commands tell", "[GET, CLIENT LIST]", "[CLIENT LIST, GET, CLIENT LIST]", "these do: CLIENT LIST, CLIENT LIST"},
		{"no such command", "GET, CLIENT", "FLUSHALL, CLIENT", `"FLUSHALL" cannot be asked; allowed`},
		{"one command", "[GET, CLIENT LIST]", "[CLIENT LIST]", "diagnose needs two commands or more"},
		{"a node of one", "GET, CLIENT", "GET 3, CLIENT", `"GET 3" cannot be asked`},
		{"no such log", "[clients]", "[weather]", `"weather" is no log; allowed`},
		{"nobody's log", "[clients]", "[client X]", `"client X" is no log`},
		{"no log", "    log: [clients]\n", "", "diagnose needs log"},
		{"it never comes", "until: A ended", "until: A exhausted", "until: the run never comes to"},
		{"asked after what is seen", "until: A ended\n    at: B works", "until: B works\n    at: A ended", `at: "A ended" is after what is seen`},
		{"a cause with an end of its own", "{id: died, ", "{id: died, until: end, ", "a cause has no until"},
		{"too few causes", "      - {id: unwatched, change: {lock: {watchdog: \"off\"}, faults: null}}\n", "", "diagnose needs three to five options"},
		{"of another kind", "kind: diagnose", "kind: read", "log and next are for items of the kind diagnose"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(diagnose, c.old) {
				t.Fatalf("no %q", c.old)
			}
			_, err := ofIncident(strings.Replace(diagnose, c.old, c.new, 1))
			toldInChinese(t, err)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The likeliest wrong cause is the one whose logs part last, and the reply says where.
func TestWhereLogsPartIsSaid(t *testing.T) {
	t.Parallel()
	i, err := ofIncident(diagnose)
	if err != nil {
		t.Fatal(err)
	}
	made, err := i.Made()
	if err != nil {
		t.Fatal(err)
	}
	d := task[*course.Diagnosis](t, i)
	if d.Rival.Option.ID != "died" {
		t.Errorf("the likeliest is %s", d.Rival.Option.ID)
	}
	for _, a := range made.Answers {
		if a.Option.ID != "unwatched" {
			continue
		}
		if p := a.Parts; p.At != 4500 || p.Log != 0 || p.Line != 8 || p.Here != "  4.500 B renew: renewed" || p.There != "  5.500 B work ends" {
			t.Errorf("it parts %+v", p)
		}
	}
	end := made.Run.Events[len(made.Run.Events)-1].At
	for name, want := range map[string]any{"PTTL": int64(-2), "GET": nil, "EXISTS": int64(0), "TYPE": "none", "INFO stats": "expired_keys:1\nevicted_keys:0", "INFO server": "uptime_in_seconds:10"} {
		if got, _ := course.Answers(made.Run, name, len(made.Run.Events), end, 0); got != want {
			t.Errorf("at the end %s answers %v, want %v", name, got, want)
		}
	}
	list := fmt.Sprint(d.Queries[0].Here.Reply, d.Queries[1].Here.Reply)
	if !strings.Contains(list, "name=A age=3 idle=3 cmd=set\n") || !strings.Contains(list, "name=B age=3 idle=0 cmd=set") {
		t.Errorf("asked are %v", list)
	}
}

// What MONITOR shows of a run is what `import` reads, and the commands are those of the run.
func TestMonitorIsAsItIsRead(t *testing.T) {
	t.Parallel()
	i, err := ofIncident(strings.Replace(diagnose, "[clients]", "[monitor]", 1))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, line := range task[*course.Diagnosis](t, i).Logs[0].Lines {
		text += line.Text + "\n"
	}
	read, err := logs.Read(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !strings.Contains(text, `.500000 [0 lua] "PEXPIRE" "report" "3000"`) || !strings.Contains(text, `[0 127.0.0.1:50002] "SET" "report" "B" "NX"`) {
		t.Errorf("MONITOR shows\n%s", text)
	}
	var want, got []string
	made, err := i.Made()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range made.Run.Events {
		if c, ok := e.Body.(trace.Command); ok {
			want = append(want, fmt.Sprint(e.At.Duration(), c.Args[:2]))
		}
	}
	for _, e := range read.Entries {
		got = append(got, fmt.Sprint(e.At-read.Entries[0].At, e.Args[:2]))
	}
	if len(got) < 8 || !slices.Equal(got, want) {
		t.Errorf("read as %v, and the run sent %v", got, want)
	}
}

// What Redis is said to answer, by the state that was recorded, is what it has answered.
func TestARecordedStateAnswersAsRedisDid(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	for _, i := range whole(t).Items() {
		made, err := i.Made()
		if err != nil {
			t.Fatal(err)
		}
		if i.Lab() != nil {
			continue // its answers are another Redis', and its state is what was read of them
		}
		for n, e := range made.Run.Events {
			c, ok := e.Body.(trace.Command)
			if !ok || c.OldMaster || len(c.Args) != 2 || c.Args[1] != made.Run.Scenario.Lock.Key {
				continue
			}
			got, known := course.Answers(made.Run, c.Args[0], n, e.At, c.Node)
			if !known {
				continue
			}
			asked[c.Args[0]]++
			if err, failed := got.(error); failed && err.Error() != c.Error || !failed && !reflect.DeepEqual(got, c.Reply) {
				t.Errorf("%s, event %d: %v answers %v %s, and is said to answer %v", i.Path(), e.Seq, c.Args, c.Reply, c.Error, got)
			}
		}
	}
	for _, verb := range []string{"GET", "PTTL", "EXISTS"} {
		if asked[verb] == 0 {
			t.Errorf("no run sends %s: %v", verb, asked)
		}
	}
}

// An incident ends each of these chapters, each is told in another command, and none has the
// moves of one in /incidents.
func TestIncidentsEndTheirChapters(t *testing.T) {
	t.Parallel()
	told, list := map[string]string{}, []asked{}
	files, err := fs.Glob(lessons.IncidentFiles(), "*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, ch := range whole(t).Chapters {
		last := ch.Items[len(ch.Items)-1]
		for _, i := range ch.Items {
			if i.Kind == course.Diagnose && i != last {
				t.Errorf("%s does not end its chapter", i.Path())
			}
		}
		if ends := slices.Contains([]string{"lock", "lease", "messages", "waiting", "redis", "majority", "others"}, ch.ID); ends != (last.Kind == course.Diagnose) {
			t.Errorf("%s ends with %s", ch.ID, last.ID)
		}
		if last.Kind != course.Diagnose {
			continue
		}
		q := asked{path: last.Path()}
		for _, one := range task[*course.Diagnosis](t, last).Queries {
			text := strings.Join(one.Here.Args, " ")
			q.options, q.right = append(q.options, text), append(q.right, one.Right)
			if command := fmt.Sprint(one.Here.Args[0], one.Here.Node, one.Here.Args[1]); one.Right {
				if other := told[command]; other != "" {
					t.Errorf("%s is what tells in %s and in %s", text, other, last.Path())
				}
				told[command] = last.Path()
			}
		}
		list = append(list, q)
		for _, file := range files {
			data, err := fs.ReadFile(lessons.IncidentFiles(), file)
			if err != nil {
				t.Fatal(err)
			}
			other, err := scenario.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := other.Lock, last.Scenario.Lock; a.Key == b.Key || a.Protocol == b.Protocol && a.Lease == b.Lease && a.Retry.Interval == b.Retry.Interval {
				t.Errorf("%s is a copy of %s", last.Path(), file)
			}
		}
	}
	for how, score := range guesses() {
		if _, got := guessed(list, score); got > float64(len(list))/2 {
			t.Errorf("of %d incidents, %s is the command in %.1f", len(list), how, got)
		}
	}
}
