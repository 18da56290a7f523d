package course_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// untold are the values of a scenario that nobody has told who is asked: how long faults
// last, when they come, how long is worked on after a nested call; of an incident, whose table
// has no head, also when threads begin and how long they work.
func untold(sc *scenario.Scenario, told string, incident bool) (list []*time.Duration) {
	for n := range sc.Faults {
		f := &sc.Faults[n]
		if f.For > 0 && !strings.Contains(told, "{{length ") {
			list = append(list, &f.For)
		}
		if f.By > 0 {
			list = append(list, &f.By)
		}
		if f.Timed && !strings.Contains(told, `at "`+f.Do+`"`) {
			list = append(list, &f.Time)
		}
	}
	for n := range sc.Threads {
		t := &sc.Threads[n]
		if t.Depth > 1 {
			list = append(list, &t.After.Max)
		}
		if incident {
			list = append(list, &t.Work.Max, &t.Start)
		}
	}
	return list
}

// varied is a scenario of which those values can be set, and nothing of another's changes.
func varied(sc *scenario.Scenario) *scenario.Scenario {
	one := *sc
	one.Threads, one.Faults = slices.Clone(sc.Threads), slices.Clone(sc.Faults)
	return &one
}

// playVaried plays it; nil where such a scenario cannot be.
func playVaried(t *testing.T, sc *scenario.Scenario) *course.Run {
	t.Helper()
	for n := range sc.Threads {
		one := &sc.Threads[n]
		one.Work.Min, one.After.Min = one.Work.Max, one.After.Max
	}
	text, err := sc.Compact()
	if err != nil {
		t.Fatal(err)
	}
	run, err := course.Play(t.Context(), text)
	if err != nil {
		return nil
	}
	return run
}

