package board

import (
	"context"
	"maps"
	"slices"
)

func (f *referee) hasThread(thread string) error {
	for _, t := range f.run.Scenario().Threads {
		if t.Name == thread {
			return nil
		}
	}
	return errNoThread
}

// wished does what a member wants with a thread: at once if nobody else plays
// it or a host wants it, else when the table has decided.
func (f *referee) wished(ctx context.Context, m *Member, thread, wish string, do func() (Entry, error)) (Entry, error) {
	if err := f.hasThread(thread); err != nil {
		return Entry{}, err
	}
	seat := f.state.Seats[thread]
	if m.Part != Host {
		if !slices.Contains(seat.By, m.ID) {
			return Entry{}, errNoSeat
		}
		if q := f.state.Question; q != nil && !q.Closed {
			return Entry{}, errAsked
		}
		if len(seat.By) > 1 {
			return f.wish(ctx, thread, seat, m.ID, wish)
		}
	}
	e, err := do()
	if err == nil && len(seat.Wishes) > 0 {
		e.Seats = map[string]Seat{thread: {By: seat.By}}
	}
	return e, err
}

// wish notes what a member of a table wants. When more than half of those who
// are here want the same, or all have wished, the wait is over.
func (f *referee) wish(ctx context.Context, thread string, seat Seat, member, wish string) (Entry, error) {
	if seat.Wishes = maps.Clone(seat.Wishes); seat.Wishes == nil {
		seat.Wishes = map[string]string{}
		seat.Since = f.now().UnixMilli()
	}
	seat.Wishes[member] = wish
	if wish, decided := f.state.decided(seat); decided {
		return f.granted(ctx, thread, seat, wish)
	}
	for _, id := range seat.By {
		if m := f.state.People[id]; m != nil && m.Here() && seat.Wishes[id] == "" {
			return Entry{Seats: map[string]Seat{thread: seat}}, nil
		}
	}
	return f.settle(ctx, thread, seat)
}

// decided returns what more than half of a table's members who are here want: nobody can
// change that.
func (s *State) decided(seat Seat) (wish string, decided bool) {
	here, counts := 0, map[string]int{}
	for _, id := range seat.By {
		if m := s.People[id]; m != nil && m.Here() {
			here++
			if wish := seat.Wishes[id]; wish != "" {
				counts[wish]++
			}
		}
	}
	for wish, n := range counts {
		if 2*n > here {
			return wish, true
		}
	}
	return "", false
}

// settle does what most of a table wish. A tie waits for the host.
func (f *referee) settle(ctx context.Context, thread string, seat Seat) (Entry, error) {
	wish, tied := seat.most()
	if tied {
		seat.Tied = true
		return Entry{Seats: map[string]Seat{thread: seat}}, nil
	}
	return f.granted(ctx, thread, seat, wish)
}

// granted does what a table wished, and has the table begin again, even where
// that cannot be done.
func (f *referee) granted(ctx context.Context, thread string, seat Seat, wish string) (Entry, error) {
	e, err := f.byWish(ctx, thread, wish)
	e.Seats = map[string]Seat{thread: {By: seat.By}}
	return e, err
}

// most returns what most wish for, or that no wish has most.
func (s Seat) most() (wish string, tied bool) {
	counts := s.Counts()
	for _, one := range slices.Sorted(maps.Keys(counts)) {
		switch {
		case wish == "" || counts[one] > counts[wish]:
			wish, tied = one, false
		case counts[one] == counts[wish]:
			tied = true
		}
	}
	return wish, tied
}

// Counts returns how many members have each wish.
func (s Seat) Counts() map[string]int {
	counts := map[string]int{}
	for _, wish := range s.Wishes {
		counts[wish]++
	}
	return counts
}

