package story

import (
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/templates"
)

// busy returns the lanes of a run in which nearly everything happens that lanes
// can show. Its first two threads act; the others never start.
func busy(threads int) *film.Lanes {
	list := make([]string, threads)
	owners := map[string]string{}
	for i := range list {
		list[i] = names(i)
		owners["id-"+names(i)] = names(i)
	}
	l := film.NewLanes(list, owners, 200)
	held := func(owner, count string, pttl int64) trace.KeyState {
		return trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"id-" + owner: count}, PTTL: pttl}
	}
	outcome := func(call string, r trace.Result, level int) trace.Outcome {
		return trace.Outcome{Call: call, Result: r, Level: level, Attempt: 1}
	}
	belief := func(a, b int) map[string]int { return map[string]int{"A": a, "B": b} }
	add := func(step int, at trace.Millis, thread string, body trace.Body, key trace.KeyState, belief map[string]int) {
		l.Add(trace.Event{Seq: step, Step: step, At: at, Thread: thread, Body: body, Key: key, Belief: belief})
	}
	add(1, 0, "A", outcome("lock", trace.Acquired, 1), held("A", "1", 200), belief(1, 0))
	add(2, 10, "B", outcome("lock", trace.Refused, 1), held("A", "1", 190), belief(1, 0))
	add(2, 10, "B", trace.Wait{For: 300, Why: trace.WaitRetry}, held("A", "1", 190), belief(1, 0))
	add(3, 60, "A", outcome("lock", trace.Reentered, 2), held("A", "2", 200), belief(2, 0))
	add(4, 120, "A", outcome("renew", trace.Renewed, 2), held("A", "2", 200), belief(2, 0))
	add(5, 140, "A", trace.Fault{Do: "pause", For: "300ms", ForMS: 300}, held("A", "2", 180), belief(2, 0))
	add(6, 320, "", trace.Expired{Was: held("A", "2", 0)}, trace.Absent(), belief(2, 0))
	add(7, 330, "B", outcome("lock", trace.Acquired, 1), held("B", "1", trace.NoExpiry), belief(2, 1))
	add(7, 330, "", trace.Violation{Rule: "mutual-exclusion", Threads: []string{"A", "B"}}, held("B", "1", trace.NoExpiry), belief(2, 1))
	add(8, 400, "", trace.Fault{Do: "evict"}, trace.Absent(), belief(2, 1))
	add(9, 440, "A", outcome("unlock", trace.NotHeld, 2), trace.Absent(), belief(0, 1))
	add(9, 440, "A", trace.End{Result: trace.Lost}, trace.Absent(), belief(0, 1))
	add(10, 460, "B", trace.End{Result: trace.Crashed}, trace.Absent(), belief(0, 0))
	add(11, 500, "A", trace.Command{Call: "unlock", Level: 2, Attempt: 1, Args: []string{"HEXISTS", "K", "id-A"}, Reply: int64(0), Late: true}, trace.Absent(), belief(0, 0))
	add(12, 510, "", trace.End{Result: trace.Done}, trace.Absent(), belief(0, 0))
	return l
}

// late returns the lanes of a thread whose last unlock is on its way when its
// lease ends.
func late() *film.Lanes {
	l := film.NewLanes([]string{"A"}, map[string]string{"id-A": "A"}, 200)
	held := func(pttl int64) trace.KeyState {
		return trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"id-A": "1"}, PTTL: pttl}
	}
	inside := map[string]int{"A": 1}
	for i, e := range []trace.Event{
		{Thread: "A", Body: trace.Outcome{Call: "lock", Result: trace.Acquired, Level: 1, Attempt: 1}, Key: held(200), Belief: inside},
		{At: 50, Thread: "A", Body: trace.Fault{Do: "delay", At: "unlock", ForMS: 300}, Key: held(150), Belief: inside, Leaving: []string{"A"}},
		{At: 200, Body: trace.Expired{Was: held(0)}, Key: trace.Absent(), Belief: inside, Leaving: []string{"A"}},
		{At: 250, Thread: "A", Body: trace.End{Result: trace.Failed}, Key: trace.Absent()},
	} {
		e.Seq, e.Step = i+1, i+1
		l.Add(e)
	}
	return l
}

// majority returns the lanes of a lock on three nodes.
func majority() *film.Lanes {
	l := film.NewLanes([]string{"A", "B"}, map[string]string{"id-A": "A", "id-B": "B"}, 200)
	a, b := "id-A", "id-B"
	of := func(owner *string) trace.KeyState {
		if owner == nil {
			return trace.Absent()
		}
		return trace.KeyState{Type: trace.TypeString, Value: owner, PTTL: 200}
	}
	for i, nodes := range [][]*string{{&a, nil, nil}, {&a, &b, nil}, {&a, &b, &a}, {nil, &b, nil}, {nil, nil, nil}} {
		e := trace.Event{Seq: i + 1, Step: i + 1, At: trace.Millis(20 * i), Thread: "A", Body: trace.Work{State: trace.WorkBegin, Level: 1}, Belief: map[string]int{}, Key: trace.Absent()}
		for _, owner := range nodes {
			e.Nodes = append(e.Nodes, of(owner))
		}
		if i == 2 {
			e.Key, e.Belief = of(&a), map[string]int{"A": 1}
		}
		l.Add(e)
	}
	return l
}

func (m *maker) lanes() []Story {
	standing := busy(2).Window(m.l, "story-standing", 0, film.MaxLaneRows)
	standing.Cursor = 5
	process := scenario.Thread{Name: "A", Process: "web-1"}
	apart := film.LanesOf(&scenario.Scenario{Threads: []scenario.Thread{process, {Name: "B", Process: scenario.DefaultProcess}}}, nil)
	boxed := func(state string, l *film.Lanes, prefix string) Story {
		name := "Lanes: " + state
		return Story{Name: name, Component: box(name, templates.Lanes(l.Window(m.l, prefix, 0, film.MaxLaneRows)))}
	}
	return []Story{
		{Name: "LanesBox: standing on a step", Component: templates.LanesBox(standing)},
		boxed("eight threads", busy(threads), "story-eight"),
		boxed("leaving", late(), "story-late"),
		boxed("nodes", majority(), "story-nodes"),
		boxed("what threads belong to", apart, "story-apart"),
		boxed("nothing yet", film.NewLanes([]string{"A", "B"}, nil, 200), "story-empty"),
		{Name: "LanesSmall", Component: templates.LanesSmall(busy(2).Small(m.l, "story-small"))},
	}
}
