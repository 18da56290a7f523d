package words_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"relock/engine/phrase"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
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
		200_000 * time.Second:        "about 2 d 7 h",
		700 * 24 * time.Hour:         "700 d",
		1000 * 24 * time.Hour:        "about 3 years",
		math.MaxInt64:                "over 292 years",
		200_000*time.Second - 5e6:    "about 2 d 7 h",
		3*time.Hour + time.Second:    "about 3 h",
		5*time.Hour + 61*time.Second: "about 5 h 1 min",
		1200*time.Millisecond + 500*time.Microsecond: "1,201 ms",
	} {
		if got := words.English.Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

// Between two Latin words "and" stands with spaces, between Han characters without.
func TestAListInChinese(t *testing.T) {
	zh := words.Match("zh")
	for want, names := range map[string]phrase.Names{
		"A 和 B":            {"A", "B"},
		"A、B 和 C":          {"A", "B", "C"},
		"误删别人的锁和死锁":        {"误删别人的锁", "死锁"},
		"误删（orphan）和死锁（x）": {"误删（orphan）", "死锁（x）"},
		"误删别人的锁和 B":        {"误删别人的锁", "B"},
		"mutex 和误删别人":      {"mutex", "误删别人"},
	} {
		if got := zh.List(names); got != want {
			t.Errorf("%q is %q, want %q", names, got, want)
		}
	}
	if got := zh.Duration(200_000 * time.Second); got != "约 2 天 7 小时" {
		t.Errorf("two days and some are %q", got)
	}
}

// A folder beside the others is a language: its texts are used, the rest is in English.
func TestAThirdLanguageIsAFolder(t *testing.T) {
	fsys := fstest.MapFS{}
	files, err := filepath.Glob("zh-CN/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no folder to copy:", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"zh-CN", "de"} {
			text := data
			if tag == "de" { // a copy in which ten texts are translated so far
				switch filepath.Base(name) {
				case "language.yaml":
					text = []byte("name: Deutsch")
				case "frame.yaml":
					text = []byte("Locks: Sperren\n\"%s and %s\": \"%s und %s\"\n\"%d d\": \"%d T\"\n\"%d h\": \"%d Std.\"\n\"%d d %d h\": \"%d T %d Std.\"\n\"%s ms\": \"%s ms\"\n")
				case "scripts.yaml":
					text = []byte("Pause: Halt\nPlay: Los\nStep: Schritt\nClose: Zu\n")
				default:
					text = nil
				}
			}
			fsys[tag+"/"+filepath.Base(name)] = &fstest.MapFile{Data: text}
		}
	}
	all, err := words.Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	de, ok := all.Find("de-AT")
	if !ok || len(all.All()) != 3 || de.Name() != "Deutsch" {
		t.Fatalf("%d languages, %v", len(all.All()), ok)
	}
	if got := de.Say("Locks") + de.List(phrase.Names{" A", "B"}) + de.Duration(48*time.Hour); got != "Sperren A und B2 T" {
		t.Errorf("said %q", got)
	}
	if got := de.ForScripts(); len(got) != 4 || got["Pause"] != "Halt" {
		t.Errorf("for scripts: %v", got)
	}
	read := 0
	for _, name := range files {
		var some map[string]string
		if data, err := os.ReadFile(name); err != nil || yaml.Unmarshal(data, &some) != nil {
			t.Fatal(name)
		}
		for text := range some {
			if filepath.Base(name) == "frame.yaml" || filepath.Base(name) == "language.yaml" {
				continue
			}
			if read++; de.Say(phrase.Text(text)) != text && de.ForScripts()[text] == "" {
				t.Errorf("%q is said as %q", text, de.Say(phrase.Text(text)))
			}
		}
	}
	if read < 500 {
		t.Errorf("only %d texts were said", read)
	}
	if got := all.Match("zh").Say("Locks"); got != "锁" {
		t.Errorf("in Chinese now %q", got)
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
