package run

import (
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
)

func (w *wall) controls() []Control {
	list := make([]Control, 0, len(w.r.threads))
	for _, t := range w.r.threads {
		h := w.handles[t]
		h.mu.Lock()
		c := h.control
		h.mu.Unlock()
		c.Thread, c.Ended = t.spec.Name, !t.alive()
		list = append(list, c)
	}
	return list
}

func (w *wall) steer(name string, t *thread, a Action) error {
	if t == nil {
		return &Refusal{Reason: NotLive, Thread: name}
	}
	select {
	case <-w.playing: // else it begins in a moment
	case <-w.r.finished:
		return &Refusal{Reason: NotLive, Thread: name}
	}
	if !t.alive() {
		return &Refusal{Reason: HasEnded, Thread: name}
	}
	why := NotLive // where it ends the run
	w.guard(func() {
		if why = w.handles[t].steer(t, a); why == "" {
			w.hasAsked(t) // who starts after this one need not wait for it
		}
	})
	if why != "" {
		return &Refusal{Reason: why, Thread: name}
	}
	w.steered()
	return nil
}

func (w *wall) steered() {
	if w.r.o.Steered != nil {
		w.r.o.Steered()
	}
}

func (h *handle) steer(t *thread, a Action) Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch a {
	case Suspend:
		if !h.live.Suspend() {
			return IsSuspended
		}
		h.control.Suspended = true
		t.tell(trace.Fault{Do: fault.Pause})
	case Resume:
		if !h.live.Resume() {
			return GoesOn
		}
		h.control.Suspended = false
		t.tell(trace.Fault{Do: fault.Resume})
	case Crash:
		if t.ended.Swap(true) {
			return HasEnded
		}
		t.tell(trace.Fault{Do: fault.Crash})
		t.fall()
	case Gate, Ungate:
		if h.control.Gated == (a == Gate) {
			return map[Action]Reason{Gate: IsGated, Ungate: IsNotGated}[a]
		}
		h.control.Gated = a == Gate
		h.live.SetGate(a == Gate)
	case Admit:
		if (h.control.At == lock.Call{}) {
			return NobodyWaits
		}
		h.live.Admit()
	default:
		return NoAction
	}
	return ""
}

func (w *wall) awaitGate(t *thread) {
	h := w.handles[t]
	h.mu.Lock()
	gated := h.control.Gated
	if gated {
		h.control.At = t.coming()
	}
	h.mu.Unlock()
	if !gated {
		return
	}
	w.steered()
	h.live.AwaitGate()
	h.mu.Lock()
	h.control.At = lock.Call{}
	h.mu.Unlock()
	w.steered()
}

func (w *wall) hasAsked(t *thread) {
	h := w.handles[t]
	h.first.Do(func() { close(h.asked) })
}
