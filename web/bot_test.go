package web_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/webtest"
)

// The bot of TEACH plays.
func TestTheBotOfTEACHPlays(t *testing.T) {
	racetest.Skip(t)
	text, err := os.ReadFile("../lessons/docs/TEACH.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(text), "<!-- bot -->\n```go\n")
	code, _, ends := strings.Cut(code, "```\n")
	if !found || !ends {
		t.Fatal("TEACH has no bot")
	}
	if _, body, _ := strings.Cut(code, "func main"); strings.Count(body, "\n") > 30 {
		t.Error("the bot takes more than 30 lines")
	}
	file := filepath.Join(t.TempDir(), "bot.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	program := strings.TrimSuffix(file, ".go")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	// Only then: a host who hears nothing for as long as a build takes is let go.
	s := webtest.Open(t, nil)
	room, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, room, "en", nil).Join("host", webtest.Object{"secret": secret})
	ctx, done := context.WithCancel(t.Context())
	bot := exec.CommandContext(ctx, program, "ws"+strings.TrimPrefix(s.URL, "http")+"/room/"+room+"/socket")
	var said strings.Builder
	bot.Stdout, bot.Stderr = &said, &said
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := bot.Wait(); ctx.Err() == nil {
			t.Errorf("the bot has ended: %v", err)
			_ = host.Conn.Close() // it waits for a move
		}
	}()
	t.Cleanup(func() {
		done()
		<-ended
		if t.Failed() {
			t.Log(said.String())
		}
	})
	host.Until("the bot has moved", func() bool { return host.Room.At > 0 })
}
