package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strconv"
	"strings"

	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/lessons/advice"
	"relock/web/film"
	"relock/web/words"
)

// LabDoor is the page on which a lab is opened.
type LabDoor struct {
	Page      Page
	Closed    string // why this visitor can open none, or ""
	Problem   string // why what was asked for was refused
	Most      int    // threads
	Threads   int    // as asked
	MostNodes int
	Nodes     int // as asked; 0 is one
	Key       string
	Inside    int    // how many may be inside at once, as asked; 0 is one
	Shared    string // the key of what the lock protects
	Others    LibrariesBeside
}

// LockWords are the kinds of locks as a person says them.
const LockWords = check.Kinds

// LockKind is a kind of lock, by what its key holds.
type LockKind struct {
	Holds     string
	Judged    bool
	Judgeable string // "if told"
}

// LockKinds are the kinds that the lab tells apart.
func LockKinds(l words.Language) []LockKind {
	var list []LockKind
	for _, k := range verdict.Kinds() {
		list = append(list, LockKind{l.Say(k.Holds), k.Judged, l.Say(k.Judgeable())})
	}
	return list
}

// Lab is the page of a lab: the stage, whose threads are somebody's clients.
type Lab struct {
	Page    Page
	Socket  string // URL path
	Trace   string // URL path, ready for a branch
	Exports string // URL path, ready for a format
	Files   []File
	Viewer  Viewer
	Rail    LabRail
	Faults  []LabFault // that a search may have strike
	Clock   string     // what its clock does, in a line
	Command string     // that the lab has started, "" if clients come by themselves
	Fixed   bool       // it is there as long as the server: nobody closes it
}

// LabRail is the threads of a lab, and what can be done to them and to Redis.
type LabRail struct {
	Threads []LabThread
	Evicts  []Strike // of each node, or each lock
	Command string   // as Lab has it
	Expires bool     // the end of a lease is available
}

// LabThread is a thread whose client is somebody's program.
type LabThread struct {
	Name    string
	Ordinal int
	URLs    []string // for the client, as its environment has them
	Copied  string   // what its environment is to have
	Client  string   // as it has called itself, or ""
	Strikes []Strike
}

// LabFault is a fault in short, and in a sentence.
type LabFault struct{ Name, Label, Title string }

// labFaults are the faults of a lab's threads, in short and in a sentence with the
// thread.
var labFaults = []struct {
	name         string
	label, title phrase.Text
}{
	{lab.LoseReply, "lose reply", "Redis runs the command of %s, and the connection ends before the answer"},
	{lab.LoseRequest, "lose request", "The connection of %s ends, and its command never reaches Redis"},
	{lab.LateCopy, "late copy", "The connection of %s ends, and its command reaches Redis at some later moment"},
	{lab.Delay, "delay", "300 ms pass on the clock of Redis before the command of %s gets there"},
	{lab.LoseMessage, "lose message", "What the command of %s publishes reaches nobody"},
	{lab.Pause, "pause", "The process of %s is stopped until its lease is over (SIGSTOP)"},
	{lab.Crash, "crash", "The process of %s dies (SIGKILL)"},
}

// LabFaults are those that a search of a lab may have strike.
func LabFaults(l words.Language, wall bool) []LabFault {
	var list []LabFault
	for _, f := range labFaults {
		if own := f.name == lab.Pause || f.name == lab.Crash; !own || wall {
			list = append(list, LabFault{f.name, l.Say(f.label), l.Say(f.title, l.Say("a thread"))})
		}
	}
	if !wall {
		list = append(list, LabFault{lab.LeaseEnds, l.Say("the lease ends"), l.Say("The clock of Redis goes on to the end of the lease: the client was paused for that long")})
	}
	return append(list, LabFault{lab.Evict, l.Say("evict key"), l.Say("Redis evicts the key")})
}

