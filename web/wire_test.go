package web_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"relock/web/runs"
	"relock/web/runs/pack/packtest"
	"relock/web/site/wire"
	"relock/web/webtest"
)

// received reads a socket until it is closed: its frames, and of its packed
// ones the texts.
func received(t testing.TB, conn *websocket.Conn, frame func(texts ...string)) (code int) {
	t.Helper()
	var packed *packtest.Reader
	for {
		kind, data, err := conn.ReadMessage()
		var closed *websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return closed.Code
		case err != nil:
			return 0
		case kind == websocket.TextMessage:
			frame(string(data))
			continue
		case packed == nil:
			packed = packtest.NewReader(runs.Columns)
		}
		texts, err := packed.Record(data)
		if err != nil {
			t.Error(err)
			return 0
		}
		if len(texts) > 0 {
			frame(texts...)
		}
	}
}

// A viewer that joins, or comes back, has every row as all others have it.
func TestPackedSocketsHaveTheRowsOfPlainOnes(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("store", "wall"))
	rows := func(since, until int, query string, into map[int]string) (seq int) {
		conn, _ := s.Wired(t, path+"/socket?since="+strconv.Itoa(since)+query)
		code := received(t, conn, func(texts ...string) {
			var f webtest.Frame
			var inner, outer []string
			if err := json.Unmarshal([]byte(texts[0]), &f); err != nil {
				t.Fatal(err)
			}
			if len(texts) > 1 {
				_, _ = json.Unmarshal([]byte(texts[2]), &inner), json.Unmarshal([]byte(texts[3]), &outer)
			}
			if f.Seq > 0 && f.Seq <= seq && !f.Ended {
				t.Errorf("events up to %d after those up to %d", f.Seq, seq)
			}
			seq = max(seq, f.Seq)
			for i, r := range f.Rows {
				if len(texts) > 1 {
					r.HTML = strings.ReplaceAll(inner[i]+outer[i], "\x7f", strconv.Itoa(r.Step))
				}
				into[r.Step] = r.HTML
			}
			if seq >= until {
				_ = conn.Close()
			}
		})
		if code != 0 && code != wire.CloseOver {
			t.Errorf("closed with %d", code)
		}
		return seq
	}
	whole, parts := map[int]string{}, map[int]string{}
	for seq, before := 0, -1; seq > before; {
		before, seq = seq, rows(seq, seq+10, "&pack=1", parts)
	}
	rows(0, math.MaxInt, "", whole)
	if diff := cmp.Diff(whole, parts); diff != "" || len(whole) < 10 {
		t.Errorf("%d rows; packed they are\n%s", len(whole), diff)
	}
}

// BenchmarkViewerOfALiveRun is what a viewer gets over the wire of a run with
// some sixty events a second, and one with as many frames as there can be.
func BenchmarkViewerOfALiveRun(b *testing.B) {
	for _, run := range []struct{ name, yaml string }{
		{"60-events", "lock: {lease: 2s, watchdog: 500ms, retry: {times: 1000, interval: 700ms}}\nthreads: [{name: A}, {name: B}, {name: C}, {name: D}]\ndefaults: {depth: 2, repeat: 100, work: 200ms-300ms}\n"},
		{"30-frames", "lock: {protocol: mutex, lease: 2s, retry: {times: 1000, interval: 150ms}}\nthreads: [{name: A}, {name: B}, {name: C}, {name: D}, {name: E}]\ndefaults: {repeat: 100, work: 80ms-120ms}\n"},
		{"all-it-can", "lock: {lease: 2s, watchdog: 500ms, retry: {times: 1000, interval: 130ms}}\nthreads: [{name: A}, {name: B}, {name: C}, {name: D}]\ndefaults: {depth: 2, repeat: 100, work: 60ms-100ms}\n"},
	} {
		for _, how := range []string{"plain", "packed"} {
			b.Run(run.name+"/"+how, func(b *testing.B) {
				s := webtest.Open(b, nil)
				path := s.Run(b, url.Values{"base": {run.yaml}, "yaml": {run.yaml}, "store": {"wall"}, "slow": {"1"}, "action": {"run"}})
				query := "/socket?since=0"
				if how == "packed" {
					query += "&pack=1"
				}
				conn, read := s.Wired(b, path+query)
				start, from := time.Now(), int64(0)
				frames, seqs, raw := 0, []int{}, 0
				const warm, long = time.Second, 8 * time.Second // until the picture has its length; and measured
				time.AfterFunc(warm+long, func() { _ = conn.Close() })
				received(b, conn, func(texts ...string) {
					var f struct {
						Seq   int
						Lanes string
					}
					if err := json.Unmarshal([]byte(texts[0]), &f); err != nil || time.Since(start) < warm {
						from = read.Load()
						return
					}
					if f.Seq > 0 {
						frames, seqs = frames+1, append(seqs, f.Seq)
					}
					for _, text := range texts {
						raw += len(text)
					}
				})
				sec := long.Seconds()
				b.ReportMetric(float64(read.Load()-from)/sec/1000, "KB/s")
				b.ReportMetric(float64(read.Load()-from)/float64(frames), "B/frame")
				b.ReportMetric(float64(frames)/sec, "frames/s")
				b.ReportMetric(float64(slices.Max(seqs)-slices.Min(seqs))/sec, "events/s")
				b.ReportMetric(float64(raw)/float64(frames), "raw-B/frame")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
