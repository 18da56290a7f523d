package load_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/trace"
	"relock/web/site/wire"
	"relock/web/webtest"
)

// What BenchmarkFanOut does.
const (
	manyViewers  = 1000
	stuckViewers = 100
	fanOutPairs  = 3 // times that Relock and the bare broadcast take turns, in BenchmarkFollowers as well
)

// fanOutText is a run of some 50 events a second, one by one as far as the
// lock allows, for six seconds; before it begins there is time to join.
const fanOutText = `title: A class watches
lock: {protocol: mutex, lease: 30s, watchdog: off, retry: {times: 1000, interval: 75ms, wait: poll}}
threads:
  - {name: A, start: 4000ms}
  - {name: B, start: 4027ms}
  - {name: C, start: 4053ms}
defaults: {depth: 1, work: 630ms, repeat: 3}
`

// BenchmarkFanOut has many viewers watch one run, and in turns with it a bare
// broadcast of the same frames at the same instants: a gorilla PreparedMessage
// in a loop over connections. Viewers are another process. Their p99 is from
// the event, or the broadcast, to the frame at the viewer.
func BenchmarkFanOut(b *testing.B) {
	for range b.N {
		var relock, bare, stuck []slice
		for range fanOutPairs {
			one, frames := relockSlice(b, 0)
			relock = append(relock, one)
			bare = append(bare, bareSlice(b, frames))
			one, _ = relockSlice(b, stuckViewers)
			stuck = append(stuck, one)
		}
		lost, told := 0, 0
		for _, s := range slices.Concat(relock, stuck) {
			lost += s.lost
			told += s.told
		}
		cpu, p99 := func(s slice) float64 { return s.cpu }, func(s slice) float64 { return s.p99 }
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(medianOf(relock, func(s slice) float64 { return s.events }), "events/s")
		b.ReportMetric(medianOf(relock, func(s slice) float64 { return s.frames }), "frames/s")
		b.ReportMetric(medianOf(relock, func(s slice) float64 { return s.bytes }), "B/frame")
		b.ReportMetric(medianOf(relock, func(s slice) float64 { return s.p50 }), "p50-ms")
		b.ReportMetric(medianOf(relock, p99), "p99-ms")
		b.ReportMetric(medianOf(bare, func(s slice) float64 { return s.p50 }), "bare-p50-ms")
		b.ReportMetric(medianOf(bare, p99), "bare-p99-ms")
		b.ReportMetric(medianOf(relock, cpu), "µs/frame")
		b.ReportMetric(medianOf(bare, cpu), "bare-µs/frame")
		b.ReportMetric(medianOf(relock, cpu)/medianOf(bare, cpu), "CPU-ratio")
		b.ReportMetric(medianOf(relock, func(s slice) float64 { return s.memory }), "KB/viewer")
		b.ReportMetric(medianOf(bare, func(s slice) float64 { return s.memory }), "bare-KB/viewer")
		b.ReportMetric(float64(lost), "lost")
		b.ReportMetric(medianOf(stuck, p99), "p99-ms-beside-stuck")
		b.ReportMetric(medianOf(stuck, p99)/medianOf(relock, p99), "stuck-p99-ratio")
		b.ReportMetric(float64(told)/fanOutPairs, "told-4008")
	}
}

// slice is one turn of Relock or of the bare broadcast.
type slice struct {
	events, frames float64 // a second
	bytes          float64 // a frame, compressed
	p50, p99       float64 // ms
	cpu            float64 // of the server, µs a frame
	memory         float64 // KB a viewer
	lost           int     // frames that some viewer did not get
	told           int     // stuck viewers that were closed with 4008
}

