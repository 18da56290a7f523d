package page_test

import (
	"testing"

	"relock/engine/trace"
	"relock/web/page"
	"relock/web/words"
)

// A page says where a run took place, a lab's too, in both languages.
func TestPlace(t *testing.T) {
	chinese := words.Match("zh-CN")
	for _, c := range []struct {
		store, redis, clock string
		english, chinese    string
	}{
		{trace.StoreEmbedded, "", trace.ClockVirtual, "embedded miniredis · virtual clock", "内嵌 miniredis · 虚拟时钟"},
		{trace.StoreEmbedded, "", trace.ClockWall, "embedded miniredis · wall clock", "内嵌 miniredis · 真实时间"},
		{trace.StoreExternal, "", trace.ClockWall, "Redis at r:1 · wall clock", "Redis：r:1 · 真实时间"},
		{trace.StoreLab, trace.StoreEmbedded, trace.ClockVirtual, "the lab, embedded miniredis · virtual clock", "实验室，内嵌 miniredis · 虚拟时钟"},
		{trace.StoreLab, trace.StoreEmbedded, trace.ClockWall, "the lab, embedded miniredis · wall clock", "实验室，内嵌 miniredis · 真实时间"},
		{trace.StoreLab, trace.StoreExternal, trace.ClockWall, "the lab, real Redis · wall clock", "实验室，真实的 Redis · 真实时间"},
	} {
		h := trace.Header{Store: c.store, Clock: c.clock}
		if c.redis != "" {
			h.Lab = &trace.Lab{Redis: c.redis}
		}
		for language, want := range map[words.Language]string{words.English: c.english, chinese: c.chinese} {
			if have := page.Place(language, h, "r:1"); have != want {
				t.Errorf("%+v: %q, want %q", c, have, want)
			}
		}
	}
}
