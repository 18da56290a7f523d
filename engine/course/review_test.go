package course_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"relock/engine/check"
	"relock/engine/course"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web/words"
)

// marked judges the lines of an item in all the ways that somebody can get it wrong: only
// all faults, and nothing else, are right.
func marked(t *testing.T, i *course.Item) {
	t.Helper()
	code := task[*course.Review](t, i)
	judge := func(lines ...int) course.Marked { return code.Mark(lines) }
	var all, around []int
	of := map[string][]int{} // by fault; "" are those that are right
	for n, line := range code.Lines {
		for _, word := range []string{"at fault:", "// end", "# end", "shown", "folded"} {
			if strings.Contains(line.Text, word) {
				t.Errorf("line %d shows a marker: %s", n+1, line.Text)
			}
		}
		switch {
		case line.Markup:
		case line.Around:
			around = append(around, n+1)
		default:
			all, of[line.Fault] = append(all, n+1), append(of[line.Fault], n+1)
		}
	}
	if n := len(code.Lines); n < 14 || n > course.MaxShown {
		t.Errorf("it shows %d lines", n)
	}
	if len(code.Ran) == 0 {
		t.Error("nobody knows which lines have run")
	}
	var right []int
	for _, id := range code.Faults {
		if len(of[id]) == 0 {
			t.Fatalf("no line of %s can be marked", id)
		}
		right = append(right, of[id][0])
	}
	if m := judge(right...); !m.Solved {
		t.Errorf("a line of each fault: %+v", m)
	}
	if m := judge(around...); len(m.Idle) > 0 || len(m.Found) > 0 || m.Solved != (len(code.Faults) == 0) {
		t.Errorf("the lines around a fault alone: %+v", m)
	}
	if m := judge(append(right, around...)...); !m.Solved {
		t.Errorf("a line of each fault, and those around: %+v", m)
	}
	if m := judge(all...); m.Solved || len(m.Idle) != len(of[""]) {
		t.Errorf("all lines: %+v", m)
	}
	if m := judge(append(right, of[""][0])...); m.Solved || !slices.Equal(m.Idle, of[""][:1]) {
		t.Errorf("with one that is not at fault: %+v", m)
	}
	if m := judge(); m.Solved != (len(code.Faults) == 0) || m.Missed != len(code.Faults) {
		t.Errorf("no line: %+v", m)
	}
	for _, id := range code.Faults {
		m := judge(of[id]...)
		if m.Solved != (len(code.Faults) == 1) || !slices.Equal(m.Found, []string{id}) {
			t.Errorf("the lines of %s alone: %+v", id, m)
		}
		if !m.Solved && code.Breaks(m.Left).Sign() == 0 {
			t.Errorf("with %s mended nothing breaks, and there is another fault", id)
		}
	}
	if code.Breaks(code.Mended()).Sign() > 0 || len(code.Faults) > 0 && code.Breaks(code.Whole).Sign() == 0 {
		t.Errorf("as it stands %s orders break it, mended %s", code.Breaks(code.Whole), code.Breaks(code.Mended()))
	}
}

// Where lines were only put in another order, few of them are the fault: not those between.
func TestOnlyWhatIsMendedIsTheFault(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"check/takings":       "total, err := add(ctx, rdb, shop); number, err := rdb.Incr(ctx, last).Result()",
		"check/courier-again": "defer release(ctx, rdb, key, call)",
	} {
		i, ok := whole(t).Item(path)
		if !ok {
			t.Fatal(path)
		}
		var got []string
		for _, line := range task[*course.Review](t, i).Lines {
			if line.AtFault() {
				got = append(got, strings.TrimSpace(line.Text))
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: at fault is %q", path, got)
		}
	}
}

