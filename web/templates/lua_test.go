package templates_test

import (
	"strings"
	"testing"

	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// A class's script is shown to the letter: as text, and no mark in it turns the letters
// around.
func TestAScriptIsShownToTheLetter(t *testing.T) {
	t.Parallel()
	const script = "-- <img src=x onerror=alert(1)> **bold**\nlocal a = '\u202egnp.exe' -- \u05e9\u05dc\u05d5\u05dd"
	html, err := templates.Text(words.English, templates.RoomScriptsPage(page.RoomScripts{
		Scripts: []page.RoomScript{{Member: "m1", Script: film.Script{Name: "Quiet Otter", Lines: film.Coloured(script)}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`-- &lt;img src=x onerror=alert(1)&gt; **bold**`, `\u{202e}gnp.exe`, "\u05e9\u05dc\u05d5\u05dd"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has not %q", want)
		}
	}
	for _, bad := range []string{"<img src=x", "\u202e"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// Of a lock's scripts one is there at a time: before the page's own script says which, the first.
func TestOneScriptIsThereAtATime(t *testing.T) {
	t.Parallel()
	html, err := templates.Text(words.English, templates.Lua([]film.Script{{Name: "lock"}, {Name: "renew"}, {Name: "unlock"}}))
	if err != nil {
		t.Fatal(err)
	}
	for name, away := range map[string]bool{"lock": false, "renew": true, "unlock": true} {
		_, section, _ := strings.Cut(html, `data-script="`+name+`"`)
		tag, _, _ := strings.Cut(section, ">")
		if is := strings.Contains(tag, `hidden="until-found"`); is != away {
			t.Errorf("%s is hidden: %t, want %t", name, is, away)
		}
	}
}
