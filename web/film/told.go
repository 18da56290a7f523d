package film

// Told is the text below a picture of the first count rows: why each came about, and who
// believes something untrue.
func (f *Film) Told(count int) []Sentence {
	rows := f.Rows()
	list := make([]Sentence, 0, min(count, len(rows)))
	for i := range min(count, len(rows)) {
		row := &rows[i]
		s := Sentence{Time: row.Time, At: row.At, Why: row.InFull(f.say), Broken: len(row.Violations) > 0}
		for j := range row.Cells {
			if row.Cells[j].Parted {
				s.Beliefs = append(s.Beliefs, f.parted(&row.Cells[j], row.Key.Nodes))
			}
		}
		list = append(list, s)
	}
	return list
}

// parted says what a thread believes, and what Redis knows of it.
func (f *Film) parted(c *Cell, nodes []Node) string {
	believes := f.say.Say("%s believes: I hold it, %d times.", c.Thread, c.Inside)
	if c.Inside == 1 {
		believes = f.say.Say("%s believes: I hold it, once.", c.Thread)
	}
	known := 0
	for _, n := range nodes {
		if n.Thread == c.Thread {
			known++
		}
	}
	truth := f.say.Say("Redis does not know of it.")
	if known > 0 {
		truth = f.say.Say("%d of %d nodes know, too few.", known, len(nodes))
	}
	return f.say.Say("%s %s", believes, truth)
}