// Where two lines can be mended, each alone, either is at fault; the solution marks those of one.
func TestEqualMendsAreRight(t *testing.T) {
	t.Parallel()
	for path, list := range map[string][]string{
		"lease/review-charge": {"defer func()", "go func()", "case <-ctx.Done():", "return ctx.Err()"},
		"lease/review-close":  {"const lease", "SetNX"},
	} {
		i, ok := whole(t).Item(path)
		if !ok {
			t.Fatal(path)
		}
		code := task[*course.Review](t, i)
		ways := map[bool]int{}
		for _, text := range list {
			n := slices.IndexFunc(code.Lines, func(l course.CodeLine) bool { return strings.Contains(l.Text, text) })
			if n < 0 {
				t.Fatalf("%s has no %q", path, text)
			}
			m := code.Mark([]int{n + 1})
			ways[m.Equal]++
			if !m.Solved {
				t.Errorf("%s: %q is not right: %+v", path, text, m)
			}
		}
		if ways[true] == 0 || ways[false] == 0 || len(code.Equal) == 0 || slices.Equal(code.Equal, code.Fixed) {
			t.Errorf("%s is mended in one way: %v", path, ways)
		}
	}
	i, _ := whole(t).Item("lease/review-charge")
	code := task[*course.Review](t, i)
	if n := slices.IndexFunc(code.Lines, func(l course.CodeLine) bool { return strings.Contains(l.Text, "make(chan") }); code.Mark([]int{n + 1}).Solved {
		t.Error("a line that both ways leave as it is is at fault")
	}
}

// What a review calls right is done once also if a server dies right after it, and another
// comes later. One has only that fault: its lock is right.
func TestDoneOnceIsProven(t *testing.T) {
	t.Parallel()
	proven := 0
	for _, i := range whole(t).All() {
		if i.Kind != course.ReviewCode {
			continue
		}
		code := task[*course.Review](t, i)
		if code.Once == nil {
			continue
		}
		proven++
		if code.Once.Breaks(check.DoneTwice).Sign() > 0 || code.Mended().Breaks(check.DoneTwice).Sign() > 0 {
			t.Errorf("%s does it twice", i.Path())
		}
	}
	if proven < 8 {
		t.Errorf("only %d are", proven)
	}
	i, _ := whole(t).Item("tokens/review-remind")
	if code := task[*course.Review](t, i); len(code.Faults) != 1 || !slices.Equal(code.Whole.Rules(), []string{check.DoneTwice}) {
		t.Errorf("%v break %v", code.Faults, code.Whole.Rules())
	}
}

// There are enough to learn from, in several languages, and "find the one" is no way: some
// are right, one has two faults.
func TestReviewsAreOfEachKind(t *testing.T) {
	t.Parallel()
	faults, endings := map[int]int{}, map[string]int{}
	for _, i := range whole(t).Items() {
		if i.Kind != course.ReviewCode {
			continue
		}
		code := task[*course.Review](t, i)
		faults[len(code.Faults)]++
		endings[path.Ext(code.File)]++
	}
	if faults[0] < 2 || faults[1] < 6 || faults[2] < 1 {
		t.Errorf("by number of faults: %v", faults)
	}
	if endings[".go"] < 6 || endings[".py"]+endings[".js"] < 2 {
		t.Errorf("by language: %v", endings)
	}
}

// A file is held to its markers, and to the mended one beside it.
func TestAReviewIsHeldToItsFiles(t *testing.T) {
	t.Parallel()
	const own = "package main\n\n// shown\nfunc a() {\n\t// at fault: one\n\tb()\n\t// end\n}\n\n// folded\nfunc b() {}\n"
	mended := strings.Replace(strings.Replace(own, "at fault:", "mended:", 1), "\tb()", "\tb()\n\tb()", 1)
	for _, c := range []struct{ name, own, mended, want string }{
		{"as it should be", own, mended, ""},
		{"nothing is shown", strings.Replace(own, "// shown\n", "", 1), mended, `x.go:4: "at fault: one" is out of place`},
		{"no end", strings.Replace(own, "\t// end\n", "", 1), mended, "out of place"},
		{"never folded", strings.Replace(own, "// folded\n", "", 1), mended, "has no end"},
		{"too long", strings.Replace(own, "\tb()", strings.Repeat("\tb()\n", 30), 1), mended, "allowed: 1 to 30"},
		{"three faults", strings.Replace(own, "\t// end\n", "\t// end\n\t// at fault: two\n\tb()\n\t// end\n\t// at fault: three\n\tb()\n\t// end\n", 1), mended, "allowed: up to 2"},
		{"no mended one", own, "", "x.mended.go"},
		{"not mended", own, strings.Replace(own, "at fault:", "mended:", 1), "one is not mended"},
		{"another file", own, strings.Replace(mended, "func b() {}", "func b() { b() }", 1), "differs from the file at fault outside of a region"},
		{"another fault", own, strings.Replace(mended, "mended: one", "mended: two", 1), "differs from the file at fault"},
		{"a region as it was", strings.Replace(own, "\t// end\n", "\t// end\n\t// at fault: one\n\tb()\n\t// end\n", 1), strings.Replace(mended, "\t// end\n", "\t// end\n\t// mended: one\n\tb()\n\t// end\n", 1), "one 2 is not mended"},
		{"no region", own, "package main\n", "not the same regions"},
	} {
		fsys := fstest.MapFS{"review/x.go": {Data: []byte(c.own)}}
		if c.mended != "" {
			fsys["review/x.mended.go"] = &fstest.MapFile{Data: []byte(c.mended)}
		}
		r, err := course.ReadReview(fsys, "x")
		toldInChinese(t, err)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if c.want != "" || err != nil {
			continue
		}
		if got := r.With("one"); got != "package main\n\nfunc a() {\n\tb()\n\tb()\n}\n\nfunc b() {}\n" {
			t.Errorf("mended it is %q", got)
		}
		if len(r.Lines) != 3 || len(r.Fixed) != 4 || r.Fixed[2] != "\tb()" {
			t.Errorf("it shows %v, and mended %v", r.Lines, r.Fixed)
		}
	}
	if _, err := course.ReadReview(fstest.MapFS{}, "../x"); err == nil {
		t.Error("a name with a way out is read")
	}
}

