package web_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/web/webtest"
)

var update = flag.Bool("update", false, "write the golden files again")

// drawn is HTML, or a trace, in a frame: other tests read it.
var drawn = regexp.MustCompile(`"(html|lanes|head|stage|rail|setup|lua|compared|trace|verdict)":"(?:\\.|[^"\\])+"`)

// TestConversation holds what is said on both sockets, byte for byte but for
// what is drawn: other programs may step through scenarios, too.
func TestConversation(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	var said strings.Builder
	whole := sha256.New()
	s := webtest.Open(t, nil)
	for _, language := range []string{"en", "zh"} {
		fmt.Fprintf(&said, "# /play/socket?lang=%s\n", language)
		p := s.PageIn(t, language)
		for _, command := range []string{
			`{"id":1,"do":"step"}`,
			`{"id":2,"do":"open","scenario":"threads: 7"}`,
			`{"id":3,"do":"open","link":"v9.x"}`,
			`{"id":4,"do":"open","link":"v1.z.!!!~0"}`,
			`{"id":5,"do":"open","scenario":"threads: [{name: A, work: 300ms}, {name: B, start: 10ms, work: 50ms}]\nlock: {lease: 200ms, watchdog: off, retry: {times: 5, interval: 50ms}}"}`,
			`{"id":6,"do":"step","branch":0,"thread":"A"}`,
			`{"id":7,"do":"step","branch":0}`,
			`{"id":8,"do":"run","branch":0,"to":"outcome","thread":"B"}`,
			`{"id":9,"do":"run","branch":0,"to":"mark"}`,
			`{"id":10,"do":"run","branch":0,"to":"violation"}`,
			`{"id":11,"do":"run","branch":0,"to":"end"}`,
			`{"id":12,"do":"run","branch":0,"to":"end"}`,
			`{"id":13,"do":"strike","branch":0,"at":1,"fault":{"do":"crash","thread":"A"}}`,
			`{"id":14,"do":"time","branch":1,"to":"by","by":"7ms"}`,
			`{"id":15,"do":"time","branch":1,"to":"event"}`,
			`{"id":16,"do":"time","branch":0,"at":2,"to":"expiry"}`,
			`{"id":17,"do":"lanes","branch":0,"row":3}`,
			`{"id":18,"do":"lanes","branch":0,"at":1}`,
			`{"id":19,"do":"compare","branch":0,"with":1,"names":["main","crash"]}`,
			`{"id":20,"do":"locks","branch":0,"protocols":["reentrant","value"]}`,
			`{"id":21,"do":"trace","branch":1}`,
			`{"id":22,"do":"cut","branch":0,"at":2}`,
			`{"id":23,"do":"drop","branch":3}`,
			`{"id":24,"do":"step","branch":3}`,
			`{"id":25,"do":"step","branch":0,"at":99,"thread":"A"}`,
			`{"id":26,"do":"step","branch":0,"at":0}`,
			`{"id":27,"do":"run","to":"lunch"}`,
			`{"id":28,"do":"run","to":"outcome","thread":"Z"}`,
			`{"id":29,"do":"time","to":"by","by":"5"}`,
			`{"id":30,"do":"time","to":"by","by":"-5ms"}`,
			`{"id":31,"do":"time","to":"by","by":"1000h"}`,
			`{"id":32,"do":"time","to":"tomorrow"}`,
			`{"id":33,"do":"strike"}`,
			`{"id":34,"do":"strike","fault":{"do":"rain"}}`,
			`{"id":35,"do":"strike","fault":{"do":"pause","thread":"A"}}`,
			`{"id":36,"do":"strike","fault":{"do":"up"}}`,
			`{"id":37,"do":"compare","with":7}`,
			`{"id":38,"do":"locks","protocols":["mutex"]}`,
			`{"id":39,"do":"open","scenario":"threads: [{name: A}]","branches":[{"parent":0,"fork":0}]}`,
			`{"id":40,"do":"open","scenario":"threads: [{name: A}]","branches":[{"parent":-1},{"parent":-1},{"parent":-1},{"parent":-1},{"parent":-1},{"parent":-1},{"parent":-1}]}`,
			`{"id":42,"do":"dance"}`,
			`{"id":43,"do":"step","tempo":3}`,
			`{"id":"44","do":"step"}`,
			`[45]`,
			`{"id":46,`,
			`{"do":"step","branch":0,"at":1,"thread":"B","background":true}`,
			`{"id":48,"do":"step","branch":0,"at":1,"thread":"B","network":true}`,
			`{"id":49,"do":"step","branch":0,"at":1,"thread":"B","node":2}`,
			`{"id":41,"do":"open","scenario":"threads: [{name: A}]","branches":[{"parent":-1,"moves":[9]}]}`,
			`{"id":50,"do":"open","scenario":"threads: [{name: A}, {name: B}]","branches":[{"parent":-1,"moves":[0,1,0]},{"id":1,"parent":0,"fork":2,"moves":[0,1,{"until":"7ms"}]}]}`,
			`{"id":51,"do":"open","scenario":"threads: [{name: A}, {name: B}]","branches":[{"parent":-1,"moves":[0,0,0]},{"id":1,"parent":0,"fork":2,"moves":[0,0,{"until":"7ms"}]}]}`,
			`{"id":52,"do":"drop","branch":1}`,
			`{"id":53,"do":"drop"}`,
		} {
			fmt.Fprintf(&said, "> %s\n", command)
			if err := p.Conn.WriteMessage(websocket.TextMessage, []byte(command)); err != nil {
				t.Fatal(err)
			}
			for over := false; !over; {
				_, text, err := p.Conn.ReadMessage()
				if err != nil {
					t.Fatal(command, ": ", err)
				}
				_, _ = whole.Write(text)
				fmt.Fprintf(&said, "< %s\n", drawn.ReplaceAll(text, []byte(`"$1":"…"`)))
				var answer webtest.PlayFrame
				if err := json.Unmarshal(text, &answer); err != nil {
					t.Fatal(err)
				}
				over = answer.Done || answer.Refused != ""
			}
		}
		_ = p.Conn.Close()
	}
	path := s.Run(t, webtest.TwoThreads())
	s.Settled(t, "0")
	for _, since := range []string{"0", "1000"} {
		fmt.Fprintf(&said, "# /runs/{id}/socket?since=%s\n", since)
		conn, _ := s.Wired(t, path+"/socket?since="+since)
		for {
			_, text, err := conn.ReadMessage()
			var closed *websocket.CloseError
			if errors.As(err, &closed) {
				fmt.Fprintf(&said, "closed with %d\n", closed.Code)
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = whole.Write(text)
			fmt.Fprintf(&said, "< %s\n", drawn.ReplaceAll(text, []byte(`"$1":"…"`)))
		}
	}
	t.Logf("all that was said, with what is drawn: %x", whole.Sum(nil))
	name := filepath.Join("testdata", "conversation.txt")
	if *update {
		if err := os.WriteFile(name, []byte(said.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(said.String(), "\n")); diff != "" {
		t.Errorf("read the difference, then go test ./web -run Conversation -update:\n%s", diff)
	}
}
