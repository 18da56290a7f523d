package infer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/journal"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/store"
	"relock/engine/trace"
)

// small is a lock of a few commands, and what its author knows about it. In commands ME is the
// thread, NOW the instant in milliseconds of Unix, and LATER five seconds after it.
type small struct {
	name    string
	first   string // what is there before, commands with ; between them
	take    string
	in      func(replies []any) bool // what they answer to who is in
	work    string                   // of who is inside
	refused string                   // of who is not
	give    string                   // of who has left
	marks   map[string]string        // by thread: the words behind its marks
	threads int                      // 2 where it is 0
	tries   int                      // 1 where it is 0
	dies    bool                     // A ends inside, and gives nothing back
	inside  int                      // 1 where it is 0
	broken  []string                 // rules, each of which breaks in some order; of others none does
}

// answers returns what reports whether the nth command, from 0, was answered so.
func answers(n int, want ...any) func([]any) bool {
	return func(replies []any) bool { return slices.Contains(want, replies[n]) }
}

func atMost(n int, most int64) func([]any) bool {
	return func(replies []any) bool { k, is := replies[n].(int64); return is && k <= most }
}

func always([]any) bool { return true }

const (
	together = check.MutualExclusion
	deleted  = check.ForeignRelease
	over     = check.Replaced
	renewed  = check.ForeignRenewal
)