func (f *referee) decideTie(ctx context.Context, _ *Member, c Command) (Entry, error) {
	if err := f.hasThread(c.Thread); err != nil {
		return Entry{}, err
	}
	seat := f.state.Seats[c.Thread]
	if len(seat.Wishes) == 0 {
		return Entry{}, errNoWish
	}
	wish, tied := seat.most()
	switch {
	case c.Wish != "" && seat.Counts()[c.Wish] == 0:
		return Entry{}, errWish
	case c.Wish != "":
		wish = c.Wish
	case tied:
		return Entry{}, errTie
	}
	return f.granted(ctx, c.Thread, seat, wish)
}

func (f *referee) claim(_ context.Context, m *Member, c Command) (Entry, error) {
	if f.state.Rules.Reserved && m.Part != Host && !slices.Contains(f.state.Seats[c.Thread].By, m.ID) {
		return Entry{}, errReserved
	}
	return f.seated(c.Thread, m)
}

// give seats a member at a thread, with those who play it or, handed over, in their
// place.
func (f *referee) give(_ context.Context, _ *Member, c Command) (Entry, error) {
	if c.Member == "" {
		if err := f.hasThread(c.Thread); err != nil {
			return Entry{}, err
		}
		return Entry{Seats: map[string]Seat{c.Thread: {}}}, nil
	}
	m := f.state.People[c.Member]
	switch {
	case m == nil || m.Removed:
		return Entry{}, errNoMember
	case m.Part == Stage:
		return Entry{}, errScreen
	}
	e, err := f.seated(c.Thread, m)
	if err == nil && c.Over {
		e.Seats[c.Thread] = Seat{By: []string{m.ID}}
	}
	if err == nil && m.Part == Audience {
		one := *m
		one.Part = Player
		e.People = []Member{one}
	}
	return e, err
}

// deal seats everybody who plays and is here, evenly: at all threads, or at so
// many that each has as many people as it is to have at least. Players keep their seats,
// if possible.
func (f *referee) deal(_ context.Context, _ *Member, c Command) (Entry, error) {
	least := 1
	if c.Tables != nil {
		least = *c.Tables
	}
	if least < 1 || least > MaxMembers {
		return Entry{}, errTables
	}
	var playing []string
	for id, m := range f.state.People {
		if m.Part == Player && m.Here() {
			playing = append(playing, id)
		}
	}
	if len(playing) == 0 {
		return Entry{}, errNobody
	}
	slices.SortFunc(playing, ByAge)
	threads := f.run.Scenario().Threads
	seats := make(map[string]Seat, len(threads))
	for _, t := range threads {
		seats[t.Name] = Seat{}
	}
	used := threads[:max(1, min(len(threads), len(playing)/least))]
	each, more := len(playing)/len(used), len(playing)%len(used) // so many threads get one more
	free := playing
	take := func(thread, id string) {
		seats[thread] = Seat{By: append(seats[thread].By, id)}
		free = slices.DeleteFunc(slices.Clone(free), func(one string) bool { return one == id })
	}
	for _, t := range used {
		most := each
		for _, id := range f.state.Seats[t.Name].By {
			if len(seats[t.Name].By) == each && more > 0 && slices.Contains(free, id) {
				most, more = each+1, more-1
			}
			if len(seats[t.Name].By) < most && slices.Contains(free, id) {
				take(t.Name, id)
			}
		}
	}
	for len(free) > 0 {
		smallest := used[0].Name
		for _, t := range used[1:] {
			if len(seats[t.Name].By) < len(seats[smallest].By) {
				smallest = t.Name
			}
		}
		take(smallest, free[0])
	}
	return Entry{Seats: seats}, nil
}

// seated has a member play a thread, with those who do already.
func (f *referee) seated(thread string, m *Member) (Entry, error) {
	if err := f.hasThread(thread); err != nil {
		return Entry{}, err
	}
	seat := f.state.Seats[thread]
	if !slices.Contains(seat.By, m.ID) {
		seat.By = append(slices.Clone(seat.By), m.ID)
	}
	return Entry{Seats: map[string]Seat{thread: seat}}, nil
}