// NewLabRail returns the rail of a lab, whose clients reach it at a host; locks are the keys
// of several, else nil.
func NewLabRail(l words.Language, threads []lab.Standing, locks []string, host, command string, wall bool) LabRail {
	r := LabRail{Command: command, Expires: !wall}
	for i, t := range threads {
		url := func(address string) string {
			_, port, _ := net.SplitHostPort(address) // it is one
			return "redis://" + net.JoinHostPort(host, port)
		}
		_, port, _ := net.SplitHostPort(t.Address)
		one := LabThread{Name: t.Name, Ordinal: i, URLs: []string{"REDIS_URL=" + url(t.Address)}, Client: t.Client}
		one.Copied = one.URLs[0] + " REDIS_HOST=" + host + " REDIS_PORT=" + port + " RELOCK_THREAD=" + t.Name
		for n, address := range t.Nodes {
			each := fmt.Sprintf("REDIS_URL_%d=%s", n+1, url(address))
			one.URLs, one.Copied = append(one.URLs, each), one.Copied+" "+each
		}
		if i == 0 {
			r.Evicts = evicts(l, len(t.Nodes), locks)
		}
		for _, f := range labFaults {
			if own := f.name == lab.Pause || f.name == lab.Crash; own && (!wall || command == "") {
				continue
			}
			move, err := json.Marshal(map[string]string{"do": f.name, "thread": t.Name})
			if err != nil {
				panic("page: a fault that cannot be written: " + err.Error())
			}
			one.Strikes = append(one.Strikes, Strike{l.Say(f.label), l.Say(f.title, t.Name), string(move)})
		}
		r.Threads = append(r.Threads, one)
	}
	return r
}

// mostEvicted is how much of a key a button shows, in bytes.
const mostEvicted = 24

// evicts are what evicts the lock's key, of one Redis or of each of several nodes, or the
// key of each of several locks.
func evicts(l words.Language, nodes int, locks []string) []Strike {
	if nodes == 0 && locks == nil {
		return []Strike{{l.Say("evict key"), l.Say("Redis evicts the key"), byHand(lab.Evict, "", "")}}
	}
	var list []Strike
	for n, key := range locks {
		list = append(list, Strike{l.Say("evict %s", words.Short(key, mostEvicted)), l.Say("Redis evicts the key %s", key), fmt.Sprintf(`{"do":%q,"nth":%d}`, lab.Evict, n)})
	}
	for n := range nodes {
		list = append(list, Strike{l.Say("node %d: evict key", n+1), l.Say("Node %d evicts the key", n+1), fmt.Sprintf(`{"do":%q,"node":%d}`, lab.Evict, n+1)})
	}
	return list
}

// shortCommand is how much of a command's arguments a button shows, in bytes.
const shortCommand = 24

// NewLabOptions words what each thread of a lab would do, or why nothing of it waits.
func NewLabOptions(l words.Language, threads []lab.Standing, choices []lab.Choice, over bool) []Option {
	var out []Option
	n := 0
	for _, t := range threads {
		some, nth := false, 0
		for _, c := range choices {
			if c.Thread != t.Name || c.Do != "" {
				continue
			}
			first, rest, _ := strings.Cut(c.Text, " ")
			first, rest = strings.ToUpper(first), words.Short(rest, shortCommand)
			o := Option{Thread: t.Name, Choice: n, Can: true, Does: c.Text, Node: c.Node, Nth: nth, Network: c.Late, Background: some && !c.Late && c.Node == 0, Verb: l.Say("sends %s", first), Which: rest}
			switch {
			case c.Late:
				o.Name, o.Verb, o.Which, o.Does = l.Say("%s's late copy", t.Name), "", strings.TrimSpace(first+" "+rest), l.Say("a late copy arrives: %s", c.Text)
			case c.Node > 0:
				o.Verb, o.Which = l.Say("asks node %d", c.Node), strings.TrimSpace(first+" "+rest)
			}
			some = some || !c.Late
			out = append(out, o)
			n++
			nth++
		}
		if !some {
			o := Option{Thread: t.Name, Choice: -1, Which: l.Say(standing(t, over))}
			if o.Why = o.Which; t.Words != "" {
				o.Which, o.Why = l.Say("its process has ended"), l.Say("its process has ended: %s", t.Words)
			}
			out = append(out, o)
		}
	}
	return out
}