var smalls = []small{
	{name: "a string", take: "SET k ME NX PX 5000", in: answers(0, "OK"), give: "DEL k"},
	{name: "a string, one value for all", take: "SET k 1 NX PX 5000", in: answers(0, "OK"), give: "DEL k"},
	{name: "a string that whoever asks lets live on", take: "SETNX k ME; EXPIRE k 5", in: answers(0, int64(1)), give: "DEL k", broken: []string{renewed}},
	{name: "a dead one's string that whoever asks lets live on", take: "SETNX k ME; EXPIRE k 5", in: answers(0, int64(1)), give: "DEL k", dies: true, broken: []string{renewed}},
	{name: "a string that whoever is refused makes last for ever", take: "SET k ME NX PX 5000", in: answers(0, "OK"), refused: "PERSIST k", give: "DEL k", broken: []string{renewed}},
	{name: "a string that whoever is refused lets end earlier", take: "SET k ME NX PX 5000", in: answers(0, "OK"), refused: "PEXPIRE k 900", give: "DEL k"},
	{name: "a string that its owner renews", take: "SET k ME NX PX 5000", in: answers(0, "OK"), work: "PEXPIRE k 9000", give: "DEL k"},
	{name: "a string that all write", take: "SET k ME PX 5000", in: always, give: "DEL k", broken: []string{together, over, deleted}},
	{name: "a string that all write alike", take: "SET k 1 PX 5000", in: always, give: "DEL k", broken: []string{together, over, deleted}},
	{name: "a string that is swapped", take: "GETSET k ME", in: answers(0, nil), give: "DEL k", broken: []string{over}},
	{name: "a string that whoever is refused deletes", take: "SET k ME NX PX 5000", in: answers(0, "OK"), refused: "DEL k", give: "DEL k", threads: 3, broken: []string{together, deleted}},
	{name: "a count", take: "INCR k", in: answers(0, int64(1)), refused: "DECR k", give: "DECR k"},
	{name: "a count whose end all set", take: "INCR k; EXPIRE k 5", in: answers(0, int64(1)), refused: "DECR k", give: "DECR k"},
	{name: "a count that whoever is refused forgets", take: "INCR k", in: answers(0, int64(1)), refused: "DEL k", give: "DECR k", threads: 3, broken: []string{together}},
	{name: "free permits", first: "SET k 2", take: "DECR k", in: func(r []any) bool { n, is := r[0].(int64); return is && n >= 0 }, refused: "INCR k", give: "INCR k", threads: 3, inside: 2},
	{name: "a bit", take: "SETBIT k 7 1", in: answers(0, int64(0)), give: "SETBIT k 7 0"},
	{name: "a bit beside others whose end all set", take: "SETBIT k 7 1; EXPIRE k 5", in: answers(0, int64(0)), give: "SETBIT k 7 0"},
	{name: "a field", take: "HSETNX k job ME", in: answers(0, int64(1)), give: "HDEL k job"},
	{name: "a field beside a number", take: "HSETNX k job ME; HINCRBY k asked 1", in: answers(0, int64(1)), give: "HDEL k job"},
	{name: "a field whose key whoever asks lets live on", take: "HSETNX k job ME; EXPIRE k 5", in: answers(0, int64(1)), give: "HDEL k job", broken: []string{renewed}},
	{name: "a field that all write", take: "HSET k job ME", in: always, give: "HDEL k job", broken: []string{together, over, deleted}},
	{name: "a set", take: "SADD k ME; SCARD k", in: atMost(1, 1), refused: "SREM k ME", give: "SREM k ME"},
	{name: "a set of two", take: "SADD k ME; SCARD k", in: atMost(1, 2), refused: "SREM k ME", give: "SREM k ME", threads: 3, inside: 2},
	{name: "a set of two that lets in three", take: "SADD k ME; SCARD k", in: atMost(1, 3), refused: "SREM k ME", give: "SREM k ME", threads: 3, inside: 2, broken: []string{together}},
	{name: "a set that whoever is refused deletes", take: "SADD k ME; SCARD k", in: atMost(1, 1), refused: "DEL k", give: "SREM k ME", threads: 3, broken: []string{together, deleted}},
	{name: "a sorted set of deadlines", take: "ZREMRANGEBYSCORE k -inf NOW; ZADD k LATER ME; ZCARD k", in: atMost(2, 1), refused: "ZREM k ME", give: "ZREM k ME"},
	{name: "a sorted set that whoever asks lets live on", take: "ZADD k 1 ME; PEXPIRE k 5000; ZCARD k", in: atMost(2, 1), refused: "ZREM k ME", give: "ZREM k ME", broken: []string{renewed}},
	{name: "a sorted set in which the refused move another's deadline", take: "ZADD k LATER ME; ZCARD k", in: atMost(1, 1), refused: "ZREM k ME; ZADD k XX 9999999999999 A", give: "ZREM k ME", broken: []string{renewed}},
	{name: "a list of tokens", first: "RPUSH k t t", take: "LPOP k", in: answers(0, "t"), give: "RPUSH k t", threads: 3, tries: 2, inside: 2},
	{name: "a list of tokens that grows", first: "RPUSH k t", take: "LPOP k", in: answers(0, "t"), give: "RPUSH k t t", threads: 3, broken: []string{together}},
	{name: "a list of tokens that each one fills", take: "RPUSH k t; LPOP k", in: answers(1, "t"), give: "RPUSH k t", broken: []string{together}},
	{name: "a line", take: "RPUSH k ME; LINDEX k 0", in: nil, refused: "LREM k 0 ME", give: "LREM k 0 ME"},
	{name: "a line that the refused shift", take: "RPUSH k ME; LINDEX k 0", in: nil, refused: "LPOP k", give: "LREM k 0 ME", broken: []string{deleted}},
	{name: "a stream", take: "XADD k 1-1 who ME", in: answers(0, "1-1"), give: "DEL k"},
	{name: "a stream that whoever is refused deletes", take: "XADD k 1-1 who ME", in: answers(0, "1-1"), refused: "DEL k", give: "DEL k", threads: 3, broken: []string{together, deleted}},
	{name: "two keys", take: "MSETNX k ME l ME", in: answers(0, int64(1)), give: "DEL k l"},
	{name: "two keys, one of which lives on", take: "MSETNX k ME l ME; EXPIRE l 5", in: answers(0, int64(1)), give: "DEL k l", broken: []string{renewed}},
	{name: "two keys, one of which the refused delete", take: "MSETNX k ME l ME", in: answers(0, int64(1)), refused: "DEL l", give: "DEL k l", broken: []string{deleted}},
	{name: "each its own lock", take: "SET k:ME ME NX", in: answers(0, "OK"), give: "DEL k:ME", marks: map[string]string{"A": " a", "B": " b"}},
	{name: "each its own key of one lock", take: "SET k:ME ME NX", in: answers(0, "OK"), give: "DEL k:ME", marks: map[string]string{"A": " a", "B": " a"}, broken: []string{together}},
	{name: "readers", take: "INCR k", in: always, give: "DECR k", marks: map[string]string{"A": " read", "B": " read"}},
	{name: "a reader beside a writer", take: "INCR k", in: always, give: "DECR k", marks: map[string]string{"A": " stock read", "B": " stock"}, broken: []string{together}},
}

