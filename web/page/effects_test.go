package page_test

import (
	"os"
	"strings"
	"testing"

	"relock/engine/outside/logs"
	"relock/web/film"
	"relock/web/words"
)

// What is read from effects is said in each language: two inside where no answer has told one of
// them, and a lock deleted whose value everybody writes.
func TestWhatEffectsShowIsToldInEachLanguage(t *testing.T) {
	file, err := os.Open("../../engine/outside/logs/testdata/ioredis-6.0.0-same-value.log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log, err := logs.Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	found, err := log.Trace(t.Context(), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string][]string{
		"en": {"no answer has told A of the loss", "A deleted the lock of B", "does not say whose it is, but B put it there"},
		"zh": {"没有任何响应告诉 A 锁已丢失", "A 删除了 B 的锁", "看不出是谁的，但它是 B 放进去的"},
	} {
		l := words.Match(tag)
		reel := film.Of(l, found.Scenario, found.Header)
		var told []string
		for _, e := range found.Events {
			reel.Add(e)
		}
		for _, r := range reel.Rows() {
			told = append(told, r.Why)
			for _, v := range r.Violations {
				told = append(told, v.Detail)
			}
		}
		all := strings.Join(told, "\n")
		for _, text := range want {
			if !strings.Contains(all, text) {
				t.Errorf("%s: no %q in:\n%s", tag, text, all)
			}
		}
	}
}
