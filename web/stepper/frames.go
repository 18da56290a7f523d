package stepper

import (
	"encoding/json"

	"relock/web/film"
	"relock/web/page"
)

// Frame is a frame to the page.
type Frame struct {
	V         int         `json:"v"`
	Re        int         `json:"re"` // the command's id, 0 where it had none
	Opened    *Opened     `json:"opened,omitempty"`
	Branch    *Branch     `json:"branch,omitempty"`
	From      int         `json:"from"` // the first of the positions
	Positions []Position  `json:"positions,omitempty"`
	Rows      []film.Row  `json:"rows,omitempty"`
	Lanes     string      `json:"lanes,omitempty"` // HTML
	LanesOf   int         `json:"lanesOf"`         // their branch
	Dropped   *int        `json:"dropped,omitempty"`
	Compared  string      `json:"compared,omitempty"` // HTML
	Trace     string      `json:"trace,omitempty"`    // JSON Lines
	Went      *wentJSON   `json:"went,omitempty"`
	Causes    *causesJSON `json:"causes,omitempty"`
	Stands    *standsJSON `json:"stands,omitempty"`
	Done      bool        `json:"done,omitempty"`
	Refused   string      `json:"refused,omitempty"` // a sentence

	// Of a lab.
	Renew    bool          `json:"renew,omitempty"` // the page needs other parts: open it again
	Searched *searchedJSON `json:"searched,omitempty"`

	Told
}

// searchedJSON is how far the search of a lab has come.
type searchedJSON struct {
	Going bool   `json:"going"`
	HTML  string `json:"html"`
}

// Opened is what a page needs to know of a scenario before its rows come.
type Opened struct {
	Scenario json.RawMessage `json:"scenario"` // compact, without a schedule
	Title    string          `json:"title"`
	Threads  []string        `json:"threads"`
	Lease    int64           `json:"leaseMillis"`
	Key      string          `json:"key"`
	Head     string          `json:"head"`              // the table's head, HTML
	Stage    string          `json:"stage"`             // who believes what before the first row, HTML
	Rail     string          `json:"rail"`              // what is beside it, HTML
	Setup    string          `json:"setup"`             // its main settings as fields, HTML
	Dropped  string          `json:"dropped,omitempty"` // which moves no longer fit, in a sentence
	Lua      string          `json:"lua"`
	Kinds    string          `json:"kinds"`           // of the faults that a search may have strike
	At       int             `json:"at"`              // where the link points
	Live     *int            `json:"live,omitempty"`  // of a lab: the branch whose round goes on
	Shows    string          `json:"shows,omitempty"` // what is seen in it, of one that comes with the playground
	Ways     string          `json:"ways,omitempty"`  // and where to go on at its end, HTML

	Never []page.Pointless `json:"never,omitempty"` // faults that cannot strike anywhere in it

	// Of a room.
	Scene *int   `json:"scene,omitempty"` // how many scenarios the class has gone through before
	First int    `json:"first,omitempty"` // the id of its first branch
	Cast  string `json:"cast,omitempty"`  // who plays what, HTML to be filled
	Lanes string `json:"lanes,omitempty"` // of a branch without rows, HTML
}

// Position is a place of a branch, and what can be done there.
type Position struct {
	Move     any           `json:"move,omitempty"` // that led here: a scenario.Move, or in a lab a choice's number or a lab.Decision
	Row      int           `json:"row"`
	At       string        `json:"at"` // "150 ms"
	Options  []page.Option `json:"options"`
	Next     string        `json:"next,omitempty"`     // "200 ms"
	Expiry   string        `json:"expiry,omitempty"`   // "200 ms"
	Outcomes []string      `json:"outcomes,omitempty"` // threads that learned the outcome of a call
	Over     bool          `json:"over,omitempty"`

	Pointless []page.Pointless `json:"pointless,omitempty"` // faults that would change nothing here; left out after the end, when it is all of them
}

// Branch is a branch as a page has it.
type Branch struct {
	ID     int `json:"id"`
	Parent int `json:"parent"` // -1: none
	Fork   int `json:"fork"`
}

// Answered is what a reader answers. One of its fields is set, or none.
type Answered struct {
	Lanes    string      `json:"lanes,omitempty"` // HTML
	LanesOf  *int        `json:"lanesOf,omitempty"`
	Compared string      `json:"compared,omitempty"` // HTML
	Trace    string      `json:"trace,omitempty"`    // JSON Lines
	Causes   *causesJSON `json:"causes,omitempty"`
	Stands   *standsJSON `json:"stands,omitempty"`
}

// Told is what a search tells, without a command. One of its fields is set.
type Told struct {
	Explored *exploredJSON `json:"explored,omitempty"`
	Mended   *mendedJSON   `json:"mended,omitempty"`
	Goal     *goalJSON     `json:"goal,omitempty"`
	Mistake  *mistakeJSON  `json:"mistake,omitempty"` // of a user's own lock, beside what was refused or explored
}

// exploredJSON is how far a search has come.
type exploredJSON struct {
	Going   bool   `json:"going"`
	Found   string `json:"found"`             // HTML
	Picture string `json:"picture,omitempty"` // HTML, once it has ended

	Judged *judgedJSON `json:"judged,omitempty"` // of a user's own lock, once it has ended
}

// wentJSON is where the page should go.
type wentJSON struct {
	Branch int `json:"branch"`
	At     int `json:"at"`
}

// standsJSON is where a branch is in the space.
type standsJSON struct {
	Branch   int                `json:"branch"`
	At       int                `json:"at"`
	Dot      int                `json:"dot"`  // -1: nowhere
	Way      []int              `json:"way"`  // the dots on the way there
	Lost     int                `json:"lost"` // after so many moves every order breaks a rule; -1: never
	Outlooks []page.MoveOutlook `json:"outlooks"`
	Says     string             `json:"says"` // HTML
}

// causesJSON is how a branch came to break a rule.
type causesJSON struct {
	Row  int    `json:"row"`  // that breaks it, or that was asked about where none is broken
	HTML string `json:"html"` // "" where none is
}

// mendedJSON is what we know about the changes that might mend a run.
type mendedJSON struct {
	Going bool   `json:"going"`
	HTML  string `json:"html"`
}

// goalJSON is whether a goal can still be reached from where a page is.
type goalJSON struct {
	Branch int    `json:"branch"`
	Moves  int    `json:"moves"`
	HTML   string `json:"html"` // "" where it can
}

// judgedJSON is what a search says about a user's own lock.
type judgedJSON struct {
	Broken    string           `json:"broken"` // how many orders break a rule, "0" for none
	All       string           `json:"all"`    // how many were tried
	Sound     bool             `json:"sound"`  // none breaks a rule, all were tried, and each thread can get in
	Failed    bool             `json:"failed,omitempty"`
	Misused   bool             `json:"misused,omitempty"`   // the scripts are called otherwise than they work, and how they work is known
	Link      string           `json:"link,omitempty"`      // opens the editor, which judges it again within the same bounds
	Unreached map[string][]int `json:"unreached,omitempty"` // lines with a command that no order came by, by call
}

// mistakeJSON is where a script was found wrong when it ran.
type mistakeJSON struct {
	Call string `json:"call"`
	Line int    `json:"line"` // of the script, 0 if it is not known
}