// standing says why a thread has nothing to decide.
func standing(t lab.Standing, over bool) phrase.Text {
	switch t.State {
	case lab.Away:
		return "no client has come yet"
	case lab.Held:
		return "waits inside Redis for others"
	case lab.AtRound:
		if over {
			return "its round is over"
		}
		return "ready for a round"
	case lab.Gone:
		return "its client has left"
	}
	return "has its answer, sends nothing"
}

// NewLabPointless says which faults cannot strike at a place of a lab.
func NewLabPointless(l words.Language, threads []lab.Standing, choices []lab.Choice) []Pointless {
	var out []Pointless
	can := func(thread, do string) bool {
		return slices.ContainsFunc(choices, func(c lab.Choice) bool { return c.Thread == thread && c.Do == do })
	}
	for _, t := range threads {
		if !can(t.Name, "") {
			out = append(out, Pointless{Thread: t.Name, Why: l.Say("No command of %s waits.", t.Name)})
			continue
		}
		var none []string
		for _, f := range labFaults {
			if !can(t.Name, f.name) {
				none = append(none, f.name)
			}
		}
		if len(none) > 0 {
			out = append(out, Pointless{Do: none, Thread: t.Name, Why: l.Say("That cannot strike what %s sends now.", t.Name)})
		}
	}
	if !can("", lab.Evict) {
		out = append(out, Pointless{Do: []string{lab.Evict}, Why: l.Say("There is no key to evict.")})
	}
	return out
}

// LabFound is what a search of a lab has come to.
type LabFound struct {
	Going   bool
	Title   string  // "65 orders, at most one lost reply"
	Sums    string  // how many break a rule, and how it ended
	Share   float64 // of the orders, those that break a rule, 0 to 1
	Rules   []LabRule
	Cures   []LabCure
	Notes   []string // any further remark
	Problem string   // why there is none
	Tone    film.Tone
}

// LabRule is a rule that a search has seen broken.
type LabRule struct {
	Place int    // in the list
	Title string // "shut out: in 9 of 65 orders"
	Steps string // "the smallest: 6 decisions"
}

// LabCure is what would have saved a lock of which nobody knows the source.
type LabCure struct {
	Title, Says string
	Run         string     // a bundled scenario in which it holds
	Code        []CureCode // in each language, or nil
}

// CureCode is a few lines in a language, as advice and as people call it.
type CureCode struct{ Name, Language, Lines string }

// languageNames are what people call the languages of advice.
var languageNames = map[string]string{"go": "Go", "python": "Python", "node": "Node.js", "java": "Java"}

// NewLabCures words what helps against the rules that a search has seen broken.
func NewLabCures(l words.Language, rules []lab.Broken) []LabCure {
	var broken []advice.Broken
	for _, r := range rules {
		broken = append(broken, advice.Broken{Rule: r.Rule, Harms: check.Harms(r.Rule), Faults: lab.FaultsOf(r.Order), ForEver: r.ForEver})
	}
	var list []LabCure
	for _, c := range advice.Cures(broken) {
		one := LabCure{Title: l.Say(c.Title), Says: l.Say(c.Says), Run: c.Run}
		for _, name := range advice.Languages {
			if lines := c.Code[name]; lines != "" {
				one.Code = append(one.Code, CureCode{name, languageNames[name], lines})
			}
		}
		list = append(list, one)
	}
	return list
}

