package class_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/course"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web/lesson"
	"relock/web/link"
	"relock/web/page"
	"relock/web/webtest"
	"relock/web/words"
)

// Pressing next plays each bundled lesson to its end. Its minutes add up to what its title
// says, every step tells its host what to say, no two votes in a row have the right answer
// in the same place, and nothing that comes is in sight before it is asked.
func TestTheLessonsArePlayedToTheirEnd(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	names, err := fs.Glob(lessons.Workshops(), "*.yaml")
	if err != nil || len(names) != 4 {
		t.Fatal(names, err)
	}
	for n, name := range names {
		text, err := fs.ReadFile(lessons.Workshops(), name)
		if err != nil {
			t.Fatal(err)
		}
		read, err := lesson.Parse(text)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, l := range words.All() {
			if minutes := read.Before(len(read.Steps)); !strings.Contains(read.Title.In(l), strconv.Itoa(minutes)) {
				t.Errorf("%q takes %d minutes", read.Title.In(l), minutes)
			}
			for _, step := range read.Steps {
				if step.Notes[l.Code()] == "" || step.Minutes == 0 {
					t.Errorf("%s: %+v has no minutes, or no notes in %s", name, step.Place, l.Code())
				}
			}
		}
		votes := 0
		for _, step := range read.Steps {
			if step.Asks() {
				votes++
			}
		}
		for path, up := range map[string]string{"TEACH.md": "../", "zh-CN/TEACH.md": "../../"} {
			doc, err := os.ReadFile("../../lessons/docs/" + path)
			row := fmt.Sprintf("| %d | [%[2]s](%[3]sworkshops/%[2]s) | %[4]d | %[5]d |", read.Before(len(read.Steps)), name, up, len(read.Steps), votes)
			if err != nil || votes > 0 && !strings.Contains(string(doc), row) {
				t.Errorf("%s has no row %s", path, row)
			}
		}
		playLesson(t, s, strings.TrimSuffix(name, ".yaml"), words.All()[n%len(words.All())])
	}
}

// playLesson goes through a lesson with a phone that votes for the first option.
func playLesson(t *testing.T, s webtest.Site, sent string, l words.Language) {
	t.Helper()
	code, secret := s.MakeRoom(t, url.Values{"lesson": {sent}})
	host := s.Visit(t, code, l.Code(), nil).Join("host", webtest.Object{"secret": secret})
	phone := s.Visit(t, code, l.Code(), nil).Join("player", webtest.Object{"scene": 0, "rows": true})
	host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
	right, of := -1, 0
	for at, presses := host.Room.Lesson, 0; at.Next != ""; presses++ {
		if presses > 90 {
			t.Fatal("it does not end")
		}
		did := at.Next
		at = host.Next()
		phone.Until("it is told", func() bool { return phone.Seq >= host.Seq })
		q := phone.Room.Question
		switch {
		case did == "go" && at.Next == "ask":
			end := phone.Film.Branches[phone.Room.Branch]
			if !phone.Room.Awaits || end == nil || len(end.Positions) != phone.Room.At+1 || phone.Room.Why != "" {
				t.Errorf("%s, %q: before it is asked, the phone sees %+v", sent, at.Steps[at.Step], phone.Room)
			}
			for name, seat := range phone.Room.Threads {
				if seat.Next != "" {
					t.Errorf("%s, %q: before it is asked, the phone sees that %s would %s", sent, at.Steps[at.Step], name, seat.Next)
				}
			}
		case did == "ask":
			if q == nil || q.Right != nil || phone.Sheet != nil && phone.Sheet.Question == q.ID && phone.Sheet.After != "" {
				t.Fatalf("%s, %q asks %+v", sent, at.Steps[at.Step], q)
			}
			phone.Must(webtest.Object{"do": "vote", "option": 0})
		case q != nil && q.Right != nil && q.ID != of:
			if *q.Right == right {
				t.Errorf("%s, %q: the right answer is in the place of the one before, %d", sent, at.Steps[at.Step], right)
			}
			right, of = *q.Right, q.ID
		}
	}
	if phone.Room.Lesson != nil || phone.Room.Doubts != nil {
		t.Errorf("%s: a phone is told what is for hosts", sent)
	}
	if f := phone.Ask(webtest.Object{"do": "lesson", "to": "back"}); f.Refused == "" {
		t.Error("a phone leads")
	}
}

