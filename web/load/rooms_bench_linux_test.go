package load_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/web"
	"relock/web/runs"
	"relock/web/webtest"
)

// The tasks of the benchmarks of rooms.
const (
	followedFrames = 500 // in ten seconds
	followedEvery  = 20 * time.Millisecond
	playersInTurn  = 30
	manyRooms      = 200
	membersOfRoom  = 20
)

// BenchmarkFollowers has many follow a host who moves fifty times a second, and
// in turns with it a bare broadcast of the same frames at the same instants.
// Followers are another process. Their p99 is from when the host has sent the
// command, or the broadcast has begun, to the frame at the follower: of ours
// the journal and the referee are part.
func BenchmarkFollowers(b *testing.B) {
	for range b.N {
		var ours, bare []slice
		for range fanOutPairs {
			one, frames := followedSlice(b, 0)
			ours = append(ours, one)
			bare = append(bare, bareSlice(b, frames))
		}
		stuck, _ := followedSlice(b, stuckViewers)
		lost := stuck.lost
		for _, s := range ours {
			lost += s.lost
		}
		cpu, p99 := func(s slice) float64 { return s.cpu }, func(s slice) float64 { return s.p99 }
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(medianOf(ours, func(s slice) float64 { return s.bytes }), "B/frame")
		b.ReportMetric(medianOf(ours, func(s slice) float64 { return s.p50 }), "p50-ms")
		b.ReportMetric(medianOf(ours, p99), "p99-ms")
		b.ReportMetric(medianOf(bare, func(s slice) float64 { return s.p50 }), "bare-p50-ms")
		b.ReportMetric(medianOf(bare, p99), "bare-p99-ms")
		b.ReportMetric(medianOf(ours, p99)/medianOf(bare, p99), "p99-ratio")
		b.ReportMetric(medianOf(ours, cpu)/medianOf(bare, cpu), "CPU-ratio")
		b.ReportMetric(medianOf(ours, func(s slice) float64 { return s.memory }), "KB/follower")
		b.ReportMetric(medianOf(bare, func(s slice) float64 { return s.memory }), "bare-KB/follower")
		b.ReportMetric(float64(lost), "lost")
		b.ReportMetric(stuck.p99, "p99-ms-beside-stuck")
	}
}

// newestSeq returns the seq of a frame of the room, 0 for any other.
func newestSeq(text []byte) int {
	var f struct {
		Seq  int
		Room json.RawMessage
	}
	if json.Unmarshal(text, &f) != nil || f.Room == nil {
		return 0
	}
	return f.Seq
}

// manyMembers opens a room for a thousand from one address, and moves enough to
// go to and fro.
func manyMembers(b *testing.B) (s webtest.Site, code string, host *follower) {
	b.Helper()
	s = webtest.Open(b, func(c *web.Config) { c.Limits = runs.DefaultLimits() })
	code, secret := openRoom(b, s)
	host = follow(b, s, code, `{"id":1,"do":"join","part":"host","secret":"`+secret+`"}`)
	for range 8 {
		host.do(b, `"do":"step"`)
	}
	return s, code, host
}