// NewLabFound words a search: as far as it has come, and what it came to.
func NewLabFound(l words.Language, kind check.Kind, in lab.Bounds, orders, waiting, broken int, going bool, tried lab.Tried, failed error) LabFound {
	names := make([]string, 0, len(in.Faults))
	for _, f := range LabFaults(l, true) {
		if slices.Contains(in.Faults, f.Name) {
			names = append(names, f.Label)
		}
	}
	if slices.Contains(in.Faults, lab.LeaseEnds) {
		names = append(names, l.Say("the lease ends"))
	}
	faults := cmp.Or(strings.Join(names, l.Say(", ")), l.Say("none"))
	f := LabFound{Going: going, Title: l.Say("faults: %s, at most %d", faults, in.MaxFaults), Tone: film.Quiet}
	switch {
	case going:
		f.Sums = LabProgress(l, orders, waiting, broken)
		f.Share = share(broken, orders)
		return f
	case failed != nil:
		f.Problem, _ = l.Explain(failed)
		f.Problem = cmp.Or(f.Problem, l.Say("Something went wrong here. It was logged."))
		return f
	}
	f.Share = share(tried.Broken, tried.Orders)
	j := tried.Judgement()
	switch j.Verdict {
	case verdict.Broken:
		f.Tone = film.Bad
	case verdict.Unbroken:
		f.Tone = film.Good
	}
	f.Sums = LabEnding(l, tried.Ending, tried.Orders, tried.Broken, tried.Diverged, j.Verdict)
	if tried.Failed != nil {
		f.Notes = append(f.Notes, tried.Failed.Error())
	}
	for i, r := range tried.Rules {
		one := LabRule{Place: i, Title: LabRuleCounted(l, kind, r.Rule, r.Orders, tried.Orders), Steps: l.Say("the smallest: %d decisions", len(r.Order))}
		f.Rules = append(f.Rules, one)
		if r.Rule == "mutual-exclusion" && r.By == trace.ByEffects {
			f.Notes = append(f.Notes, l.Say(LabUnmarked))
		}
	}
	if j.Verdict == verdict.Broken {
		f.Cures = NewLabCures(l, tried.Rules)
	}
	if d := tried.Drawn; d != nil {
		f.Notes = append(f.Notes, LabDrawn(l, d))
	}
	if d := tried.First; d != nil {
		f.Notes = append(f.Notes, LabDiverged(l, tried.Diverged, d))
	}
	f.Notes = append(f.Notes, LabClock(l, in.Faults, tried.Broken)...)
	f.Notes = append(f.Notes, film.Unjudged(l, j)...)
	return f
}

// LabUnmarked says what two holders were read from where no marks name their lock.
const LabUnmarked phrase.Text = "(inferred from what the commands did to the key: no mark says who is inside this lock)"

// count is a number for people.
func count(n int) string { return Grouped(big.NewInt(int64(n))) }

// LabProgress is how far a search of a lab has come.
func LabProgress(l words.Language, orders, waiting, broken int) string {
	return l.Say("%s orders, %s to try, %s broken", count(orders), count(waiting), count(broken))
}

// LabRuleCounted is a rule, and in how many of so many orders it was broken; none of
// those that were tried where it was seen in one that was drawn.
func LabRuleCounted(l words.Language, kind check.Kind, rule string, orders, of int) string {
	if orders == 0 {
		return l.Say("%s: in an order drawn at random", film.RuleOf(l, kind, rule))
	}
	return l.Say("%s: in %s of %s orders", film.RuleOf(l, kind, rule), count(orders), count(of))
}

// LabEnding says how a search of a lab has ended. It says "all" only if each replay went
// as it was asked to, and "none" only if that is a verdict.
func LabEnding(l words.Language, ending string, orders, broken, diverged int, v verdict.Verdict) string {
	return l.Clause(lab.Ended(ending, count(orders), count(broken), diverged, v))
}

// LabClock says what moving Redis' clock alone does not show, where a rule was broken with
// a lease's end among the faults.
func LabClock(l words.Language, faults []string, broken int) []string {
	if broken == 0 || !slices.Contains(faults, lab.LeaseEnds) {
		return nil
	}
	return []string{l.Say("lease-ends moves the clock of Redis; the worker's own clock stood still, so a check of it did not see the pause. With both clocks: -clock wall -faults pause.")}
}

// LabDrawn says what orders drawn at random came to.
func LabDrawn(l words.Language, d *lab.Drawn) string {
	percent := func(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }
	return l.Say("Of %d orders drawn at random (whoever can move is next, all alike), %d break a rule: of all drawn this way, %s to %s %% do (95 %% confidence).", d.Orders, d.Broken, percent(d.Low), percent(d.High))
}

// LabDiverged says that replays diverged, and where the first did.
func LabDiverged(l words.Language, replays int, d *lab.Divergence) string {
	return l.Say("%d replays diverged: the first at decision %d, which expected %s and got %s. Does the worker read a clock, or draw at random?", replays, d.At, d.Want.String(), d.Have)
}

// share is so much of all.
func share(some, all int) float64 { return float64(some) / float64(max(all, 1)) }