// medianOf is the middle of the values that the slices have, the greater one of two.
func medianOf(list []slice, of func(slice) float64) float64 {
	var values []float64
	for _, s := range list {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// pace is a message and when it was first seen, since the first one.
type pace struct {
	data  []byte
	after time.Duration
}

// relockSlice has manyViewers watch a run, and beside them some who do not
// read until they have been dropped.
func relockSlice(b *testing.B, stuck int) (slice, []pace) {
	b.Helper()
	s := webtest.Open(b, nil)
	narrow := narrowListener(b, s.Web)
	m := measure(b)
	began := time.Now()
	path := s.Run(b, url.Values{"base": {fanOutText}, "yaml": {fanOutText}, "store": {"wall"}, "slow": {"1"}, "action": {"run"}})
	socket := path + "/socket?since=0"
	many := send(b, audience{Address: s.Listener.Addr().String(), Path: socket, Viewers: manyViewers})
	var few *process
	if stuck > 0 {
		few = send(b, audience{Address: narrow, Path: socket, Viewers: stuck, Buffer: stuckBuffer, Hold: true})
	}
	m.joined()
	if time.Since(began) > 4*time.Second {
		b.Fatalf("the viewers took %v to join; the run had begun", time.Since(began))
	}
	if stuck > 0 {
		for s.Viewers(b) > manyViewers {
			time.Sleep(50 * time.Millisecond) // the benchmark's run goes on by the wall's clock
		}
		few.release()
	}
	got := many.seen(b, m.closed)
	result := slice{}
	if stuck > 0 {
		for _, v := range few.seen(b, func() {}).Viewers {
			if v.Code == wire.CloseSlow {
				result.told++
			}
		}
	}
	_, body := s.Do(b, http.MethodGet, path+"/trace", nil)
	_, events, err := trace.Read(b.Context(), strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	list := got.inflate(b)
	m.fill(&result, got)
	result.lost = got.lost(b, list, len(events))
	first, end := events[0].At.Duration(), events[len(events)-1].At.Duration()
	for _, e := range events { // the run's beginning comes long before the rest
		if e.At.Duration() > 3*time.Second {
			first = e.At.Duration()
			break
		}
	}
	result.events = float64(len(events)) / (end - first).Seconds()
	last := make([]int, len(list)) // the events that each message reaches to
	for i := range list {
		var f webtest.Frame
		if json.Unmarshal(list[i], &f) == nil {
			last[i] = f.Seq
		}
	}
	var late []time.Duration
	for _, v := range got.Viewers {
		next := 0
		for i, id := range v.Messages {
			for ; next < len(events) && events[next].Seq <= last[id]; next++ {
				late = append(late, time.Unix(0, v.At[i]).Sub(began.Add(events[next].At.Duration())))
			}
		}
	}
	result.p50, result.p99 = percentiles(late)
	paces := make([]pace, len(list))
	for i := range list {
		paces[i].data = list[i]
		paces[i].after = time.Hour
	}
	for _, v := range got.Viewers {
		for i, id := range v.Messages {
			paces[id].after = min(paces[id].after, time.Unix(0, v.At[i]).Sub(began))
		}
	}
	slices.SortFunc(paces, func(x, y pace) int { return cmp.Compare(x.after, y.after) })
	for i := len(paces) - 1; i >= 0; i-- {
		paces[i].after -= paces[0].after
	}
	return result, paces
}

// bareSlice sends the same messages at the same instants.
func bareSlice(b *testing.B, frames []pace) slice {
	b.Helper()
	joined := make(chan *websocket.Conn, manyViewers)
	up := websocket.Upgrader{EnableCompression: true, WriteBufferPool: &sync.Pool{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		joined <- c
		go func() {
			for {
				if _, _, err := c.NextReader(); err != nil {
					_ = c.Close()
					return
				}
			}
		}()
	}))
	b.Cleanup(s.Close)
	m := measure(b)
	many := send(b, audience{Address: s.Listener.Addr().String(), Path: "/", Viewers: manyViewers})
	m.joined()
	conns := make([]*websocket.Conn, manyViewers)
	for i := range conns {
		conns[i] = <-joined
	}
	began := time.Now().Add(100 * time.Millisecond)
	sent := make([]time.Time, len(frames))
	for i, f := range frames {
		time.Sleep(time.Until(began.Add(f.after)))
		sent[i] = time.Now()
		message, err := websocket.NewPreparedMessage(websocket.TextMessage, f.data)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range conns {
			if err := c.WritePreparedMessage(message); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, c := range conns {
		_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(wire.CloseOver, ""), time.Now().Add(time.Second))
	}
	got := many.seen(b, m.closed)
	result := slice{}
	m.fill(&result, got)
	var late []time.Duration
	for _, v := range got.Viewers {
		if len(v.Messages) != len(frames) {
			b.Fatalf("bare: a viewer got %d of %d frames: %s", len(v.Messages), len(frames), v.Problem)
		}
		for i, at := range v.At {
			late = append(late, time.Unix(0, at).Sub(sent[i]))
		}
	}
	result.p50, result.p99 = percentiles(late)
	return result
}

// process is an audience that watches.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// send starts an audience and waits until it has joined.
func send(b *testing.B, a audience) *process {
	b.Helper()
	job, err := json.Marshal(a)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), watchVariable+"="+string(job))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p := &process{cmd, in, bufio.NewReader(out)}
	p.expect(b, "joined\n")
	return p
}

func (p *process) expect(b *testing.B, want string) {
	b.Helper()
	if line, err := p.out.ReadString('\n'); err != nil || line != want {
		b.Fatalf("the audience says %q, %v; want %q", line, err, want)
	}
}

// release lets those read who have not until now.
func (p *process) release() { _ = p.in.Close() }

// seen waits until all were closed, calls closed, and returns what they saw.
func (p *process) seen(b *testing.B, closed func()) seen {
	b.Helper()
	p.expect(b, "closed\n")
	closed()
	var s seen
	if err := gob.NewDecoder(p.out).Decode(&s); err != nil {
		b.Fatal(err)
	}
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return s
}

// inflate returns the texts of the messages.
func (s seen) inflate(b testing.TB) [][]byte {
	b.Helper()
	list := make([][]byte, len(s.Messages))
	for i, m := range s.Messages {
		list[i] = m.Data
		if !m.Deflated {
			continue
		}
		text, err := io.ReadAll(flate.NewReader(io.MultiReader(bytes.NewReader(m.Data), strings.NewReader("\x00\x00\xff\xff\x01\x00\x00\xff\xff"))))
		if err != nil {
			b.Fatal(err)
		}
		list[i] = text
	}
	return list
}

// lost is how many frames are missing at viewers. The longest sequence must
// reach from the first event to the end of the run, and every other one must
// be the same.
func (s seen) lost(b *testing.B, list [][]byte, events int) int {
	b.Helper()
	longest := slices.MaxFunc(s.Viewers, func(x, y viewing) int { return cmp.Compare(len(x.Messages), len(y.Messages)) })
	seq, ended, steps := 0, false, map[int]bool{}
	for _, id := range longest.Messages {
		var f webtest.Frame
		if err := json.Unmarshal(list[id], &f); err != nil {
			b.Fatal(err)
		}
		if f.Seq < seq && f.Lanes == "" {
			b.Fatalf("a frame up to event %d came after one up to %d", f.Seq, seq)
		}
		seq, ended = max(seq, f.Seq), ended || f.Ended
		for _, r := range f.Rows {
			steps[r.Step] = true
		}
	}
	for step := range len(steps) {
		if !steps[step+1] {
			b.Fatalf("no frame has the row of step %d", step+1)
		}
	}
	if seq != events || !ended {
		b.Fatalf("the frames end with event %d of %d, ended: %v", seq, events, ended)
	}
	lost := 0
	for _, v := range s.Viewers {
		if !slices.Equal(v.Messages, longest.Messages) || v.Code != wire.CloseOver {
			lost += max(1, len(longest.Messages)-len(v.Messages))
			b.Logf("a viewer got %d of %d frames, and was closed with %d %s", len(v.Messages), len(longest.Messages), v.Code, v.Problem)
		}
	}
	return lost
}

// percentiles are the 50th and the 99th, in ms.
func percentiles(list []time.Duration) (p50, p99 float64) {
	slices.Sort(list)
	at := func(share float64) float64 {
		return float64(list[int(share*float64(len(list)-1))]) / float64(time.Millisecond)
	}
	return at(.5), at(.99)
}

// meter measures this process while an audience watches.
type meter struct {
	b                  *testing.B
	empty, most        float64 // resident memory, KB
	began, ended       time.Time
	cpuBefore, cpuThen time.Duration
	stop               chan struct{}
	stopped            chan struct{}
}

// measure notes how much memory there is without viewers.
func measure(b *testing.B) *meter {
	b.Helper()
	debug.FreeOSMemory()
	return &meter{b: b, empty: resident(b), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// joined begins to measure: all viewers are there.
func (m *meter) joined() {
	m.began, m.cpuBefore = time.Now(), webtest.CPU(m.b)
	go func() {
		defer close(m.stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			m.most = max(m.most, resident(m.b))
			select {
			case <-m.stop:
				return
			case <-tick.C:
			}
		}
	}()
}

// closed ends it: all viewers have left.
func (m *meter) closed() {
	m.ended, m.cpuThen = time.Now(), webtest.CPU(m.b)
	close(m.stop)
	<-m.stopped
}

// fill sets what was measured for each frame and viewer.
func (m *meter) fill(s *slice, got seen) {
	frames, bytes, first, last := 0, 0, int64(0), int64(0)
	for _, v := range got.Viewers {
		frames += len(v.Messages)
		for _, id := range v.Messages {
			bytes += len(got.Messages[id].Data)
		}
		if n := len(v.At); n > 0 && (first == 0 || v.At[0] < first) {
			first = v.At[0]
		}
		if n := len(v.At); n > 0 {
			last = max(last, v.At[n-1])
		}
	}
	s.cpu = float64(m.cpuThen-m.cpuBefore) / float64(time.Microsecond) / float64(frames)
	s.bytes = float64(bytes) / float64(frames)
	s.frames = float64(frames) / float64(len(got.Viewers)) / (float64(last-first) / float64(time.Second))
	s.memory = (m.most - m.empty) / float64(len(got.Viewers))
}

// resident is the memory of this process, in KB.
func resident(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		b.Fatal(fmt.Errorf("statm: %w", err))
	}
	return pages * float64(os.Getpagesize()) / 1024
}