// followedSlice has manyViewers follow a host; beside them are some who do not
// read until the end.
func followedSlice(b *testing.B, stuck int) (slice, []pace) {
	b.Helper()
	s, code, host := manyMembers(b)
	narrow := narrowListener(b, s.Web)
	join := `{"id":1,"do":"join","part":"audience"}`
	m := measure(b)
	path := "/room/" + code + "/socket?lang=en"
	many := send(b, audience{Address: s.Listener.Addr().String(), Path: path, Viewers: manyViewers - 1 - stuck, Say: join})
	var few *process
	if stuck > 0 {
		few = send(b, audience{Address: narrow, Path: path, Viewers: stuck, Buffer: stuckBuffer, Hold: true, Say: join})
	}
	first := 0
	host.until(b, func(room roomSeen) bool {
		first = host.seq() + 1
		return room.Members == manyViewers-1 // all but the host
	})
	m.joined()
	began := time.Now()
	sent := make([]time.Time, followedFrames)
	for i := range sent {
		time.Sleep(time.Until(began.Add(time.Duration(i) * followedEvery))) // the pace is the benchmark
		sent[i] = time.Now()
		host.send(b, `"do":"go","branch":0,"at":`+strconv.Itoa(i%8))
	}
	host.until(b, func(roomSeen) bool { return host.seq() >= first+followedFrames-1 })
	time.Sleep(time.Second) // the last frame is on its way to all; the room's end would overtake it
	host.send(b, `"do":"end"`)
	if few != nil {
		few.release()
		few.seen(b, func() {})
	}
	got := many.seen(b, m.closed)
	list := got.inflate(b)
	result := slice{}
	m.fill(&result, got)
	last := make([]int, len(list))
	for i := range list {
		last[i] = newestSeq(list[i])
	}
	var late []time.Duration
	firstSeen := map[uint32]int64{}
	for _, v := range got.Viewers {
		next := 0
		for i, id := range v.Messages {
			for ; next < followedFrames && first+next <= last[id]; next++ {
				late = append(late, time.Unix(0, v.At[i]).Sub(sent[next]))
			}
			if last[id] >= first {
				if at, ok := firstSeen[id]; !ok || v.At[i] < at {
					firstSeen[id] = v.At[i]
				}
			}
		}
		result.lost += followedFrames - next
	}
	result.p50, result.p99 = percentiles(late)
	var paces []pace
	for id := range list {
		if at, ok := firstSeen[uint32(id)]; ok {
			paces = append(paces, pace{list[id], time.Unix(0, at).Sub(began)})
		}
	}
	return result, paces
}

// BenchmarkPlayersInTurn has a class of players step their threads, one after
// the other, and measures from the press to the stage's frame.
func BenchmarkPlayersInTurn(b *testing.B) {
	s := webtest.Open(b, nil)
	var late []time.Duration
	b.ResetTimer()
	for range b.N {
		code, secret := openRoom(b, s)
		host := follow(b, s, code, `{"id":1,"do":"join","part":"host","secret":"`+secret+`"}`)
		stage := follow(b, s, code, `{"id":1,"do":"join","part":"stage","rows":true}`)
		players := make([]*follower, playersInTurn)
		for i := range players {
			players[i] = follow(b, s, code, `{"id":1,"do":"join","part":"player"}`)
		}
		for range 4 {
			for _, p := range players {
				// The thread is handed on; from the start it can always move.
				host.do(b, `"do":"give","thread":"A"`)
				host.do(b, `"do":"go","branch":0,"at":0`)
				p.do(b, `"do":"claim","thread":"A"`)
				stage.until(b, func(room roomSeen) bool { return room.At == 0 && len(room.Threads["A"].By) == 1 })
				pressed := time.Now()
				p.send(b, `"do":"step","thread":"A"`)
				stage.until(b, func(room roomSeen) bool { return room.At == 1 })
				late = append(late, time.Since(pressed))
			}
		}
		host.send(b, `"do":"end"`)
	}
	p50, p99 := percentiles(late)
	b.ReportMetric(p50, "p50-ms")
	b.ReportMetric(p99, "p99-ms")
}