// An item is held to what the lab found of its file.
func TestAReviewIsHeldToTheLab(t *testing.T) {
	t.Parallel()
	const refund, settle = "kind: review\n    review: refund\n    goal: broken orphan\n", "kind: review\n    review: settle\n"
	for _, c := range []struct{ name, item, file, old, new, want string }{
		{"as it is", refund, "", "", "", ""},
		{"right code", settle, "", "", "", ""},
		{"no goal", strings.Replace(refund, "    goal: broken orphan\n", "", 1), "", "", "", "goal: what the fault breaks is a rule"},
		{"another rule", strings.Replace(refund, "orphan", "deadlock", 1), "", "", "", "does not come to"},
		{"mended, it breaks", refund, "refund.mended.json", `"verdict":"unbroken"}`, "\"verdict\":\"broken\"}\n{\"rule\":\"orphan\",\"orders\":\"2\"}", "2 of 224 orders break shut-out"},
		{"one fault does no harm", refund, "refund.mended-retry.json", `"broken":"14"`, `"broken":"0"`, "a fault that is left does no harm"},
		{"mended, it is done again", refund, "refund.mended.once.json", `"verdict":`, "\"verdict\":\"broken\"}\n{\"rule\":\"done-twice\",\"orders\":\"3\",\"verdict\":", "refund.mended.once: in 3 of"},
		{"right, and done again", settle, "settle.once.json", `"verdict":`, "\"verdict\":\"broken\"}\n{\"rule\":\"done-twice\",\"orders\":\"3\",\"verdict\":", "settle.once: in 3 of"},
		{"right code breaks", settle, "settle.json", `"broken":"0"`, `"broken":"3"`, "no line of settle.py is at fault, and 3 of"},
		{"not to be judged", settle, "settle.json", `"verdict":"unbroken"`, `"verdict":"unjudged"`, `its verdict is "unjudged"`},
		{"lines of another run", refund, "refund.lines.json", `"SET"`, `"GET"`, "which no line sends then"},
		{"lines too many", refund, "refund.lines.json", `"A":[`, `"A":[{"verb":"SET","lines":[6]},`, "nobody has seen"},
		{"options", refund + "    options:\n      - {id: a}\n", "", "", "", "has no options"},
		{"asked again of the same code", refund + "    again:\n      goal: broken orphan\n", "", "", "", "what is asked again another review"},
		{"of another kind", strings.Replace(settle, "kind: review", "kind: read", 1), "", "", "", "for items of the kind review"},
		{"nothing to review", "kind: review\n    scenario: crash\n", "", "", "", "review needs review"},
		{"no such file", strings.Replace(settle, "settle", "nowhere", 1), "", "", "", "there is no review/nowhere.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prose := "# One\n## It {#it}\nIt.\n### goal\nWhat?\n### nudge\nThink.\n### after\nSo.\n"
			if strings.Contains(c.item, "refund") {
				prose += "### retry\nThat.\n### finally\nThat.\n"
			}
			fsys := fstest.MapFS{"0-one/chapter.yaml": {Data: []byte("id: one\nminutes: 1\nitems:\n  - id: it\n    " + c.item)}, "0-one/en.md": {Data: []byte(prose)}}
			files, err := fs.Glob(lessons.Course(), "review/*.*")
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, name := range files {
				data, err := fs.ReadFile(lessons.Course(), name)
				if err != nil {
					t.Fatal(err)
				}
				if path.Base(name) == c.file {
					if !strings.Contains(string(data), c.old) {
						t.Fatalf("%s has no %s", name, c.old)
					}
					data = []byte(strings.Replace(string(data), c.old, c.new, 1))
				}
				fsys[name] = &fstest.MapFile{Data: data}
			}
			got, err := course.ReadCourse(words.All()[:1], fsys, lessons.Scenarios())
			if err == nil {
				err = got.Prove()
			}
			toldInChinese(t, err)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// lines are those of an item that can be marked, as the options of a question.
func lines(t *testing.T, i *course.Item) asked {
	t.Helper()
	q := asked{path: i.Path()}
	for _, line := range task[*course.Review](t, i).Lines {
		if !line.Markup {
			q.options, q.right = append(q.options, strings.TrimSpace(line.Text)), append(q.right, line.AtFault())
		}
	}
	return q
}

// Nobody finds the fault by how its line looks.
func TestNoLookGivesAFaultAway(t *testing.T) {
	t.Parallel()
	var list []asked
	for _, i := range whole(t).All() {
		if i.Kind == course.ReviewCode {
			list = append(list, lines(t, i))
		}
	}
	ways := guesses()
	for _, word := range []string{"defer", "Set", "set", "(ctx", "return", "key", "lock"} {
		ways["what has "+word] = func(options []string, n int) float64 { return float64(strings.Count(options[n], word)) }
	}
	ways["the last"] = func(_ []string, n int) float64 { return float64(n) }
	for how, score := range ways {
		if _, got := guessed(list, score); got > float64(len(list))/3 {
			t.Errorf("of %d files, %s is at fault in %.1f", len(list), how, got)
		}
	}
}

// promises are words with which code says that what it does is not done again. A lock lets in
// one at a time: who comes later, or after a crash, does it again, unless something refuses it.
var (
	promises = regexp.MustCompile(`(?i)\b(only|just|exactly) once\b|\bon one server only\b|asked first|gets to it|先收到请求的服务器来|只(做|扣|退|办|记)一次`)
	keepsIt  = regexp.MustCompile(`(?i)refuse|no harm|same sum|audit|不收|得数也一样|对账`)
)

// What a review calls right does not promise more than a lock holds: where its comment, or the
// item's text, says that something is done once, it says who sees to that.
func TestNoReviewPromisesOnce(t *testing.T) {
	t.Parallel()
	for _, i := range whole(t).All() {
		if i.Kind != course.ReviewCode {
			continue
		}
		code := task[*course.Review](t, i)
		if said := code.Lines[0].Text + " " + code.Lines[1].Text; promises.MatchString(said) && !keepsIt.MatchString(said) {
			t.Errorf("%s promises: %s", i.Path(), said)
		}
		if strings.Contains(code.Lines[0].Text+code.Lines[1].Text, "refuse") && code.Once == nil {
			t.Errorf("%s says that somebody refuses it, and nobody has tried", i.Path())
		}
		for _, l := range words.All() {
			p, err := i.Prose(l)
			if err != nil {
				t.Fatal(err)
			}
			if said := p.Body + p.After; promises.MatchString(said) && !keepsIt.MatchString(said+code.Lines[0].Text+code.Lines[1].Text) {
				t.Errorf("%s, %s promises: %s", l.Code(), i.Path(), promises.FindString(said))
			}
		}
	}
}

// Under the lock of a review that has no fault, both servers do their work: that of the one
// that comes later is done, too.
func TestOneAtATimeIsNotOnce(t *testing.T) {
	t.Parallel()
	i, _ := whole(t).Item("yours/review-deposit")
	made, err := i.Made()
	if err != nil {
		t.Fatal(err)
	}
	did := map[string]bool{}
	for _, e := range made.Run.Events {
		if w, is := e.Body.(trace.Work); is && w.State == trace.WorkBegin {
			did[e.Thread] = true
		}
	}
	if len(did) != 2 {
		t.Errorf("only these did it: %v", did)
	}
}
