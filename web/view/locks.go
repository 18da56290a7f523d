package view

// Locks is the page about all locks.
type Locks struct {
	Page       Page
	Lang       string // "en" or "zh"
	Title      string
	Intro      string
	SourceWord string
	List       []Lock
}

// Lock is what is said about one.
type Lock struct {
	Name     string
	Summary  string
	Lines    []string
	Source   string
	Examples []Example
}

// NewLocks is the page without its locks, in a language.
func NewLocks(lang string) Locks {
	if lang == "zh" {
		return Locks{
			Lang: "zh", Title: "各种锁", SourceWord: "出处：",
			Intro: "每一把锁都是真的，都在同一个舞台上运行。有些是用来看它怎么坏掉的。",
		}
	}
	return Locks{
		Lang: "en", Title: "The locks", SourceWord: "Source:",
		Intro: "Each of them is a real implementation on the same stage. Some are here to be seen failing.",
	}
}
