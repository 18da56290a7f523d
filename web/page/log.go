package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/outside/logs"
	"relock/engine/trace"
	"relock/web/words"
)

// LogFormat is what a log is called.
func LogFormat(l words.Language, format string) string {
	switch format {
	case logs.Monitor:
		return l.Say("a MONITOR log")
	case logs.Redisson:
		return l.Say("Redisson's TRACE")
	case logs.OTLP:
		return l.Say("spans of OpenTelemetry")
	default:
		return l.Say("a log")
	}
}

// LogThreadsBy says who is a thread.
func LogThreadsBy(l words.Language, by string) string {
	switch by {
	case logs.ByOwner:
		return l.Say("threads by owner")
	case logs.ByValue:
		return l.Say("threads by value")
	default:
		return l.Say("threads by connection")
	}
}

// LogLine says what a trace of a log is.
func LogLine(l words.Language, f *trace.FromLog) string {
	if f.Format == logs.OTLP {
		return l.Say("Read from spans of OpenTelemetry: %d attempts for the key %s, %s. The key, its lease and the threads' beliefs are recomputed.", f.Commands, f.Key, LogThreadsBy(l, f.ThreadsBy))
	}
	if f.Commands == 1 {
		return l.Say("Read from %s: 1 command names the key %s, %s. The key, its lease and the threads' beliefs are recomputed.",
			LogFormat(l, f.Format), f.Key, LogThreadsBy(l, f.ThreadsBy))
	}
	return l.Say("Read from %s: %d commands name the key %s, %s. The key, its lease and the threads' beliefs are recomputed.",
		LogFormat(l, f.Format), f.Commands, f.Key, LogThreadsBy(l, f.ThreadsBy))
}

// LogServers says which log is that of which node, a sentence each; none where there is one.
func LogServers(l words.Language, f *trace.FromLog) []string {
	var list []string
	for i, s := range f.Servers {
		if s.Line > 1 {
			list = append(list, l.Say("Node %d: %s. Its lines are counted from %d on.", i+1, s.Name, s.Line))
		} else if s.Name != "" {
			list = append(list, l.Say("Node %d: %s.", i+1, s.Name))
		}
	}
	return list
}

// LogNotes says what a log does not say, a sentence each.
func LogNotes(l words.Language, f *trace.FromLog) []string {
	var list []string
	for _, n := range f.Notes {
		if text := l.Clause(n.Says()); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// Log is what the page of a trace says of the log that it was read from.
type Log struct {
	Notes   []string
	Threads []LogThread
	By      []LogChoice // who can be a thread; nil where the log is not kept
	Kinds   []LogChoice // who may be inside at once; nil too where the log leaves no doubt and nobody has said it
	Keys    []LogChoice // other keys that could be locks
}

// LogThread says who a thread is.
type LogThread struct{ Name, Who string }

// LogChoice reads the log in another way.
type LogChoice struct {
	Label, URL string
	Current    bool
}

// NewLog returns what there is to say of a log.
func NewLog(l words.Language, f *trace.FromLog) *Log {
	p := &Log{Notes: append(LogServers(l, f), LogNotes(l, f)...)}
	for _, t := range f.Threads {
		p.Threads = append(p.Threads, LogThread{l.Say("Thread %s", t.Name), strings.Join(append(slices.Clone(t.Owners), t.Clients...), ", ")})
	}
	return p
}

// Again adds how else the log can be read at an address. Inside is how many somebody has said
// may be inside at once, or 0.
func (p *Log) Again(l words.Language, h trace.Header, at string, inside int) {
	f := h.Log
	natural := logs.ByValue
	if f.ThreadsBy == logs.ByOwner || f.Hash {
		natural = logs.ByOwner
	}
	ways := []string{natural, logs.ByConnection}
	if f.Format == logs.OTLP { // spans know no connection
		ways = nil
	}
	for _, by := range ways {
		p.By = append(p.By, LogChoice{LogThreadsBy(l, by), at + "?threads=" + by, by == f.ThreadsBy})
	}
	if f.By == trace.ByMarks {
		list := []int{1, 2, 3}
		if inside = max(inside, 1); !slices.Contains(list, inside) {
			list = append(list, inside)
		}
		for _, n := range list {
			p.Kinds = append(p.Kinds, LogChoice{l.Say("%d inside", n), at + "?inside=" + strconv.Itoa(n), n == inside})
		}
	}
	for _, k := range f.Others[:min(len(f.Others), 12)] {
		label := l.Say("%s: %d commands", k.Key, k.Commands)
		if k.Commands == 1 {
			label = l.Say("%s: 1 command", k.Key)
		}
		p.Keys = append(p.Keys, LogChoice{Label: label, URL: at + "?key=" + url.QueryEscape(k.Key)})
	}
}
