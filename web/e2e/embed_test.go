package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A stage in slides follows its room.
func TestSlidesFrameAStage(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	slides := filepath.Join(t.TempDir(), "slides.html")
	if err := os.WriteFile(slides, []byte(`<!DOCTYPE html><iframe src="`+strings.Replace(room, "/room/", "/embed/room/", 1)+`/stage"></iframe>`), 0o600); err != nil {
		t.Fatal(err)
	}
	do(device(host, t), t, chromedp.Navigate("file://"+slides))
	do(host, t, inMenu("#more", `[data-dialog=people]`))
	until(host, t, `document.querySelectorAll("#people-list [data-key^=remove]").length === 1`) // it has joined
}

// Slides that were opened as a file frame an embed, and nothing else of the
// site.
func TestSlidesOpenedAsAFileFrameAnEmbed(t *testing.T) {
	t.Parallel()
	server := serve(t)
	for path, shown := range map[string]bool{"/embed/play/lease-expiry": true, "/play/lease-expiry": false} {
		ctx := tab(t)
		slides := filepath.Join(t.TempDir(), "slides.html")
		html := fmt.Sprintf(`<!DOCTYPE html><title>waiting</title>
<script>addEventListener("message", (e) => { document.title = "heard " + e.data.type; });</script>
<iframe src="%s" sandbox="allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox" onload="document.documentElement.dataset.loaded = 1"></iframe>`, server+path)
		if err := os.WriteFile(slides, []byte(html), 0o600); err != nil {
			t.Fatal(err)
		}
		do(ctx, t, chromedp.Navigate("file://"+slides))
		until(ctx, t, `document.documentElement.dataset.loaded === "1"`)
		if shown {
			until(ctx, t, `document.title === "heard relock:height"`)
		} else if refused := get[bool](ctx, t, `document.querySelector("iframe").contentDocument === null && document.title === "waiting"`); !refused {
			t.Error("a page that is no embed was framed")
		}
	}
}
