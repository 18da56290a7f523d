package course_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/course"
	"relock/engine/trace"
)

// breaks reports whether a rule is broken in a run.
func breaks(run *course.Run, rule string) bool {
	return slices.ContainsFunc(run.Events, func(e trace.Event) bool {
		v, is := e.Body.(trace.Violation)
		return is && v.Rule == rule
	})
}

// ranked holds an order of mends to their runs: what each saves is what they show, each
// situation goes wrong without a mend, and no other order is right.
func ranked(t *testing.T, i *course.Item, made *course.Made) {
	t.Helper()
	r, rule := task[*course.Ranking](t, i), i.Rule()
	for _, s := range r.Situations {
		if !breaks(s.Wrong, rule) {
			t.Errorf("the situation %s does not break %s", s.ID, rule)
		}
	}
	for n, saves := range r.Saves {
		count := 0
		for k, one := range saves.In {
			if one.OK == breaks(one.Run, rule) || one.Shown <= 0 || one.Shown > len(one.Run.Events) {
				t.Errorf("%s in %s: saved %t, and %d of %d events are seen", made.Answers[n].Option.ID, r.Situations[k].ID, one.OK, one.Shown, len(one.Run.Events))
			}
			if one.OK {
				count++
			}
		}
		if count != saves.Count || len(saves.In) != len(r.Situations) {
			t.Errorf("%s saves %d of %d, not %d", made.Answers[n].Option.ID, count, len(saves.In), saves.Count)
		}
	}
	right := 0
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		came, err := r.Rank(order)
		if err != nil {
			t.Fatal(err)
		}
		falls := r.Saves[order[0]].Count > r.Saves[order[1]].Count && r.Saves[order[1]].Count > r.Saves[order[2]].Count
		if came.Solved != falls || came.Solved != (len(came.Pairs) == 3) {
			t.Errorf("%v: %+v", order, came)
		}
		for _, pair := range came.Pairs {
			if r.Saves[order[pair[0]-1]].Count <= r.Saves[order[pair[1]-1]].Count {
				t.Errorf("%v: %v is not right", order, pair)
			}
		}
		if came.Solved {
			right++
		}
	}
	if right != 1 {
		t.Errorf("%d orders are right", right)
	}
	for _, order := range [][]int{nil, {0}, {0, 1}, {0, 1, 1}, {0, 1, 3}, {0, 1, 2, 3}} {
		if _, err := r.Rank(order); err == nil {
			t.Errorf("%v is an order", order)
		}
	}
}

// rank is three mends of three situations, of which they save three, two and one.
const rank = `kind: rank
    run:
      lock: {protocol: fenced, lease: 1s, watchdog: "off", retry: {times: 30, interval: 100ms}}
      resource: {kind: counter}
      threads: [{name: A, work: 1500ms}, {name: B, start: 50ms, work: 900ms}]
    goal: broken lost-update
    situations:
      - {id: slow}
      - {id: slower, change: {threads: [{name: A, work: 2500ms}]}}
      - {id: still, change: {threads: [{name: A, work: 600ms}], faults: [{thread: A, at: work, do: pause, for: 1200ms}]}}
    options:
      - {id: compared, change: {resource: {checks: version}}}
      - {id: dog, change: {lock: {watchdog: 300ms}}}
      - {id: token, change: {resource: {checks: token}}}
`

// An order of mends is held to its runs, and to its texts.
func TestMendsAreHeldToTheirSituations(t *testing.T) {
	t.Parallel()
	const dog, slow = "      - {id: dog, change: {lock: {watchdog: 300ms}}}\n", "      - {id: slow}\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"as it is", dog, dog, ""},
		{"a tie", dog, "      - {id: dog, change: {threads: [{name: A, on-lost: stop}]}}\n", "save as many situations, 3: no order of them is right"},
		{"one that saves none", "{checks: token}", "{kind: counter}", ""},
		{"nothing to save", slow, "      - {id: slow, change: {lock: {lease: 9s}}}\n", "situation slow: nothing is to be saved"},
		{"one situation", slow + "      - {id: slower, change: {threads: [{name: A, work: 2500ms}]}}\n", "", "rank needs two or three situations"},
		{"no situation", "    situations:\n", "    situations: []\n    log:\n", "allowed: a text"},
		{"a situation twice", "{id: slower,", "{id: slow,", `situation "slow": allowed: an id of its own`},
		{"a situation that is a mend", "{id: dog,", "{id: slow,", "option slow: a situation has this id"},
		{"a situation with a reserved id", "{id: slower,", "{id: goal,", `situation "goal": allowed`},
		{"an unknown change of a situation", "{name: A, work: 2500ms}", "{name: A, sleep: 2500ms}", "situation slower: change: "},
		{"an unknown change of a mend", "{watchdog: 300ms}", "{dog: 300ms}", "option dog: "},
		{"a mend of another run", "{id: dog, ", "{id: dog, helps: {faults: null}, ", "a mend is a change, and nothing else"},
		{"no goal", "    goal: broken lost-update\n", "", "rank needs goal"},
		{"two mends", dog, "", "rank needs three options"},
		{"of another kind", "kind: rank", "kind: mend\n    within: {delays: 1}", "situations are for items of the kind rank"},
		{"a text of an unknown situation", "", "### fast\nThat.\n", `it has no option "fast", and no situation or fault of that id`},
		{"a text of an unknown mend", "", "### cat\nThat.\n", `it has no option "cat", and no situation or fault of that id`},
		{"no text of a situation", "", "-still", `it has no text under "### still"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			item := rank
			prose := "# One\n## It {#it}\nIt.\n### goal\nWhat?\n### nudge\nThink.\n### after\nSo.\n"
			switch {
			case strings.HasPrefix(c.new, "### "):
				prose += c.new
			case c.old != "":
				if !strings.Contains(rank, c.old) {
					t.Fatalf("no %q", c.old)
				}
				item = strings.Replace(rank, c.old, c.new, 1)
			}
			told := map[string]bool{strings.TrimPrefix(c.new, "-"): c.old == ""}
			for _, m := range idOfOption.FindAllStringSubmatch(item, -1) {
				if !told[m[1]] && m[1] != "goal" {
					told[m[1]] = true
					prose += "### " + m[1] + "\nThat.\n\nSo.\n"
				}
			}
			i, err := onlyItem(item, prose)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err != nil {
				return
			}
			made, err := i.Made()
			if err != nil {
				t.Fatal(err)
			}
			ranked(t, i, made)
		})
	}
}
