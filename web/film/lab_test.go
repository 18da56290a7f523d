package film_test

import (
	"testing"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

// The film of a lab's trace has the clients' own scripts, with the line that a command
// is on, and knows nothing of what they do beside Redis.
func TestALabsScripts(t *testing.T) {
	sc, err := scenario.Parse([]byte(`{lock: {protocol: mutex, key: k, lease: 2s, watchdog: "off"}, threads: [{name: A}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := trace.Header{Store: trace.StoreLab, Lab: &trace.Lab{Scripts: map[string]string{"eval-0a.lua": "-- mine\nreturn redis.call('DEL', KEYS[1])"}}}
	f := film.Of(words.Match("en"), sc, h)
	f.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Command{Call: "unlock", Script: "eval-0a.lua", Line: 2, Args: []string{"DEL", "k"}, Reply: int64(1), Level: 1, Attempt: 1}})
	f.Add(trace.Event{Seq: 2, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Outcome{Call: "unlock", Result: trace.Released, Level: 1, Attempt: 1}})
	list := f.Scripts()
	if len(list) != 1 || list[0].Name != "eval-0a.lua" || len(list[0].Lines) != 2 || list[0].Lines[0].Text() != "-- mine" {
		t.Fatalf("its scripts are %+v", list)
	}
	row := f.Rows()[0]
	if row.Lua == nil || row.Lua.Script != "eval-0a.lua" || len(row.Lua.Ran) != 1 || row.Lua.Ran[0] != 2 {
		t.Errorf("its row is on %+v", row.Lua)
	}
	if b := row.Stage.Beliefs[0]; len(b.Calls) > 0 {
		t.Errorf("it tells of its calls: %+v", b)
	}
}