// The ways to send the same commands.
var ways = []string{"single commands", "a transaction", "a script"}

// play is one order of a small lock, as choices say; then as each is drawn. It returns the records,
// and between how many threads each choice was.
type play struct {
	of      small
	way     string
	redis   *store.Embedded
	records []infer.Record
	base    time.Time
	threads []*player
}

// player is a thread: the commands that it still sends, and what to do with the answers.
type player struct {
	name  string
	conn  *store.Conn
	next  [][]string // each sent alone, or all together
	then  func(replies []any)
	heard []any
	over  bool
}

func (p *play) commands(text, me string) [][]string {
	text = strings.NewReplacer("ME", me, "NOW", fmt.Sprint(p.base.UnixMilli()), "LATER", fmt.Sprint(p.base.UnixMilli()+5000)).Replace(text)
	var list [][]string
	for one := range strings.SplitSeq(text, ";") {
		if words := strings.Fields(one); len(words) > 0 {
			list = append(list, words)
		}
	}
	return list
}

func (p *play) wholes() map[string]infer.Whole {
	all := map[string]infer.Whole{}
	for _, name := range p.redis.Names() {
		k := p.redis.Key(name)
		all[name] = infer.WholeOf(k, infer.Listed(k.Type, name, func(args []string) []byte { return p.redis.NewConn().Do(args) }))
	}
	return all
}

// sends has a thread send commands, and go on with the answers.
func (p *play) sends(t *player, text string, then func([]any)) {
	if t.next, t.then, t.heard = p.commands(text, t.name), then, nil; len(t.next) == 0 {
		then(nil)
	}
}

// marks has a thread send a mark, and go on.
func (p *play) marks(t *player, mark string, then func()) {
	t.next, t.then, t.heard = [][]string{{"ECHO", mark + p.of.marks[t.name]}}, func([]any) { then() }, nil
}

func (p *play) begins(t *player, tries int) {
	if tries == 0 {
		p.ends(t)
		return
	}
	p.sends(t, p.of.take, func(replies []any) {
		in := p.of.in
		if in == nil { // the head of a line
			in = answers(1, t.name)
		}
		if !in(replies) {
			p.sends(t, p.of.refused, func([]any) { p.begins(t, tries-1) })
			return
		}
		p.marks(t, infer.MarkEnter, func() {
			if p.of.dies && t.name == "A" {
				p.ends(t)
				return
			}
			p.sends(t, p.of.work, func([]any) {
				p.marks(t, infer.MarkLeave, func() {
					p.sends(t, p.of.give, func([]any) { p.ends(t) })
				})
			})
		})
	})
}

func (p *play) ends(t *player) {
	t.next, t.over = nil, true
	p.records = append(p.records, infer.Record{Thread: t.name, Ended: trace.Done, Before: p.redis.Key("k"), After: p.redis.Key("k")})
}

