package lab

import (
	"context"
	"slices"

	"relock/engine/outside/infer"
)

// mostProbes is how many rounds may look for the lock's key.
const mostProbes = 16

// said is what a thread sent in a round, with the answers.
func (o *Order) said(thread string) []infer.Said {
	var list []infer.Said
	for _, r := range o.records {
		if r.Thread == thread && r.Args != nil && r.Mark == "" {
			list = append(list, infer.SaidOf(r))
		}
	}
	return list
}

// find looks for the lock where no command makes one for sure, or several do: the key
// whose state decided the answer that another thread got, and what it then did. A lets B
// in after each of its commands in turn; what B does when A has ended is what it does
// alone.
func (s *search) find(ctx context.Context) error {
	if len(s.names) < 2 || s.g.key != "" && len(s.made) < 2 {
		return nil
	}
	alone, err := s.play(ctx, branch{}, nil)
	if err != nil {
		return err
	}
	b := alone.said(s.names[1])
	not := append(s.lasting(b), s.o.Resource)
	for n := 1; n <= min(mostProbes, len(alone.said(s.names[0]))); n++ {
		order, err := s.round(ctx, func(o *Order, list []choice) (choice, bool) {
			first := s.names[1]
			if len(o.said(s.names[0])) < n {
				first = s.names[0]
			}
			at := slices.IndexFunc(list, func(c choice) bool { return c.d.Thread == first && c.d.Do == "" })
			return list[max(at, 0)], false
		})
		if err != nil {
			return err
		}
		if key := infer.Decided(b, order.said(s.names[1]), not); key != "" {
			s.name(key)
			return nil
		}
	}
	return nil
}

// marked returns the key that a thread wrote first before it said that it is inside, "" if none
// has said so: one that was still there then, or else any.
func (o *Order) marked() string {
	wrote := map[string][]infer.Touched{} // by thread, since its last mark
	for _, r := range o.records {
		switch {
		case r.Mark == infer.MarkEnter && len(wrote[r.Thread]) > 0:
			list := wrote[r.Thread]
			if at := slices.IndexFunc(list, func(t infer.Touched) bool { return t.After.State.Exists() }); at > 0 {
				return list[at].Key
			}
			return list[0].Key
		case r.Mark != "":
			delete(wrote, r.Thread)
		default:
			wrote[r.Thread] = append(wrote[r.Thread], r.Keys...)
		}
	}
	return ""
}

// name names the lock's key.
func (s *search) name(key string) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.g.key = key
}

// lasting returns the keys that are still there after a round, without an expiry: nobody
// gives them back.
func (s *search) lasting(list []infer.Said) []string {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	var keys []string
	for _, one := range list {
		for _, key := range one.Keys {
			if slices.ContainsFunc(s.g.nodes, func(b backend) bool { k := b.key(key); return k.Exists() && k.PTTL < 0 }) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
