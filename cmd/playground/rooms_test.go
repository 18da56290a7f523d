package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/engine/store/storetest"
)

// wells are the servers that a balancer sends visitors to.
type wells struct {
	mu   sync.Mutex
	list []process
	next int
}

func (w *wells) one() process {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return w.list[w.next%len(w.list)]
}

func (w *wells) set(list ...process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = list
}

// attendant is somebody's page in a room: it comes back by itself, and gives the
// command again that was not answered.
type attendant struct {
	t            *testing.T
	wells        *wells
	code, secret string
	part         string

	conn          *websocket.Conn
	member, token string
	id            int64
}

// answer is what a page needs of a frame.
type answer struct {
	Re      int64
	Refused string
	Member  string
	Token   string
	Last    int64
}

// told gives a command once. It fails where the connection does, or is silent.
func (p *attendant) told(command map[string]any) (answer, error) {
	if err := p.conn.WriteJSON(command); err != nil {
		return answer{}, err
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	for {
		var a answer
		if err := p.conn.ReadJSON(&a); err != nil {
			return a, err
		}
		if a.Re == command["id"] {
			return a, nil
		}
	}
}

func (p *attendant) join() error {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	at := "ws" + strings.TrimPrefix(p.wells.one().at, "http") + "room/" + p.code + "/socket"
	dialer := websocket.Dialer{HandshakeTimeout: 2 * time.Second}
	conn, res, err := dialer.DialContext(p.t.Context(), at, nil)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	p.conn = conn
	a, err := p.told(map[string]any{"id": int64(1), "do": "join", "part": p.part, "secret": p.secret, "member": p.member, "token": p.token})
	if err == nil && a.Refused == "" {
		p.member, p.token, p.id = a.Member, a.Token, max(p.id, a.Last, 1)
	}
	return err
}

// do gives a command until it is answered, and returns its id.
func (p *attendant) do(command map[string]any) int64 {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	joined := p.conn != nil
	id := int64(0)
	for p.t.Context().Err() == nil {
		if !joined {
			if joined = p.join() == nil; !joined {
				<-again.C
				continue
			}
		}
		if id == 0 {
			p.id++
			id = p.id
		}
		command["id"] = id
		a, err := p.told(command)
		switch {
		case err != nil, strings.Contains(a.Refused, "cannot be reached"):
			joined = false
		case a.Refused != "":
			p.t.Errorf("%v: %s", command, a.Refused)
			return id
		default:
			return id
		}
	}
	return id
}

// A class votes through three servers on one Redis, of which one is killed, one
// stands still, and one more is killed: every vote that was answered is in the
// log once.
func TestARoomOnThreeServers(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	redis := storetest.URL(t)
	all := []process{serving(t, "-redis", redis), serving(t, "-redis", redis), serving(t, "-redis", redis)}
	w := &wells{list: all}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, all[0].at+"rooms", strings.NewReader("example=lease-expiry"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Code, Secret string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || made.Code == "" {
		t.Fatal(res.Status, err)
	}
	_ = res.Body.Close()

	host := &attendant{t: t, wells: w, code: made.Code, secret: made.Secret, part: "host"}
	host.do(map[string]any{"do": "step"})
	host.do(map[string]any{"do": "ask", "kind": "predict"})
	type one struct {
		member string
		id     int64
	}
	var mu sync.Mutex
	answered := map[one]bool{}
	var votes atomic.Int64
	stop := make(chan struct{})
	var class sync.WaitGroup
	for range 6 {
		class.Go(func() {
			p := &attendant{t: t, wells: w, code: made.Code, part: "audience"}
			for {
				select {
				case <-stop:
					_ = p.conn.Close()
					return
				default:
				}
				id := p.do(map[string]any{"do": "vote", "option": votes.Add(1) % 2})
				mu.Lock()
				answered[one{p.member, id}] = true
				mu.Unlock()
			}
		})
	}
	goesOn := func(after string) {
		t.Helper()
		began := time.Now()
		mu.Lock()
		n := len(answered)
		mu.Unlock()
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for limit := time.After(time.Minute); ; {
			mu.Lock()
			more := len(answered) - n
			mu.Unlock()
			if more >= 50 {
				t.Logf("50 more votes after %s: %d ms", after, time.Since(began).Milliseconds())
				return
			}
			select {
			case <-look.C:
			case <-limit:
				t.Fatalf("nobody votes any more after %s", after)
			}
		}
	}
	goesOn("the beginning")
	w.set(all[1], all[2])
	if err := all[0].Process.Kill(); err != nil { // it made the room, and leads it
		t.Fatal(err)
	}
	goesOn("kill -9")
	w.set(all[2])
	if err := all[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goesOn("SIGSTOP")
	w.set(all[1], all[2])
	if err := all[1].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	goesOn("SIGCONT")
	w.set(all[1])
	if err := all[2].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	goesOn("kill -9 of the third")
	close(stop)
	class.Wait()

	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, all[1].at+"room/"+made.Code+"/log", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+made.Secret)
	res, err = http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	logged := map[one]int{}
	var seqs []int64
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e struct {
			Seq, ID int64
			Member  string
			Vote    *struct{}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
		if e.Vote != nil {
			logged[one{e.Member, e.ID}]++
		}
	}
	if !slices.IsSorted(seqs) || int64(len(seqs)) != seqs[len(seqs)-1]-seqs[0]+1 {
		t.Error("the log has a gap")
	}
	for a := range answered {
		if logged[a] != 1 {
			t.Errorf("vote %d of %s is in the log %d times", a.id, a.member, logged[a])
		}
	}
	t.Logf("%d votes were answered", len(answered))
}