// BenchmarkManyRooms has two hundred rooms of twenty, whose hosts move once a
// second each, and measures from the move to every member's frame.
func BenchmarkManyRooms(b *testing.B) {
	for range b.N {
		s := webtest.Open(b, func(c *web.Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
		type one struct {
			host    *follower
			members []*follower
		}
		rooms := make([]one, manyRooms)
		var all sync.WaitGroup
		door := make(chan struct{}, 16)
		for i := range rooms {
			all.Go(func() {
				door <- struct{}{}
				defer func() { <-door }()
				code, secret := openRoomOf(b, s, i)
				rooms[i].host = follow(b, s, code, `{"id":1,"do":"join","part":"host","secret":"`+secret+`"}`)
				for range membersOfRoom - 1 {
					rooms[i].members = append(rooms[i].members, follow(b, s, code, `{"id":1,"do":"join","part":"audience"}`))
				}
				rooms[i].host.do(b, `"do":"step"`)
			})
		}
		all.Wait()
		var mu sync.Mutex
		var late []time.Duration
		began := time.Now()
		for i := range rooms {
			all.Go(func() {
				for round := range 10 {
					time.Sleep(time.Until(began.Add(time.Duration(round)*time.Second + time.Duration(i)*5*time.Millisecond))) // the pace is the benchmark
					sent := time.Now()
					rooms[i].host.send(b, `"do":"go","branch":0,"at":`+strconv.Itoa(round%2))
					for _, m := range rooms[i].members {
						m.until(b, func(room roomSeen) bool { return room.At == round%2 && m.seq() > 21+round })
						mu.Lock()
						late = append(late, m.cameAt().Sub(sent))
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		p50, p99 := percentiles(late)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(p50, "p50-ms")
		b.ReportMetric(p99, "p99-ms")
	}
}

// roomSeen is what a benchmark looks at in a room.
type roomSeen struct {
	At, Members int
	Threads     map[string]struct{ By []string }
}

// follower is a member of a room in a benchmark. What it is told is looked at
// when somebody wants to know: it shares the processor with the server.
type follower struct {
	conn *websocket.Conn
	id   int

	mu   sync.Mutex
	news sync.Cond
	text []byte // of the newest frame of the room, empty once it was looked at
	room roomSeen
	at   int // seq
	came time.Time
	done int // the greatest id that was answered
	why  string
	gone bool
}

func openRoom(b *testing.B, s webtest.Site) (code, secret string) {
	b.Helper()
	return openRoomOf(b, s, 0)
}

// openRoomOf opens a room from one of many addresses.
func openRoomOf(b *testing.B, s webtest.Site, from int) (code, secret string) {
	b.Helper()
	_, body := s.Do(b, "POST", "/rooms", url.Values{"example": {"lease-expiry"}}, "Accept", "application/json", "X-Forwarded-For", "10.0.0."+strconv.Itoa(from))
	var made struct{ Code, Secret string }
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		b.Fatal(body)
	}
	return made.Code, made.Secret
}

func follow(b *testing.B, s webtest.Site, code, join string) *follower {
	b.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(b.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/room/"+code+"/socket?lang=en", nil)
	if err != nil {
		b.Fatal(err)
	}
	f := &follower{conn: conn, id: 1}
	f.news.L = &f.mu
	b.Cleanup(func() { _ = conn.Close() })
	go f.read()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(join)); err != nil {
		b.Fatal(err)
	}
	f.wait(b, func() bool { return f.done == 1 })
	return f
}

func (f *follower) read() {
	var text bytes.Buffer
	for {
		_, message, err := f.conn.NextReader()
		if err == nil {
			text.Reset()
			_, err = text.ReadFrom(message)
		}
		now := time.Now()
		f.mu.Lock()
		if err == nil && bytes.HasPrefix(text.Bytes(), []byte(`{"v":1,"epoch":`)) {
			f.text, f.came = append(f.text[:0], text.Bytes()...), now
		} else if err == nil {
			err = f.answered(text.Bytes())
		}
		f.gone = err != nil
		f.news.Broadcast()
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// answered takes in an answer. The caller holds mu.
func (f *follower) answered(text []byte) error {
	var frame struct {
		Re      int
		Refused string
	}
	if err := json.Unmarshal(text, &frame); err != nil || frame.Re == 0 {
		return err
	}
	f.done, f.why = frame.Re, frame.Refused
	return nil
}

// look takes in the newest frame. The caller holds mu.
func (f *follower) look() {
	if len(f.text) == 0 {
		return
	}
	var frame struct {
		Seq  int
		Room roomSeen
	}
	f.gone = json.Unmarshal(f.text, &frame) != nil || f.gone
	f.text, f.at, f.room = f.text[:0], frame.Seq, frame.Room
}

// wait waits until something is so.
func (f *follower) wait(b *testing.B, so func() bool) {
	b.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !so() {
		if f.gone || f.why != "" {
			b.Fatalf("the connection is gone: %t; refused: %q", f.gone, f.why)
		}
		f.news.Wait()
	}
}

func (f *follower) until(b *testing.B, so func(roomSeen) bool) {
	b.Helper()
	f.wait(b, func() bool {
		f.look()
		return so(f.room)
	})
}

// seq must be called from within until.
func (f *follower) seq() int { return f.at }

func (f *follower) cameAt() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.came
}

func (f *follower) send(b *testing.B, command string) {
	b.Helper()
	f.id++
	if err := f.conn.WriteMessage(websocket.TextMessage, []byte(`{"id":`+strconv.Itoa(f.id)+`,`+command+`}`)); err != nil {
		b.Fatal(err)
	}
}

func (f *follower) do(b *testing.B, command string) {
	b.Helper()
	f.send(b, command)
	f.wait(b, func() bool { return f.done == f.id })
}
