package board_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"relock/engine/phrase"
	"relock/web/board"
)

// taken are all commands of each tenant, with all keys that count.
var taken = map[board.Tenant]string{
	board.Play: `
{"do":"open","link":"p1","scenario":"threads: []","branches":[{"id":0,"parent":-1,"fork":0,"moves":["A"]}]}
{"do":"step","branch":1,"at":2,"thread":"A","background":true,"network":true,"node":3}
{"do":"run","branch":1,"to":"end","thread":"A"}
{"do":"time","branch":1,"at":2,"to":"by","by":"50ms"}
{"do":"strike","branch":1,"at":2,"fault":{"do":"pause","thread":"A","for":"1s"}}
{"do":"cut","branch":1,"at":2}
{"do":"drop","branch":1}
{"do":"compare","branch":1,"with":2,"names":["one","two"]}
{"do":"locks","branch":1,"protocols":["hash","string"]}
{"do":"lanes","branch":1,"at":2,"row":3}
{"do":"trace","branch":1}
{"do":"explore","branch":1,"moves":2,"from":"here","delays":1,"faults":2,"kinds":["crash"],"judge":true}
{"do":"mend","branch":1}
{"do":"causes","branch":1,"row":3}
{"do":"goal","branch":1,"moves":2,"item":"lease/outlast"}
{"do":"halt"}
{"do":"example","rule":"mutual exclusion"}
{"do":"walk","state":7}
{"do":"outlook","branch":1,"moves":2,"names":{"1":"one"}}`,
	board.Class: `
{"do":"join","part":"player","secret":"s","member":"m1","token":"t","rows":true,"scene":1}
{"do":"go","branch":1,"at":2,"row":3,"moment":4,"focus":"key"}
{"do":"open","example":"e","link":"l","item":"lease/outlast"}
{"do":"lesson","to":"next","at":1}
{"do":"step","thread":"A","background":true,"network":true,"node":3}
{"do":"run","to":"end","thread":"A"}
{"do":"time","to":"by","by":"50ms"}
{"do":"strike","fault":{"do":"crash","thread":"A"}}
{"do":"cut","branch":1,"at":2}
{"do":"add","moves":["A",{"thread":"B"}],"at":1,"instead":2}
{"do":"drop","branch":1}
{"do":"claim","thread":"A"}
{"do":"release"}
{"do":"give","thread":"A","member":"m1","over":true}
{"do":"deal","tables":2}
{"do":"decide","thread":"A","wish":"step"}
{"do":"ask","kind":"own","text":"Who?","options":["A","B"],"right":1,"item":"i"}
{"do":"vote","option":1}
{"do":"write","script":"return 1"}
{"do":"show","member":"m1"}
{"do":"clock","seconds":60}
{"do":"reveal"}
{"do":"again"}
{"do":"tell"}
{"do":"close"}
{"do":"veil","on":false}
{"do":"reserve","on":true}
{"do":"lost","on":true}
{"do":"doubt","on":true}
{"do":"rename"}
{"do":"allow","faults":["crash"]}
{"do":"hold","on":true}
{"do":"lobby","on":true}
{"do":"lock","locked":false}
{"do":"remove","member":"m1"}
{"do":"restore","member":"m1"}
{"do":"end"}
{"do":"compare","branch":1,"with":2,"names":["one","two"]}
{"do":"locks","branch":1,"protocols":["hash","string"]}
{"do":"lanes","branch":1,"at":2,"row":3}
{"do":"trace","branch":1}
{"do":"explore","branch":1,"moves":2,"from":"here","delays":1,"faults":2,"kinds":["crash"],"judge":true}
{"do":"mend","branch":1}
{"do":"causes","branch":1,"row":3}
{"do":"goal","branch":1,"moves":2,"item":"lease/outlast"}
{"do":"halt"}
{"do":"example","rule":"mutual exclusion"}
{"do":"walk","state":7}
{"do":"outlook","branch":1,"moves":2,"names":{"1":"one"}}
{"do":"ping"}`,
	board.Lab: `
{"do":"open"}
{"do":"step","branch":1,"at":2,"thread":"A","background":true,"network":true,"node":3,"nth":4}
{"do":"run","branch":1,"to":"end","thread":"A"}
{"do":"time","branch":1,"at":2,"to":"expiry","by":"50ms"}
{"do":"strike","branch":1,"at":2,"fault":{"do":"lose-reply","thread":"A"}}
{"do":"cut","branch":1,"at":2}
{"do":"drop","branch":1}
{"do":"again"}
{"do":"end"}
{"do":"compare","branch":1,"with":2,"names":["one","two"]}
{"do":"lanes","branch":1,"at":2,"row":3}
{"do":"trace","branch":1}
{"do":"halt"}
{"do":"search","kinds":["crash"],"faults":2}
{"do":"order","rule":1}`,
}