// spans are how long it is between instants of what is seen: whoever draws other lengths sees
// another thing. With few, they begin where somebody gets in or something fails, and end where
// work does.
func spans(events []trace.Event, few bool) (list []time.Duration) {
	begins, ends := []trace.Millis{0}, []trace.Millis{}
	for _, e := range events {
		o, outcome := e.Body.(trace.Outcome)
		w, works := e.Body.(trace.Work)
		if !few || e.Kind() == trace.KindFault || outcome && o.Result == trace.Acquired {
			begins = append(begins, e.At)
		}
		if !few || e.Kind() == trace.KindEnd || works && w.State != trace.WorkBegin {
			ends = append(ends, e.At)
		}
	}
	for _, from := range begins {
		for _, to := range ends {
			if to > from {
				list = append(list, (to - from).Duration())
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// drawn draws the untold values of a scenario, each time from the best so far: score says how
// long a run shows what is shown. It ends with a run that shows it to the end, or nil.
func drawn(t *testing.T, sc *scenario.Scenario, told string, incident bool, times int, lengths []time.Duration, score func(*course.Run) (trace.Millis, bool)) (*course.Run, *scenario.Scenario) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	best, reached := varied(sc), trace.Millis(-1)
	try := func(one *scenario.Scenario) *course.Run {
		run := playVaried(t, one)
		if run == nil {
			return nil
		}
		to, whole := score(run)
		if whole {
			return run
		}
		if to >= reached {
			best, reached = one, to
		}
		return nil
	}
	if run := try(varied(sc)); run != nil {
		return run, sc
	}
	few := max(1, len(lengths)*len(untold(best, told, incident))/40) // -short takes one of so many
	for n := range len(untold(best, told, incident)) {               // each value alone, one after the other
		from := best
		for k, length := range lengths {
			if times == 0 && k%few > 0 {
				continue
			}
			one := varied(from)
			*untold(one, told, incident)[n] = length
			if run := try(one); run != nil {
				return run, one
			}
		}
	}
	for range times {
		one := varied(best)
		list := untold(one, told, incident)
		if len(list) == 0 || len(lengths) == 0 {
			return nil, nil
		}
		for range 1 + rng.IntN(2) {
			*list[rng.IntN(len(list))] = lengths[rng.IntN(len(lengths))]
		}
		if run := try(one); run != nil {
			return run, one
		}
	}
	return nil, nil
}

// sameHead reports whether the heads of two tables say the same: what is worked, by whom, and
// of the lock its kind, lease and watchdog.
func sameHead(a, b *scenario.Scenario) bool {
	if a.Lock.Protocol != b.Lock.Protocol || a.Lock.Lease != b.Lock.Lease || a.Lock.Watchdog != b.Lock.Watchdog || len(a.Threads) != len(b.Threads) || !reflect.DeepEqual(a.Resource, b.Resource) {
		return false
	}
	for n, one := range a.Threads {
		other := b.Threads[n]
		if one.Name != other.Name || one.Depth != other.Depth || one.Work != other.Work || one.Start != other.Start {
			return false
		}
	}
	return true
}

// alike is how long two runs are seen to be the same.
func alike(shown []trace.Event, run *course.Run) (trace.Millis, bool) {
	for n, e := range shown {
		if n >= len(run.Events) || !reflect.DeepEqual(e, run.Events[n]) {
			return e.At, false
		}
	}
	return 0, true
}

// heard is what a text says that no stage shows, so that an answer is not right which would be
// seen like the right one until then: by item and option, in each language.
var heard = map[string]map[string]string{
	"majority/split-in-two grants":              {"en": "min-replicas-to-write", "zh-CN": "min-replicas-to-write"},
	"majority/split-in-two-again refuses":       {"en": "Both take writes, as they do by default", "zh-CN": "两边都接受写入，默认就是这样"},
	"majority/valid-until ignores":              {"en": "A ends it at that instant", "zh-CN": "A 到那一刻就停手"},
	"majority/valid-until-again looks":          {"en": "this time it does not look", "zh-CN": "这回它不看时钟"},
	"lease/who-knows-again goes-on":             {"en": "stops when it has counted to the lease", "zh-CN": "数到租约该到期了就停手"},
	"messages/counts-twice forgot":              {"en": "has one unlock, at", "zh-CN": "时解锁一次"},
	"messages/counts-twice-again forgot":        {"en": "Now A has called its one unlock", "zh-CN": "现在 A 解锁了，只解了一次"},
	"majority/three-down comes-back":            {"en": "and they stay away", "zh-CN": "一直没恢复"},
	"majority/three-down-again comes-back":      {"en": "and they stay away", "zh-CN": "一直没恢复"},
	"majority/one-restarts-again none-to-spare": {"en": "A has four of", "zh-CN": "里的四个"},
	"others/too-long gave-up":                   {"en": "for as long as it takes", "zh-CN": "一直等下去"},
	"others/too-long-again patient":             {"en": "more tries for who is refused", "zh-CN": "被拒绝后再试"},
	"others/blind-delete compared":              {"en": "and then send `DEL`", "zh-CN": "然后发出 `DEL`"},
	"others/blind-delete-again left":            {"en": "This time the `DEL` comes sooner", "zh-CN": "这一次 `DEL` 来得早些"},
}

// tellsApart reports whether an item's text has to tell answers apart.
func tellsApart(i *course.Item) bool {
	for one := range heard {
		if strings.HasPrefix(one, i.Path()+" ") {
			return true
		}
	}
	return false
}

// toldWork is where a text says how long work takes at most.
var toldWork = regexp.MustCompile(`\{\{(in "[\w-]+" ")?work"? "(\w)"\}\}`)

// However long lasts what nobody has told, no wrong answer's run shows what is shown before
// the answer; and where a change is asked for, the same one is right. With -short every third
// item is tried, and those whose text has to tell answers apart.
func TestNothingUntoldMakesAnotherAnswerRight(t *testing.T) {
	t.Parallel()
	times := 300
	if testing.Short() {
		times = 0
	}
	used := sync.Map{}
	t.Run("items", func(t *testing.T) {
		for n, i := range whole(t).All() {
			if i.Lab() != nil || i.Kind != course.Diagnose && i.Kind != course.Predict && i.Kind != course.Why || testing.Short() && n%3 > 0 && !tellsApart(i) {
				continue
			}
			t.Run(strings.ReplaceAll(i.Path(), "/", "-"), func(t *testing.T) {
				t.Parallel()
				made, err := i.Made()
				if err != nil {
					t.Fatal(err)
				}
				if i.Kind == course.Why {
					sameRight(t, i, made, times)
					return
				}
				for _, a := range made.Answers {
					if !a.Right {
						oneRight(t, i, made, a, times, &used)
					}
				}
			})
		}
	})
	for one := range heard {
		if _, is := used.Load(one); !is {
			t.Errorf("%s is told apart by what is seen: nobody needs to be told", one)
		}
	}
}

// oneRight fails where some run of a wrong answer shows what is shown.
func oneRight(t *testing.T, i *course.Item, made *course.Made, a *course.Answer, times int, used *sync.Map) {
	t.Helper()
	shown, incident, told := made.Run.Events[:made.Stand], i.Kind == course.Diagnose, course.Source(i, words.All()[0])
	most := time.Duration(math.MaxInt64)
	if m := toldWork.FindStringSubmatch(told); m != nil && incident {
		for _, from := range []*scenario.Scenario{made.Run.Scenario, a.Run.Scenario} {
			for _, one := range from.Threads {
				if one.Name == m[2] {
					most = one.Work.Max
				}
			}
		}
	}
	score := func(r *course.Run) (trace.Millis, bool) { return alike(shown, r) }
	if incident {
		score = func(r *course.Run) (trace.Millis, bool) {
			if slices.ContainsFunc(r.Scenario.Threads, func(one scenario.Thread) bool { return one.Work.Max > most }) {
				return -1, false
			}
			p := course.Parts(i, r)
			if p == nil {
				return 0, true
			}
			return p.At, false
		}
	} else if !sameHead(made.Run.Scenario, a.Run.Scenario) {
		return
	}
	run, sc := drawn(t, a.Option.Scenario, told, incident, times, spans(made.Run.Events, testing.Short()), score)
	if run == nil {
		return
	}
	if said := heard[i.Path()+" "+a.Option.ID]; said != nil {
		used.Store(i.Path()+" "+a.Option.ID, true)
		for _, l := range words.All() {
			if want := said[l.Code()]; want == "" || !strings.Contains(course.Source(i, l), want) {
				t.Errorf("%s: %s is seen like the right answer, and no text says %q", l.Code(), a.Option.ID, want)
			}
		}
		return
	}
	text, err := sc.Compact()
	t.Errorf("%s shows what is shown, too: %s %v", a.Option.ID, text, err)
}

// sameRight fails where the item's run shows the same with other lengths, and another change
// prevents what it comes to.
func sameRight(t *testing.T, i *course.Item, made *course.Made, times int) {
	t.Helper()
	shown := made.Run.Events[:made.Stand]
	lengths := spans(made.Run.Events, testing.Short())
	tried, told := 0, course.Source(i, words.All()[0])
	for n := range untold(i.Scenario, told, false) {
		for _, length := range lengths {
			if tried++; testing.Short() && tried > 30 || tried > 10*times && !testing.Short() {
				return
			}
			one := varied(i.Scenario)
			before := *untold(one, told, false)[n]
			*untold(one, told, false)[n] = length
			run := playVaried(t, one)
			if run == nil || !course.Meets(i, run) {
				continue
			}
			if _, whole := alike(shown, run); !whole {
				continue
			}
			for _, a := range made.Answers {
				if a.Option.None {
					continue
				}
				other := varied(a.Option.Scenario)
				if list := untold(other, told, false); len(list) > n && *list[n] == before {
					*list[n] = length
				}
				if run := playVaried(t, other); run != nil && course.Meets(i, run) == a.Right {
					t.Errorf("with %v for %v, %s is right: %v", length, before, a.Option.ID, !a.Right)
				}
			}
		}
	}
}
