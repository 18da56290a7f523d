package page

import (
	"relock/engine/fault"
	"relock/web/film"
	"relock/web/words"
)

// RoomDoor is the page on which a room's code is entered.
type RoomDoor struct {
	Page    Page
	Code    string // what was entered, "" before anything was
	Problem string // why it leads nowhere, or ""
}

// RoomNew is the page on which a room is made.
type RoomNew struct {
	Page    Page
	Field   string // of the form: "example", "link" or "item"
	From    string // its value, "" where nothing is chosen yet
	Title   string
	Shows   string // what is seen in it, "" where nobody has said so
	Threads []film.Thread
	Lessons []RoomLesson
}

// RoomLesson is a lesson that comes with the playground.
type RoomLesson struct {
	Name    string
	Title   string
	Steps   int
	Minutes int // 0 where nobody has said so
}

// LessonPlan is the page on which a lesson is read before a room is made for it.
type LessonPlan struct {
	Page    Page
	Sent    string // makes the room: a name, or a link's text
	Heading string
	Minutes int // 0 where nobody has said so
	Steps   []PlanStep
}

// PlanStep is a step of it.
type PlanStep struct {
	Title         string
	From, Minutes int
	Leads, Plays  bool   // from there on the host leads, or the class plays; neither: as before
	Item          string // of the course, to be opened; "" for none
	Predict       bool   // it asks what comes next
	Text          string // of another question, "" for none
	Options       []string
	Right         int // its number, from 1
	Notes         string
}

// RoomPart is what a visitor is in a room.
type RoomPart string

// Parts of a room. Players and watchers have the same page.
const (
	RoomHost   RoomPart = "host"
	RoomStage  RoomPart = "stage"
	RoomPlayer RoomPart = "player"
)

// Room is a page of a room.
type Room struct {
	Page      Page
	Code      string
	Part      RoomPart
	Leads     bool // the visitor is a host: of the stage, its keys act
	Embedded  bool // in somebody's page: its socket leads nobody either
	Title     string
	Scene     int    // how many scenarios the class has gone through before
	Play      Play   // the scenario as the stepping page has it: viewer and faults, and for who leads the gallery; the phone's page needs the scenario alone
	Join      string // where phones join, absolute
	JoinShort string // the page on which the code is entered, as people type it: "relock.example/room"
	Reach     Reach  // of Join
	Framed    string // the stage, to be framed by slides, absolute; hosts only
	CoHost    string // a link that makes another host, absolute; hosts only
}

// RoomWritten is where a member of a class writes a script.
var RoomWritten = Field{Name: "script", Code: true}

// RoomScripts are the scripts that a class has written last.
type RoomScripts struct {
	Page    Page
	Goal    string // what they are for
	Scripts []RoomScript
}

// RoomScript is one of them.
type RoomScript struct {
	Member string
	Right  bool
	Says   string      // what came of it
	Script film.Script // of the member's name
}

// RoomStrike is a fault that who plays a thread may strike at it.
type RoomStrike struct {
	Do    string
	Label string
	Move  string // what the page sends, JSON
	Asked bool   // only where the host allows it
}

// RoomStrikes are the faults of a thread, as its player calls them.
func RoomStrikes(l words.Language, thread string) []RoomStrike {
	slow, _ := fault.Named(fault.Pause)
	return []RoomStrike{
		{fault.Pause, l.Say("I am slow: %s", l.Duration(slow.For)), byHand(fault.Pause, thread, ""), false},
		{fault.LoseReply, l.Say("lose my reply"), byHand(fault.LoseReply, thread, fault.AtUnlock), true},
		{fault.Crash, l.Say("I crash"), byHand(fault.Crash, thread, ""), true},
	}
}
