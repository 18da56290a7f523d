package words_test

import (
	"context"
	"testing"
	"time"

	"relock/web/words"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		chosen []string
		want   string
	}{
		{"nothing", nil, "en"},
		{"the switch", []string{"zh"}, "zh-CN"},
		{"the switch before the browser", []string{"en", "", "zh-CN,zh;q=0.9"}, "en"},
		{"a browser in China", []string{"", "", "zh-CN,zh;q=0.9,en;q=0.8"}, "zh-CN"},
		{"a browser in Taiwan", []string{"zh-TW"}, "zh-CN"},
		{"a browser that prefers German, then Chinese", []string{"de-DE,zh;q=0.5"}, "zh-CN"},
		{"a language that is not spoken here", []string{"de"}, "en"},
		{"no language at all", []string{"%%%", "zh"}, "zh-CN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := words.Match(c.chosen...).Code(); got != c.want {
				t.Errorf("Match(%q) speaks %s, want %s", c.chosen, got, c.want)
			}
		})
	}
}

func TestSay(t *testing.T) {
	if got := words.Match("zh").Say("Locks"); got != "锁" {
		t.Errorf("in Chinese: %q", got)
	}
	if got := words.English.Say("Locks"); got != "Locks" {
		t.Errorf("in English: %q", got)
	}
	if got := words.English.Say("%d of %s", 12345, "all"); got != "12,345 of all" {
		t.Errorf("with arguments: %q", got)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                            "0 ms",
		62 * time.Millisecond:        "62 ms",
		59 * time.Second:             "59,000 ms",
		60*time.Second + 1e6:         "60,001 ms",
		60 * time.Second:             "1 min",
		260 * time.Second:            "4 min 20 s",
		time.Hour:                    "1 h",
		90 * time.Minute:             "1 h 30 min",
		time.Hour + time.Second:      "60 min 1 s",
		48 * time.Hour:               "2 d",
		49 * time.Hour:               "2 d 1 h",
		24*time.Hour + time.Minute:   "24 h 1 min",
		66_666_667 * time.Nanosecond: "67 ms",
		1200*time.Millisecond + 500*time.Microsecond: "1,201 ms",
	} {
		if got := words.English.Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestContext(t *testing.T) {
	if got := words.From(context.Background()).Code(); got != "en" {
		t.Errorf("without a language: %s", got)
	}
	if got := words.From(words.With(context.Background(), words.Match("zh"))).Code(); got != "zh-CN" {
		t.Errorf("with Chinese: %s", got)
	}
}