// Lessons that somebody wrote, of items alone and with play between the votes.
func TestOthersLessonsArePlayedToTheirEnd(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, steps := range []string{
		"{example: no-lock-over-buying, at: T3, hold: true}, {item: lock/somebody-elses, ask: item}, {item: lease/who-knows, ask: item}, {item: lease/outlast, hold: false}, {item: tokens/with-a-token, hold: true, ask: item}, {item: need/insert-twice, ask: item}",
		"{item: trouble/last-one, ask: item, hold: true}, {item: lock/somebody-elses, ask: item}, {item: lease/outlast, hold: false}, {item: lease/pause-why, hold: true, ask: item}, {item: messages/request-or-reply, ask: item}, {item: tokens/break-the-fence, hold: false}, {item: need/key-first, hold: true, ask: item}",
		"{item: lock/review-capture, ask: item}, {item: lock/diagnose-invoices, ask: item}, {item: lock/one-step, ask: item}",
	} {
		playLesson(t, s, "title: {en: Theirs}\nsteps: ["+steps+"]", words.English)
	}
}

// A class that is asked an item of the course has its text, code and logs, on every page.
// What is right and why comes after the votes are counted, and is in no frame before, nor
// again while it votes once more. Who finds the question wrong is counted for hosts alone.
func TestWhoIsAskedAnItemReadsIt(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	code, secret := s.MakeRoom(t, url.Values{"example": {"mutex"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	stage := s.Visit(t, code, "en", nil).Join("stage", webtest.Object{"rows": true})
	phone := s.Visit(t, code, "zh-CN", nil).Join("player", webtest.Object{"scene": 0})
	for _, item := range []struct {
		path, reads string
		apart       bool
	}{
		{"need/insert-twice", "unique index", false},
		{"lease/pause-why", "garbage collection", false},
		{"trouble/one-at-a-time", "", false},
		{"lock/review-capture", "SetNX", true},
		{"lock/diagnose-invoices", "MONITOR", true},
		{"check/counted", "addition", true},
	} {
		found, ok := c.Item(item.path)
		if !ok {
			t.Fatal(item.path)
		}
		english, err := found.Prose(words.English)
		if err != nil {
			t.Fatal(err)
		}
		host.Must(webtest.Object{"do": "ask", "item": item.path})
		read := func(v *webtest.Attendee, when string, told bool) {
			t.Helper()
			v.Until(when, func() bool { return v.Seq >= host.Seq })
			q := v.Room.Question
			if q == nil || v.Room.Apart != item.apart || v.Sheet == nil || v.Sheet.Question != q.ID || (v.Sheet.After != "") != told {
				t.Fatalf("%s, %s: %+v and %+v", item.path, when, q, v.Sheet)
			}
			if !strings.Contains(v.Sheet.HTML, `href="/learn/`+item.path) {
				t.Errorf("%s, %s: no link in %s", item.path, when, v.Sheet.HTML)
			}
		}
		for _, v := range []*webtest.Attendee{host, stage, phone} {
			read(v, "asked", false)
		}
		if !strings.Contains(host.Sheet.HTML, item.reads) || strings.Contains(host.Sheet.HTML, "✓") {
			t.Errorf("%s: the class reads %s", item.path, host.Sheet.HTML)
		}
		if len(host.Room.Question.Options) < 3 {
			t.Errorf("%s asks %+v", item.path, host.Room.Question)
		}
		phone.Must(webtest.Object{"do": "vote", "option": 0})
		host.Must(webtest.Object{"do": "reveal"})
		host.Must(webtest.Object{"do": "tell"})
		for _, v := range []*webtest.Attendee{host, stage, phone} {
			read(v, "told", true)
		}
		if after, _, _ := strings.Cut(webtest.Text(page.Prose(english.After)), "\n"); !strings.Contains(webtest.Text(host.Sheet.After), after) {
			t.Errorf("%s: afterwards the class reads %s, and not %s", item.path, host.Sheet.After, after)
		}
		host.Must(webtest.Object{"do": "again"})
		read(phone, "asked again", false)
		phone.Must(webtest.Object{"do": "doubt"})
		host.Until("it is doubted", func() bool { return host.Room.Doubts != nil && *host.Room.Doubts == 1 })
		host.Must(webtest.Object{"do": "close"})
		stage.Until("it is put away", func() bool { return stage.Seq >= host.Seq })
		if *host.Room.Doubts != 0 || stage.Room.Doubts != nil || phone.Room.Doubts != nil {
			t.Errorf("%s: doubts of the next question: %d, %v and %v", item.path, *host.Room.Doubts, stage.Room.Doubts, phone.Room.Doubts)
		}
	}
	if _, log := s.Do(t, http.MethodGet, "/room/"+code+"/log", nil, "Authorization", "Bearer "+secret); strings.Contains(log, `"doubts":`) {
		t.Error("the log says who doubts")
	}
}

// Before a room is made its lesson can be read, whole.
func TestALessonIsReadBeforeARoomIsMade(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	_, list := s.Do(t, http.MethodGet, "/room/new", nil)
	_, whole := s.Do(t, http.MethodGet, "/room/new?lesson=twenty", nil)
	read, err := lesson.Parse([]byte(webtest.Must(workshopText("twenty.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(list, `href="/room/new?lesson=twenty"`) {
		t.Errorf("no way to it: %s", list)
	}
	for _, step := range read.Steps {
		if !strings.Contains(whole, html.EscapeString(step.Notes.In(words.English))) {
			t.Errorf("no notes %q", step.Notes)
		}
	}
	if rights := strings.Count(whole, "✓"); rights != 4 || !strings.Contains(whole, "20 minutes") {
		t.Errorf("%d right answers in %s", rights, whole)
	}
	if res, _ := s.Do(t, http.MethodGet, "/room/new?lesson=nothing", nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("what is no lesson: %d", res.StatusCode)
	}
}

func workshopText(name string) (string, error) {
	text, err := fs.ReadFile(lessons.Workshops(), name)
	return string(text), err
}

// The vote on the token is true: the counter takes the late write, whose token is the
// older one, since B has only read; and an addition is lost.
func TestACounterTakesALateWriteBeforeItHasSeenANewerToken(t *testing.T) {
	racetest.Skip(t)
	read, err := lesson.Parse([]byte(webtest.Must(workshopText("twenty.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	last := read.Steps[len(read.Steps)-1]
	at, err := link.Decode(last.Link)
	if err != nil {
		t.Fatal(err)
	}
	text, err := at.Scenario.Compact()
	if err != nil {
		t.Fatal(err)
	}
	run, err := course.Play(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	var writes []string
	lost := false
	for _, e := range run.Events {
		switch b := e.Body.(type) {
		case trace.Resource:
			if e.Step <= last.Row() && b.Op != "read" {
				t.Errorf("T%d is written before it is asked", e.Step)
			}
			if b.Op != "read" {
				writes = append(writes, fmt.Sprintf("%s %v", e.Thread, b.Refused))
			}
		case trace.Violation:
			lost = lost || b.Rule == "lost-update"
		}
	}
	if got := strings.Join(writes, ", "); got != "A false, B false" || !lost || last.Question.Right != 3 {
		t.Errorf("it comes to %s, a lost update: %v", got, lost)
	}
}

// A host's hour becomes a lesson: played again, it goes the same way.
func TestWhatWasDoneIsALesson(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	for range 2 {
		host.Must(webtest.Object{"do": "step"})
	}
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	host.Must(webtest.Object{"do": "reveal"})
	host.Must(webtest.Object{"do": "close"})
	host.Must(webtest.Object{"do": "time", "to": "expiry"}) // a move that the run by itself has not
	host.Must(webtest.Object{"do": "ask", "kind": "own", "text": "Who is in?", "options": []string{"A", "B"}, "right": 1})
	host.Must(webtest.Object{"do": "hold"})
	host.Must(webtest.Object{"do": "open", "example": "mutex"})
	host.Must(webtest.Object{"do": "ask", "item": "lease/who-knows"})
	_, file := s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil, "Authorization", "Bearer "+secret)
	made, err := lesson.Parse([]byte(file))
	if err != nil {
		t.Fatal(err, file)
	}
	if !strings.Contains(file, `notes: ""`) {
		t.Errorf("there is no place for notes in\n%s", file)
	}
	var steps []string
	for _, step := range made.Steps {
		at := step.Example + step.Item + step.At
		if step.Link != "" {
			at = "link"
		}
		if step.Hold != nil && *step.Hold {
			at += " held"
		}
		if step.Question != nil {
			at += " " + step.Question.Text.In(words.English)
		}
		steps = append(steps, strings.TrimSpace(at+" "+step.Ask))
	}
	if got := strings.Join(steps, "; "); got != "lease-expiry; lease-expiryT2 predict; link Who is in?; mutex held; lease/who-knows item" {
		t.Errorf("the lesson is %s\n%s", got, file)
	}
	_, sent := s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil, "Authorization", "Bearer "+secret, "Accept", "application/json")
	var answer struct{ Link string }
	if err := json.Unmarshal([]byte(sent), &answer); err != nil {
		t.Fatal(err)
	}
	if res, _ := s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("anybody has the lesson: %d", res.StatusCode)
	}
	for _, sent := range []string{file, answer.Link} {
		code, secret := s.MakeRoom(t, url.Values{"lesson": {sent}})
		host := s.Visit(t, code, "zh-CN", nil).Join("host", webtest.Object{"secret": secret})
		host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
		n := 0
		for at := host.Room.Lesson; at.Next != ""; n++ {
			at = host.Next()
		}
		if n != 4+3+3 || host.Room.Scene != 2 {
			t.Errorf("it is over after %d presses, in scene %d", n, host.Room.Scene)
		}
	}
}

// everyPart is a lesson with all that a teacher can make: scenarios of one's own, questions
// of one's own, and a chapter.
const everyPart = `
title: {en: All of it, zh-CN: 全部}
steps:
  - scenario:
      title: Two of mine
      threads: [{name: A, work: 300ms}, {name: B, start: 10ms, work: 50ms}]
      lock: {lease: 200ms, watchdog: "off"}
    title: {en: Mine, zh-CN: 我的}
    hold: true
    notes: {en: Welcome them., zh-CN: 欢迎大家。}
  - at: T3
    question: {text: {en: "Who is in?", zh-CN: "谁在里面？"}, options: [A, {en: nobody, zh-CN: 没有人}], right: 1}
    notes: Let them talk.
  - {chapter: trouble, title: Theirs, notes: six of them, hold: false}
  - {example: mutex, at: T3, ask: predict, notes: last}
`

// A lesson with all its parts is opened, a question of the host's own is asked in the room,
// in a scenario of the lesson and in another: all of it is in what is saved, which opens as
// the same again.
func TestNothingOfALessonIsLost(t *testing.T) {
	s := webtest.Open(t, nil)
	read, err := lesson.Parse([]byte(everyPart))
	if err != nil {
		t.Fatal(err)
	}
	built, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	chapter, _ := built.Chapter("trouble")
	first := lesson.Step{Place: read.Steps[0].Place, Question: &lesson.Question{Text: lesson.Plain("First?"), Options: []lesson.Words{lesson.Plain("A"), lesson.Plain("B")}, Right: 1}}
	want := []lesson.Step{read.Steps[0], first, read.Steps[1]}
	want = append(want, lesson.Step{Place: lesson.Place{Link: read.Steps[0].Link, At: "T4"}, Question: &lesson.Question{Text: lesson.Plain("And now?"), Options: []lesson.Words{lesson.Plain("A"), lesson.Plain("B")}, Right: 2}})
	yes, no := true, false
	for _, item := range chapter.Items {
		if item.Kind == course.Predict || item.Kind == course.Why || item.Kind == course.Mend {
			want = append(want, lesson.Step{Place: lesson.Place{Item: item.Path()}, Ask: lesson.AskItem})
		}
	}
	if want[4].Title, want[4].Notes, want[4].Hold = lesson.Plain("Theirs"), lesson.Plain("six of them"), &no; len(want) < 6 {
		t.Fatalf("the chapter asks only %+v", want[4:])
	}
	inserted := lesson.Step{Place: lesson.Place{Example: "lease-expiry"}, Title: lesson.Words{"en": "The lease ends before the work", "zh-CN": "活没干完，租约先到期"}, Ask: lesson.AskPredict, Hold: &yes}
	want = slices.Insert(want, 5, inserted)
	want = append(want, read.Steps[3])

	code, secret := s.MakeRoom(t, url.Values{"lesson": {everyPart}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
	if n := len(host.Room.Lesson.Steps); n != len(want)-3 || host.Room.Title != "Mine" {
		t.Fatalf("%q has the steps %q", host.Room.Title, host.Room.Lesson.Steps)
	}
	host.Must(webtest.Object{"do": "ask", "kind": "own", "text": "First?", "options": []string{"A", "B"}, "right": 0})
	host.Must(webtest.Object{"do": "close"})
	for _, next := range []string{"ask", "reveal", "go"} { // at T3, asked and told
		if at := host.Next(); at.Next != next {
			t.Fatalf("next is %q, want %q", at.Next, next)
		}
	}
	host.Must(webtest.Object{"do": "step"})
	host.Must(webtest.Object{"do": "ask", "kind": "own", "text": "And now?", "options": []string{"A", "B"}, "right": 1})
	host.Must(webtest.Object{"do": "reveal"})
	host.Must(webtest.Object{"do": "close"})
	host.Next() // to the chapter, which does not hold
	host.Must(webtest.Object{"do": "hold"})
	host.Must(webtest.Object{"do": "open", "example": "lease-expiry"})
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})

	_, file := s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil, "Authorization", "Bearer "+secret)
	made, err := lesson.Parse([]byte(file))
	if err != nil {
		t.Fatal(err, file)
	}
	if diff := cmp.Diff(&lesson.Lesson{Title: read.Title, Steps: want}, made); diff != "" {
		t.Errorf("%s\n%s", diff, file)
	}
	if strings.Count(file, "scenario:") != 1 || strings.Contains(file, "link:") {
		t.Errorf("nobody can read the scenario in\n%s", file)
	}
	_, sent := s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil, "Authorization", "Bearer "+secret, "Accept", "application/json")
	var answer struct{ Link string }
	if err := json.Unmarshal([]byte(sent), &answer); err != nil {
		t.Fatal(err)
	}
	for _, sent := range []string{file, answer.Link} {
		code, secret := s.MakeRoom(t, url.Values{"lesson": {sent}})
		host := s.Visit(t, code, "zh-CN", nil).Join("host", webtest.Object{"secret": secret})
		host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
		if at := host.Room.Lesson; len(at.Steps) != len(want) || at.Notes != "欢迎大家。" || host.Room.Title != "我的" {
			t.Errorf("%q has %d steps, and the notes %q", host.Room.Title, len(at.Steps), at.Notes)
		}
		_, again := s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil, "Authorization", "Bearer "+secret)
		if again != file {
			t.Errorf("saved again at once it is\n%s", cmp.Diff(file, again))
		}
	}
}

// The file of a scenario alone is a lesson of one step.
func TestAScenariosFileIsALesson(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"lesson": {"title: Mine alone\nthreads: [{name: A}, {name: B}]"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
	if at := host.Room.Lesson; at.Title != "Mine alone" || len(at.Steps) != 1 || host.Room.Title != "Mine alone" || len(host.Room.Threads) != 2 {
		t.Errorf("%q is taught as %+v", host.Room.Title, at)
	}
}

func TestWhatIsNoLesson(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for sent, want := range map[string]string{
		"": "ine 1 of the lesson: given nothing, allowed: one YAML or JSON document with title and steps", "nowhere": "allowed: a map with the keys title, steps", "l1.z.!!": "incomplete",
		"title: x\nsteps: [{example: lease-expiry, at: T99}]":                            "tep 1 of the lesson: its run ends at T10",
		"title: x\nsteps: [{example: mutex}, {example: nowhere}]":                        "tep 2 of the lesson",
		"title: x\nsteps: [{example: mutex}, {item: lease/nowhere}]":                     "tep 2 of the lesson",
		"title: x\nsteps:\n- example: mutex\n- chapter: nowhere":                         "ine 4, step 2 of the lesson: the course has no chapter",
		"title: x\nsteps:\n- chapter: nowhere":                                           "ine 3, step 1 of the lesson: the course has no chapter",
		"title: x\nsteps:\n- example: mutex\n- at: T99":                                  "ine 4, step 2 of the lesson: its run ends",
		"title: x\nsteps:\n- scenario:\n    threads: [{name: A}]\n    lock: {leese: 1s}": "ine 5 of the lesson: scenario.lock: given the key",
		"title: x\nsteps:\n" + strings.Repeat("- chapter: trouble\n", 60):                "with its chapters a lesson has at most 60 steps",
		"title: x\nsteps: [{item: lease/outlast, ask: item}]":                            "tep 1 of the lesson",
		"title: x\nsteps: [{link: v1.z.zz~0}]":                                           "tep 1 of the lesson",
		"title: x\nsteps:\n- example: mutex\n  nots: oops":                               "ine 4 of the lesson: steps[0]: given the key",
		"title: x\nsteps: [{example: mutex}]\n#" + strings.Repeat("x", lesson.MaxBytes):  "64 KiB",
	} {
		if res, body := s.Do(t, http.MethodPost, "/rooms", url.Values{"lesson": {sent}}); res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%.60q: %d, want %q", sent, res.StatusCode, want)
		}
	}
	if res, body := s.Do(t, http.MethodGet, "/room/new", nil); res.StatusCode != http.StatusOK || !strings.Contains(body, `value="workshop"`) {
		t.Errorf("the page has no lessons: %d", res.StatusCode)
	}
}

// A class that is in an item of the kind break has its goal, and how far it is.
func TestAGoalIsForAll(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"item": {"lease/outlast"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	stage := s.Visit(t, code, "zh-CN", nil).Join("stage", nil)
	host.Until("the goal is there", func() bool { return host.Room.Goal != nil })
	if g := host.Room.Goal; g.Met || g.Moves != 0 || g.Own != 0 || g.Par < 1 || !g.Proven || g.Text == "" || strings.ContainsAny(g.Text, "<*`") {
		t.Fatalf("at the start the goal is %+v", g)
	}
	built, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	item, _ := built.Item("lease/outlast")
	made, err := item.Made()
	if err != nil {
		t.Fatal(err)
	}
	host.Must(webtest.Object{"do": "add", "moves": made.Solved.Scenario.Schedule})
	if g := host.Room.Goal; !g.Met || g.Moves < 1 || g.Own != g.Par {
		t.Errorf("after the fewest moves the goal is %+v", g)
	}
	stage.Until("it has come to the stage", func() bool { return stage.Seq >= host.Seq })
	if stage.Room.Goal == nil || !stage.Room.Goal.Met || stage.Room.Goal.Text == host.Room.Goal.Text {
		t.Errorf("the stage has %+v", stage.Room.Goal)
	}
	host.Must(webtest.Object{"do": "open", "example": "mutex"})
	if host.Room.Goal != nil {
		t.Errorf("in another scenario it is %+v", host.Room.Goal)
	}
}

// A made question has a room, which opens where it is asked.
func TestARoomOfAMadeQuestion(t *testing.T) {
	s := webtest.Open(t, nil)
	data, err := fs.ReadFile(lessons.Scenarios(), "mutex-unsafe.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	text := webtest.Must(link.Encode(link.Contents{Scenario: sc.WithSchedule(make([]scenario.Move, 3)), At: 3}))
	for kind, next := range map[string]string{"predict": "ask", "break": ""} {
		_, body := s.Do(t, http.MethodGet, "/learn/made?"+url.Values{"from": {text}, "kind": {kind}}.Encode(), nil)
		_, rest, found := strings.Cut(body, `"/room/new#`)
		if !found {
			t.Fatalf("%s: no room is offered in %s", kind, body)
		}
		packed, _, _ := strings.Cut(rest, `"`)
		code, secret := s.MakeRoom(t, url.Values{"lesson": {packed}})
		host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
		host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
		if at := map[string]int{"predict": 3}[kind]; host.Room.At != at || host.Room.Lesson.Next != next {
			t.Errorf("%s: it stands at %d, and next is %q", kind, host.Room.At, host.Room.Lesson.Next)
		}
		if next != "" && host.Next().Next != "reveal" {
			t.Errorf("%s: it is not asked", kind)
		}
	}
}

// A scene is called the same by everybody, in each language: as the step that opened
// it, or else as the item or the scenario.
func TestASceneHasOneName(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	taught := `
title: Names
steps:
  - {example: lease-expiry, at: T2, title: {en: A lease of mine, zh-CN: 我的租约}, ask: predict}
  - {at: T5, ask: predict}
  - {at: T7, title: Look, question: {text: "Who is in?", options: [A, B], right: 1}}
  - {item: lease/outlast, ask: predict}
  - {example: mutex, at: T3, title: One command, ask: predict}
  - {example: lease-expiry, ask: predict}
`
	names := map[string][]string{
		"en":    {"A lease of mine", "Hold it up", "One command", "The lease ends before the work"},
		"zh-CN": {"我的租约", "拖住它", "One command", "活没干完，租约先到期"},
	}
	steps := map[string][]string{
		"en":    {"A lease of mine", "A lease of mine · T5", "Look", "Hold it up", "One command", "The lease ends before the work"},
		"zh-CN": {"我的租约", "我的租约 · T5", "Look", "拖住它", "One command", "活没干完，租约先到期"},
	}
	for _, l := range words.All() {
		code, secret := s.MakeRoom(t, url.Values{"lesson": {taught}})
		host := s.Visit(t, code, l.Code(), nil).Join("host", webtest.Object{"secret": secret, "rows": true})
		phone := s.Visit(t, code, l.Code(), nil).Join("player", webtest.Object{"scene": 0})
		phone.Must(webtest.Object{"do": "claim", "thread": "A"})
		host.Until("the lesson is there", func() bool { return host.Room.Lesson != nil })
		if got := host.Room.Lesson.Steps; !slices.Equal(got, steps[l.Code()]) {
			t.Errorf("the host's list has %q", got)
		}
		look := func() {
			t.Helper()
			phone.Until("it is where the host is", func() bool { return phone.Seq >= host.Seq })
			want := names[l.Code()][host.Room.Scene]
			var set struct{ Title string }
			if phone.Set != nil {
				if err := json.Unmarshal(phone.Set, &set); err != nil {
					t.Fatal(err)
				}
			}
			if host.Room.Title != want || phone.Room.Title != want || host.Film.Opened["title"] != want || host.Room.Scene > 0 && set.Title != want {
				t.Errorf("%q is called %q, %q, %q and %q", want, host.Room.Title, phone.Room.Title, host.Film.Opened["title"], set.Title)
			}
			for _, page := range []string{"", "/stage", "/host"} {
				_, body := s.Do(t, http.MethodGet, "/room/"+code+page, nil, "Accept-Language", l.Code(), "Cookie", "relock-room-"+code+"="+secret)
				if _, h1, _ := strings.Cut(body, `<h1 id="title">`); !strings.HasPrefix(h1, want+"<") {
					t.Errorf("the page %q calls %q %.80q", page, want, h1)
				}
			}
		}
		look()
		for at := host.Room.Lesson; at.Next != ""; {
			if at.Next == "reveal" {
				phone.Must(webtest.Object{"do": "vote", "option": 0})
			}
			if at = host.Next(); at.Next != "again" {
				look()
			} else {
				host.Must(webtest.Object{"do": "tell"})
			}
		}
		_, file := s.Do(t, http.MethodGet, "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret, "Accept-Language", l.Code())
		votes, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff"))).ReadAll()
		if err != nil || len(votes) != 7 {
			t.Fatal(err, file)
		}
		for _, one := range votes[1:] {
			if n, _ := strconv.Atoi(one[10]); one[11] != names[l.Code()][n-1] {
				t.Errorf("the votes have %q", one)
			}
		}
		_, body := s.Do(t, http.MethodGet, "/room/"+code+"/branches", nil, "Accept-Language", l.Code())
		var links []struct {
			Scene int
			Title string
		}
		if err := json.Unmarshal([]byte(body), &links); err != nil || len(links) < 4 {
			t.Fatal(err, body)
		}
		for _, one := range links {
			if one.Title != names[l.Code()][one.Scene] {
				t.Errorf("a link of scene %d is called %q", one.Scene, one.Title)
			}
		}
		_, file = s.Do(t, http.MethodGet, "/room/"+code+"/lesson.yaml", nil, "Authorization", "Bearer "+secret)
		made, err := lesson.Parse([]byte(file))
		if err != nil {
			t.Fatal(err, file)
		}
		given, err := lesson.Parse([]byte(taught))
		if diff := cmp.Diff(given, made); err != nil || diff != "" {
			t.Errorf("the lesson's file has %s\n%s", diff, file)
		}
	}
}
