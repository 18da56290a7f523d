package words_test

import (
	"strings"
	"testing"
	"time"

	"relock/engine/phrase"
	"relock/web/words"
)

func TestANumberAndItsUnitNeverPart(t *testing.T) {
	for text, want := range map[string]string{
		"A works for 300 ms, B for 4 min 20 s.": "A works for 300~ms, B for 4~min 20~s.",
		"5 ms ago":                              "5~ms ago",
		"at 1,266.5 ms":                         "at 1,266.5~ms",
		"72 % of 1,986 orders":                  "72~% of 1,986 orders",
		"−5 ms, 2 d 7 h, 3 µs, 64 KiB":          "−5~ms, 2~d 7~h, 3~µs, 64~KiB",
		"等了 300 ms，共 5 个；约 2 天 7 小时":            "等了 300~ms，共 5~个；约 2~天 7~小时",
		"75 / 100 ms":                           "75 / 100~ms",
		"100 ms":                                "100~ms",

		"": "", " ": " ", "5": "5", "5 ": "5 ", " ms": " ms",
		"T9 ms are a name": "T9 ms are a name",
		"T3.1 d":           "T3.1 d",
		"level 2 starts":   "level 2 starts",
		"level 2 B":        "level 2 B",
		"in 2 minds":       "in 2 minds",
		"2 h_b":            "2 h_b",
		"50ms-100ms":       "50ms-100ms",
		"in step 5. ms":    "in step 5. ms",
	} {
		if got := strings.ReplaceAll(words.Unparted(text), "\u00a0", "~"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// On pages each text has no-break spaces, elsewhere none.
func TestALanguageOnPages(t *testing.T) {
	zh := words.Match("zh")
	for _, c := range []struct {
		plain words.Language
		says  func(l words.Language) string
		want  string
	}{
		{words.English, func(l words.Language) string { return l.Duration(62 * time.Millisecond) }, "62~ms"},
		{words.English, func(l words.Language) string { return l.Duration(260 * time.Second) }, "4~min 20~s"},
		{words.English, func(l words.Language) string { return l.Duration(200_000 * time.Second) }, "about 2~d 7~h"},
		{zh, func(l words.Language) string { return l.Duration(200_000 * time.Second) }, "约 2~天 7~小时"},
		{words.English, func(l words.Language) string { return l.Say("%d of %d ms", 75, 100) }, "75 of 100~ms"},
		{zh, func(l words.Language) string { return l.Say("%d of %d ms", 75, 100) }, "75 / 100~ms"},
		{words.English, func(l words.Language) string { return l.Say("Let 95 ms pass") }, "Let 95~ms pass"},
		{words.English, func(l words.Language) string { return l.Say("%s ms left", "5") }, "5~ms left"},
		{words.English, func(l words.Language) string {
			return l.Sentence(phrase.Say("%s waits for %s", "A", 50*time.Millisecond))
		}, "A waits for 50~ms."},
		{words.English, func(l words.Language) string { return l.Each([]phrase.Text{"5 s", "one"})[0] }, "5~s"},
		{words.English, func(l words.Language) string { return l.Written("5 s") }, "5~s"},
	} {
		pages := c.plain.OnPages()
		if got := strings.ReplaceAll(c.says(pages), "\u00a0", "~"); got != c.want {
			t.Errorf("on pages %q, want %q", got, c.want)
		}
		if got, want := c.says(c.plain), strings.ReplaceAll(c.want, "~", " "); got != want {
			t.Errorf("elsewhere %q, want %q", got, want)
		}
		if pages == c.plain || pages.OnPages() != pages || pages.Plain() != c.plain || c.plain.Plain() != c.plain || pages.Code() != c.plain.Code() {
			t.Errorf("%s on pages is not one language with two forms", c.plain.Code())
		}
	}
}

// What follows a number in a length of time is its unit, whatever a language calls it.
func TestAThirdLanguagesUnits(t *testing.T) {
	all, err := words.Read(folder("ar", map[string]string{"language.yaml": "name: العربية", "frame.yaml": "\"%s ms\": \"%s م.ث\"\n\"%d h %d min\": \"%d س %d د\""}))
	if err != nil {
		t.Fatal(err)
	}
	l := all.Match("ar").OnPages()
	for d, want := range map[time.Duration]int{62 * time.Millisecond: 1, 90 * time.Minute: 2} {
		if got := l.Duration(d); strings.Contains(strings.ReplaceAll(got, " د", ""), " م") || strings.Count(got, "\u00a0") != want {
			t.Errorf("%v is %q", d, got)
		}
	}
}

func TestLength(t *testing.T) {
	zh := words.Match("zh")
	for text, want := range map[string][2]string{
		"80ms":        {"80 ms", "80 ms"},
		"5s":          {"5,000 ms", "5,000 ms"},
		"1.5s":        {"1,500 ms", "1,500 ms"},
		"10.25ms":     {"10.25 ms", "10.25 ms"},
		"0.001ms":     {"0.001 ms", "0.001 ms"},
		"0ms":         {"0 ms", "0 ms"},
		"1m30s":       {"1 min 30 s", "1 分 30 秒"},
		"50ms-100ms":  {"50 to 100 ms", "50 到 100 ms"},
		"50ms-1.5s":   {"50 to 1,500 ms", "50 到 1,500 ms"},
		"30s-1m30s":   {"30,000 ms to 1 min 30 s", "30,000 ms 到 1 分 30 秒"},
		"off":         {"off", "off"},
		"none-at-all": {"none-at-all", "none-at-all"},
		"5ms-often":   {"5ms-often", "5ms-often"},
		"-1s":         {"-1s", "-1s"},
	} {
		for i, l := range []words.Language{words.English, zh} {
			if got := l.Length(text); got != want[i] {
				t.Errorf("%s: %q is %q, want %q", l.Code(), text, got, want[i])
			}
		}
	}
	if got := words.English.OnPages().Length("50ms-100ms"); got != "50 to 100\u00a0ms" {
		t.Errorf("on pages %q", got)
	}
}
