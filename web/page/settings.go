package page

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/words"
)

// Settings are what can be changed of a scenario where it is stepped: some inputs of its form.
type Settings struct {
	ID       string   // what the ids of its elements begin with
	Head     []string // of the columns
	Threads  []SettingsOf
	Lock     []Field
	Mistakes []string // of keys that have no input here
}

// SettingsOf are the inputs of a thread, one for each column.
type SettingsOf struct {
	Ordinal int
	Name    string
	Fields  []Field
}

// Named reports whether a thread has a name that needs more room than a letter.
func (s Settings) Named() bool {
	return slices.ContainsFunc(s.Threads, func(t SettingsOf) bool { return len(t.Name) > 2 })
}

// NewSettings returns the settings for a scenario's text, right or wrong.
func NewSettings(l words.Language, text string) Settings {
	form, mistakes := NewForm(l, text)
	sc, _ := scenario.Draft([]byte(text))
	if !form.Readable || sc == nil || len(form.Threads) == 0 {
		return Settings{}
	}
	shown := map[string]bool{}
	pick := func(among []Field, key string) []Field {
		i := slices.IndexFunc(among, func(f Field) bool { return f.Name == key })
		if i < 0 {
			return nil
		}
		f := among[i]
		f.Value, f.Hint = Spaced(cmp.Or(f.Value, f.Default)), ""
		shown[key] = true
		return []Field{f}
	}
	heartbeat, alone := sc.Kind == scenario.KindHeartbeat, film.NoLock(sc.Lock.Protocol)
	// Where threads differ in how long they wait, each has its own.
	each := slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return t.Retry.Interval != sc.Lock.Retry.Interval })
	s := Settings{ID: "set"}
	for _, t := range form.Threads {
		one := SettingsOf{Ordinal: t.Index, Name: t.Name}
		for _, column := range []struct {
			key  string
			here bool
		}{
			{".start", true},
			{".depth", !heartbeat},
			{".work", true},
			{".retry.times", !heartbeat && !alone},
			{".retry.interval", !heartbeat && !alone && each},
		} {
			if column.here {
				one.Fields = append(one.Fields, pick(slices.Concat(t.Main.Fields, t.More.Fields), "threads["+strconv.Itoa(t.Index)+"]"+column.key)...)
			}
		}
		s.Threads = append(s.Threads, one)
	}
	for _, f := range s.Threads[0].Fields {
		s.Head = append(s.Head, f.Label)
	}
	count := Field{Name: "threads", Label: l.Say("Threads"), Choices: []Choices{{}}}
	for n := range scenario.MaxThreads {
		count.Choices[0].List = append(count.Choices[0].List, Choice{Value: strconv.Itoa(n + 1), Label: strconv.Itoa(n + 1), Selected: n+1 == len(s.Threads)})
	}
	s.Lock = append(s.Lock, count)
	if !heartbeat {
		which := pick(form.Lock.Fields, "lock.protocol")
		for i := range which[0].Choices { // one's own is written in the editor
			list := &which[0].Choices[i].List
			*list = slices.DeleteFunc(*list, func(c Choice) bool { return c.Value == protocol.Own && !c.Selected })
		}
		s.Lock = append(s.Lock, which...)
	}
	if film.InRedis(sc.Lock.Protocol) {
		s.Lock = append(s.Lock, pick(form.Lock.Fields, "lock.lease")...)
	}
	if film.InRedis(sc.Lock.Protocol) && !heartbeat {
		s.Lock = append(s.Lock, pick(form.Lock.Fields, "lock.watchdog")...)
	}
	if !heartbeat && !alone && !each {
		s.Lock = append(s.Lock, pick(form.Retry.Fields, "lock.retry.interval")...)
	}
	for _, m := range mistakes {
		if !shown[m.Key] {
			s.Mistakes = append(s.Mistakes, strings.TrimPrefix(m.Key+": ", ": ")+m.Short)
		}
	}
	return s
}

var unit = regexp.MustCompile(`^(\d[\d.]*)([a-zµ]+)$`)

// Spaced is a length of time as one types it, and as a field has it: "80 ms".
func Spaced(value string) string { return unit.ReplaceAllString(value, "$1 $2") }