// step lets a thread send what is next.
func (p *play) step(t *player) {
	one := t.next[:1]
	mark := infer.Mark(one[0])
	if mark == "" && p.way != ways[0] {
		one = t.next
	}
	t.next = t.next[len(one):]
	r := infer.Record{Thread: t.name, Mark: mark, Args: one[0], Before: p.redis.Key("k")}
	before := p.wholes()
	p.redis.Ran()
	switch {
	case mark != "":
		r.Reply = one[0][1]
		t.heard = append(t.heard, r.Reply)
	case p.way == ways[1]:
		t.conn.Do([]string{"MULTI"})
		for _, args := range one {
			t.conn.Do(args)
		}
		r.Args, r.Tx = []string{"EXEC"}, one
		r.Reply, r.Err = resp.Value(t.conn.Do(r.Args))
		t.heard = append(t.heard, r.Reply.([]any)...)
	case p.way == ways[2]:
		text := "local all = {}\n"
		for n, args := range one {
			text += fmt.Sprintf("all[%d] = redis.pcall('%s')\n", n+1, strings.Join(args, "', '"))
		}
		r.Script = text + fmt.Sprintf("for i = 1, %d do if type(all[i]) == 'table' then all[i] = all[i].ok or false end end\nreturn all", len(one))
		r.Args = []string{"EVAL", r.Script, "1", "k"}
		r.Reply, r.Err = resp.Value(t.conn.Do(r.Args))
		t.heard = append(t.heard, r.Reply.([]any)...)
	default:
		r.Reply, r.Err = resp.Value(t.conn.Do(one[0]))
		t.heard = append(t.heard, r.Reply)
	}
	for _, ran := range p.redis.Ran() {
		v, failed := resp.Value(ran.Raw)
		r.Ran = append(r.Ran, journal.Entry{Args: ran.Args, Reply: v, Err: failed})
	}
	r.After, r.Keys = p.redis.Key("k"), infer.Changed(before, p.wholes())
	p.records = append(p.records, r)
	if len(t.next) == 0 {
		t.then(t.heard)
	}
}

// order plays one order: at each place the choice that choose makes among so many threads.
func (p *play) order(choose func(threads int) int) infer.Fold {
	p.redis.NewConn().Do([]string{"FLUSHALL"})
	p.records, p.threads = nil, nil
	for _, args := range p.commands(p.of.first, "") {
		p.redis.NewConn().Do(args)
	}
	var names []string
	for n := range max(p.of.threads, 2) {
		t := &player{name: string(rune('A' + n)), conn: p.redis.NewConn()}
		p.threads, names = append(p.threads, t), append(names, t.name)
		p.begins(t, max(p.of.tries, 1))
	}
	for {
		can := slices.DeleteFunc(slices.Clone(p.threads), func(t *player) bool { return t.over })
		if len(can) == 0 {
			break
		}
		p.step(can[choose(len(can))])
	}
	kind, _ := check.Inside(max(p.of.inside, 1))
	r := infer.Fresh(1, names, infer.Lock{Key: "k", Kind: kind}, "", true, infer.Roles{})
	r.SetStart(p.base)
	for _, one := range p.records {
		r.See(one)
	}
	return r
}

// orders plays all orders of a small lock, or so many that are drawn evenly, and returns the rules
// that break, apart from what is left at the end.
func (p *play) orders(most int) []string {
	found := map[string]bool{}
	take := func(r infer.Fold) {
		for _, rule := range r.Rules() {
			found[rule] = true
		}
	}
	var way, of []int
	for n := 0; ; n++ {
		if n == most {
			draw := rand.New(rand.NewPCG(1, 2))
			for range most {
				take(p.order(draw.IntN))
			}
			break
		}
		at := 0
		take(p.order(func(threads int) int {
			if at == len(way) {
				way, of = append(way, 0), append(of, threads)
			}
			of[at] = threads
			at++
			return way[at-1]
		}))
		way, of = way[:at], of[:at]
		for len(way) > 0 && way[len(way)-1] == of[len(of)-1]-1 {
			way, of = way[:len(way)-1], of[:len(of)-1]
		}
		if len(way) == 0 {
			break
		}
		way[len(way)-1]++
	}
	var list []string
	for _, rule := range check.Names() {
		if found[rule] {
			list = append(list, rule)
		}
	}
	return list
}

// The same commands have the same verdict, however they are sent, and it is the one that is right.
func TestHoweverTheCommandsAreSent(t *testing.T) {
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	redis := store.NewEmbedded(base)
	defer func() { _ = redis.Close() }()
	most := 1000
	if testing.Short() {
		most = 50
	}
	for _, of := range smalls {
		for _, way := range ways {
			p := &play{of: of, way: way, redis: redis, base: base}
			have := p.orders(most)
			want := slices.Clone(of.broken)
			slices.SortFunc(want, func(a, b string) int { return slices.Index(check.Names(), a) - slices.Index(check.Names(), b) })
			if !slices.Equal(have, want) {
				t.Errorf("%s, as %s: %v, want %v", of.name, way, have, want)
			}
		}
	}
}