func (f *referee) release(_ context.Context, m *Member, c Command) (Entry, error) {
	if err := f.hasThread(c.Thread); err != nil {
		return Entry{}, err
	}
	seat := f.state.Seats[c.Thread]
	if !slices.Contains(seat.By, m.ID) {
		return Entry{}, errNoSeat
	}
	return Entry{Seats: map[string]Seat{c.Thread: seat.without(m.ID)}}, nil
}

// still are the seats of those tables that wish for something, without their
// wishes.
func (s *State) still() map[string]Seat {
	var seats map[string]Seat
	for thread, seat := range s.Seats {
		if len(seat.Wishes) > 0 {
			if seats == nil {
				seats = map[string]Seat{}
			}
			seats[thread] = Seat{By: seat.By}
		}
	}
	return seats
}

func (s Seat) without(member string) Seat {
	s.By = slices.DeleteFunc(slices.Clone(s.By), func(id string) bool { return id == member })
	s.Wishes = maps.Clone(s.Wishes)
	delete(s.Wishes, member)
	if len(s.Wishes) == 0 {
		s.Wishes, s.Since, s.Tied = nil, 0, false
	}
	return s
}

func (f *referee) rename(_ context.Context, m *Member, _ Command) (Entry, error) {
	one := *m
	one.Name = freeName(f.state.People)
	return Entry{People: []Member{one}}, nil
}

func (f *referee) remove(_ context.Context, _ *Member, c Command) (Entry, error) {
	m := f.state.People[c.Member]
	switch {
	case m == nil:
		return Entry{}, errNoMember
	case m.Part == Host:
		return Entry{}, errRemovedSelf
	}
	one := *m
	one.Removed, one.Conn = true, ""
	e := Entry{People: []Member{one}}
	for thread, seat := range f.state.Seats {
		if slices.Contains(seat.By, m.ID) {
			if e.Seats == nil {
				e.Seats = map[string]Seat{}
			}
			e.Seats[thread] = seat.without(m.ID)
		}
	}
	return e, nil
}

func (f *referee) restore(_ context.Context, _ *Member, c Command) (Entry, error) {
	m := f.state.People[c.Member]
	if m == nil {
		return Entry{}, errNoMember
	}
	one := *m
	one.Removed = false
	return Entry{People: []Member{one}}, nil
}

// hold has players keep their hands off, or lets them move again. A table's wishes are
// dropped: nothing moves while the host leads.
func (f *referee) hold(_ context.Context, _ *Member, c Command) (Entry, error) {
	rules := f.state.Rules
	rules.Held = c.On == nil || *c.On
	e := Entry{Rules: &rules}
	if rules.Held {
		e.Seats = f.state.still()
	}
	return e, nil
}

// lost notes that a member does not follow any more, or does again.
func (f *referee) lost(_ context.Context, m *Member, c Command) (Entry, error) {
	one := *m
	one.Lost = c.On == nil || *c.On
	return Entry{People: []Member{one}}, nil
}

// doubt notes that a member finds the question wrong, or does not any more.
func (f *referee) doubt(_ context.Context, m *Member, c Command) (Entry, error) {
	if f.state.Question == nil {
		return Entry{}, errNoQuestion
	}
	one := *m
	if one.Doubts = 0; c.On == nil || *c.On {
		one.Doubts = f.state.Question.ID
	}
	return Entry{People: []Member{one}}, nil
}

func (f *referee) lock(_ context.Context, _ *Member, c Command) (Entry, error) {
	rules := f.state.Rules
	rules.Locked = c.Locked == nil || *c.Locked
	return Entry{Rules: &rules}, nil
}

func (f *referee) allow(_ context.Context, _ *Member, c Command) (Entry, error) {
	for _, kind := range c.Faults {
		if kind != WishCrash && kind != WishLose {
			return Entry{}, errAllow
		}
	}
	rules := f.state.Rules
	rules.Allowed = slices.Compact(slices.Sorted(slices.Values(c.Faults)))
	return Entry{Rules: &rules}, nil
}
