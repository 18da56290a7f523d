package recall

import "relock/engine/store"

// Embedded returns the miniredis that is asked, of a Memory of one in this process.
func (m *Memory) Embedded() *store.Embedded { return m.server.(*embedded).redis }
