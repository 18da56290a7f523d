package store

// Process is the server's process ID.
func (b *Beside) Process() int { return b.cmd.Process.Pid }
