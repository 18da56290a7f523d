package film

// LongTable is how many rows are shown even where not all are asked for.
const LongTable = 200

// Stretch is rows in turn of a long table.
type Stretch struct {
	From, To int   // indexes; To is the first one after it
	Broken   []int // the rows that it is there for; none at the beginning and the end
}

// Stretches picks the rows around the first places of each broken rule, and the first and the
// last ones, in order.
func Stretches(rows []Row) []Stretch {
	const reach, places = 10, 3
	var list []Stretch
	around := func(at int) *Stretch {
		from, to := max(at-reach, 0), min(at+reach+1, len(rows))
		if n := len(list); n == 0 || list[n-1].To < from {
			list = append(list, Stretch{From: from})
		}
		last := &list[len(list)-1]
		last.To = to
		return last
	}
	around(0)
	times := map[string]int{}
	for i, r := range rows {
		first := false
		for _, v := range r.Violations {
			times[v.Rule]++
			first = first || times[v.Rule] <= places
		}
		if first {
			s := around(i)
			s.Broken = append(s.Broken, i)
		}
	}
	around(len(rows) - 1)
	return list
}