// loose are commands whose keys nobody reads.
var loose = map[board.Tenant][]string{board.Class: {"ping"}, board.Lab: {"halt", "end"}}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for of, list := range taken {
		var names phrase.Names
		for line := range strings.Lines(strings.TrimSpace(list)) {
			var keys map[string]any
			if err := json.Unmarshal([]byte(line), &keys); err != nil {
				t.Fatal(err)
			}
			keys["id"] = 7
			name, _ := keys["do"].(string)
			names = append(names, name)
			if c, err := parsed(t, of, keys); err != nil || c.ID != 7 || c.Do != name {
				t.Errorf("tenant %d, %s: %d %s, %v", of, line, c.ID, c.Do, err)
			}
			wrong := map[string]any{"bogus": 1}
			for key := range keys {
				wrong[key] = [][]int{{}}
			}
			delete(wrong, "do")
			for key, value := range wrong {
				if key == "moves" {
					value = "A"
				}
				with := maps.Clone(keys)
				with[key] = value
				c, err := parsed(t, of, with)
				if refused := err == board.ErrNotCommand || err == board.ErrKeys; refused == (slices.Contains(loose[of], name) && key != "id") { //nolint:errorlint // these very ones
					t.Errorf("tenant %d, %s with %s: %v comes to %v, %v", of, name, key, value, c, err)
				}
			}
		}
		if all := board.Commands(of); !slices.Equal(names, all) {
			t.Errorf("tenant %d has the commands %s; tried are %s", of, all, names)
		}
	}
}

func parsed(t *testing.T, of board.Tenant, keys map[string]any) (board.Command, error) {
	t.Helper()
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return board.ParseCommand(of, text)
}

// TestKeysOfSeveralTypes has keys whose type depends on the command, and on whom it
// comes from.
func TestKeysOfSeveralTypes(t *testing.T) {
	t.Parallel()
	three := 3
	for _, c := range []struct {
		of    board.Tenant
		frame string
		want  board.Command
	}{
		{board.Play, `{"do":"explore","moves":2,"faults":1}`, board.Command{Asked: board.Asked{Stood: 2, MostFaults: 1}}},
		{board.Class, `{"id":1,"do":"allow","faults":["crash"]}`, board.Command{ID: 1, Faults: []string{"crash"}}},
		{board.Class, `{"id":1,"do":"add","moves":[1]}`, board.Command{ID: 1, Moves: []json.RawMessage{[]byte("1")}}},
		{board.Class, `{"id":1,"do":"go","row":3}`, board.Command{ID: 1, Row: 3}},
		{board.Class, `{"id":1,"do":"lanes","row":3}`, board.Command{ID: 1, Asked: board.Asked{Around: &three}}},
		{board.Play, `{"do":"compare","names":["a","b"]}`, board.Command{Asked: board.Asked{Sides: []string{"a", "b"}}}},
		{board.Play, `{"do":"outlook","names":{"1":"a"}}`, board.Command{Asked: board.Asked{Names: map[int]string{1: "a"}}}},
		{board.Play, `{"do":"example","rule":"r"}`, board.Command{Asked: board.Asked{Rule: "r"}}},
		{board.Lab, `{"do":"order","rule":1}`, board.Command{Asked: board.Asked{Found: 1}}},
		{board.Play, `{"do":"strike","fault":{"do":"x"}}`, board.Command{Fault: map[string]json.RawMessage{"do": []byte(`"x"`)}}},
		{board.Lab, `{"do":"strike","fault":{"do":"x"}}`, board.Command{Asked: board.Asked{LabFault: board.LabFault{Do: "x"}}}},
	} {
		got, err := board.ParseCommand(c.of, []byte(c.frame))
		c.want.Do = got.Do
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.frame, got, err)
		}
	}
}

func TestFramesThatAreNoCommands(t *testing.T) {
	t.Parallel()
	const (
		keys  = "that is not a command: it must be one JSON object with the keys of a command"
		andID = keys + ", and an id from 1 on"
	)
	long := `{"id":1,"do":"claim","thread":"` + strings.Repeat("A", 17<<10) + `"}`
	for _, c := range []struct {
		of    board.Tenant
		frame string
		says  string
	}{
		{board.Play, `[]`, keys},
		{board.Class, `[]`, andID},
		{board.Lab, `[]`, keys},
		{board.Play, `{"do":"step","secret":"s"}`, keys},
		{board.Class, `{"id":1,"do":"step","secret":"s"}`, ""},
		{board.Class, `{"id":1,"do":"step","protocols":[]}`, andID},
		{board.Class, `{"id":1,"do":"compare","secret":"s"}`, keys},
		{board.Class, `{"id":0,"do":"step"}`, andID},
		{board.Play, `{"id":0,"do":"step"}`, ""},
		{board.Class, `{"id":1,"do":"step"} {}`, andID},
		{board.Class, long, andID},
		{board.Class, strings.Replace(long, "claim", "open", 1), ""},
		{board.Lab, `{"do":"strike","fault":{"do":"x","for":"1s"}}`, keys},
		{board.Play, `{"do":"vote"}`, `there is no command "vote"; there are ` + board.Commands(board.Play).String()},
		{board.Play, `{"do":"vote","bogus":1}`, `there is no command "vote"; there are ` + board.Commands(board.Play).String()},
		{board.Class, `{"id":1,"do":"search"}`, `there is no command "search"; there are ` + board.Commands(board.Class).String()},
		{board.Class, `{"id":1,"do":"search","bogus":1}`, andID},
		{board.Lab, `{"do":"vote","bogus":1}`, `a lab has no command "vote"`},
	} {
		got := ""
		if _, err := board.ParseCommand(c.of, []byte(c.frame)); err != nil {
			got = err.Error()
		}
		if got != c.says {
			t.Errorf("tenant %d, %.60s: %q, want %q", c.of, c.frame, got, c.says)
		}
	}
}
