package page

import (
	"strings"

	"github.com/a-h/templ"

	"relock/engine/lab"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/words"
)

// Onward is a link to a scenario.
type Onward struct {
	Name  string
	Title string
}

// Ending is where to go on at the end of a scenario; all may be missing.
type Ending struct {
	Cure  *Onward // what mends what went wrong
	Next  *Onward // what comes after it in reading order
	Learn bool    // the course comes next
}

// Home is the front door.
type Home struct {
	Page   Page
	Title  string
	Shows  string
	Name   string // of the scenario that is played
	Ending Ending
	Count  int // of scenarios
	Locks  int // how many there are
	Viewer Viewer
}

// Embed is the page that other pages frame.
type Embed struct {
	Page Page
	Open string // a link's text
}

// Gallery is the page of all scenarios.
type Gallery struct {
	Page   Page
	Groups []Group
}

// Group is some scenarios that are read together.
type Group struct {
	ID       string
	Name     string
	Exhibits []Exhibit
}

// Exhibit is a scenario in the gallery.
type Exhibit struct {
	Name     string
	Title    string
	Shows    string // what is seen in it
	Protocol string
	First    bool     // read it first
	Steps    int      // rows of its run, 0 where it has none
	Minutes  int      // about how long it takes to step through, 0 where nobody would
	Level    int      // how hard it is: 1 to 3
	Broken   []string // rules that its run breaks
	Failed   string   // OnlyFailed
	Picture  templ.Component
}

// Incidents is the page of what really happened to people.
type Incidents struct {
	Page     Page
	Symptoms []Symptom
}

// Symptom is what people see first, and the incidents that began so.
type Symptom struct {
	ID, Name  string
	Incidents []Incident
}

// Incident is what happened, and where one can step through it.
type Incident struct {
	ID, Title, Seen, Why, There, Here string
	Sources                           []lessons.Source
	Cured                             bool // there is a scenario of what would mend it
}

// API is the page that documents the interface for programs.
type API struct {
	Page     Page
	Sections []Section
}

// Section is a part of it.
type Section struct {
	ID      string
	Name    string
	Text    string
	Entries []Entry
	Example string
}

// Entry is a name and what it means.
type Entry struct{ Name, Text string }

// Reference are the sections of the API page. Formats are those in which a run
// can be had.
func Reference(l words.Language, formats string) []Section {
	return []Section{
		{
			ID: "http", Name: "HTTP",
			Text: l.Say("A link's text is what stands after the # in an address of /play: a scenario, the moves that were made in it, and after ~ the place that it shows. What runs something is limited for each address: 429 and 503 say that there is no room just now. 421 says that the server was asked for by a name that is none of its own. Where several servers share a Redis, each finds what was made on the others; 410 says that the server of a run has ended, 502 and 503 that a server or the Redis cannot be reached just now. A method that an address does not have is answered with 405 and Allow, a body that comes too slowly with 408. With Accept: application/json every error is {\"error\": \"…\", \"limit\": \"…\"}: what is wrong, in sentences, and the name of the limit that was met, as in the server's metrics, or \"\"."),
			Entries: []Entry{
				{"POST /runs", l.Say("runs a scenario, and leads to the page of the run: 303. A form: yaml is the scenario, JSON too; store is virtual (as where it is left out), wall, or external for the server's own Redis where it has one; slow, on the wall clock, is from 1 to %d; action=step leads to /play with the scenario instead. Mistakes come back in the editor: 422", scenario.MaxSlow)},
				{"GET /runs/{id}", l.Say("the page of a run, while it goes on and after; a run that nobody watches is forgotten after a while")},
				{"GET /runs/{id}/trace", l.Say("the trace of a run: JSON Lines, a header and then an event a line. On the virtual clock a key is gone in the instant in which its lease ends; a real Redis still has it for 1 ms, with a pttl_ms of 0")},
				{"GET /runs/{id}/export?format=F", l.Say("a run as a file; F is one of %s", formats)},
				{"GET /runs/{id}/lanes?row=N", l.Say("the lanes of a run around step N, as HTML with an SVG in it")},
				{"GET /runs/{id}/rows?from=N&count=M", l.Say("up to 32 rows of a run from step N on, as JSON: each as on the socket, and before, the key's state before the first")},
				{"GET /runs/{id}/socket", l.Say("a socket with a run's rows as they come, described below")},
				{"GET /play/socket", l.Say("a socket on which to step through a scenario, described below")},
				{"POST /replay", l.Say("plays a link's text, sent as the body, and answers with what a page needs to show it, as JSON: title, key, head, lua and lanes (HTML), film, and at, the step to stand at. A link without moves is run to its end. With ?row=N only the lanes around step N come back, as HTML")},
				{"POST /export?format=F", l.Say("a link's text, sent as the body, as a file in one of the formats of a run; without ~ and a place, of the run to its end")},
				{"POST /learn/{chapter}/{item}/judge", l.Say("whether the moves of a link's text, or those of {\"schedule\": […]}, sent as the body, reach the goal of an item of the course, as JSON: met, moves (made until then), own (delays and faults), par (how few of these are enough), proven (fewer are not) and over (the run has ended)")},
				{"GET /learn/made?from=L&kind=K", l.Say("a question made of a link's text L: predict (what is seen after the first moves of it?) or break (the rule that takes least)")},
				{"GET /learn/made.yaml?from=L&kind=K", l.Say("the same as an item of the course, in YAML")},
				{"POST /learn/made/judge?rule=R", l.Say("whether the moves of a link's text, sent as the body, break the rule R, as JSON like that of an item")},
				{"POST /s", l.Say("keeps a link's text, sent as the body, and answers {\"path\": \"/s/…\"}, its short address: 201")},
				{"GET /s/{id}", l.Say("the page that plays what is kept under a short address")},
				{"POST /rooms", l.Say("makes a room: a form with example (a name), link (a link's text) or item (chapter/item of the course); or with lesson: the name of one that comes with the playground, a lesson's link, or its file's text. It leads the host there: 303 with a cookie; with Accept: application/json the answer is 201 {\"code\": …, \"secret\": …}")},
				{"GET /room/{code}/socket", l.Say("a member's socket, described below. Where there is no such room: 404; after 60 such codes in a minute from one address: 429")},
				{"GET /room/{code}/branches", l.Say("links to the branches that a room has made, of all scenarios that it has gone through, as JSON: branch, parent, fork, number (of the branch in its scenario, from 0), scene (the number of the scenario, from 0), title, link")},
				{"GET /room/{code}/votes.csv", l.Say("every vote of a room, as CSV, for its host: by the cookie, or with Authorization: Bearer and the secret. Each row has how many voted in its round, the share of them that was right, the step after which it was asked, and the scenario")},
				{"GET /room/{code}/scripts", l.Say("the scripts that a class has handed in last, and what came of each, as a page for its host")},
				{"GET /room/{code}/lesson.yaml", l.Say("what a room's host has gone through, as a lesson: a file, or with Accept: application/json its link")},
				{"GET /room/{code}/log", l.Say("the log of a room, as JSON Lines, for its host")},
				{"GET /qr?text=U", l.Say("the address U of this site as a QR code, in SVG; at most 1200 characters")},
				{"POST /traces", l.Say("keeps a trace, sent as the body, for an hour after the last look at it, and leads to the page that shows it: 303")},
				{"GET /locks/card.svg", l.Say("a report card as a picture: lock, and another one beside it")},
				{"GET /traces/{id}", l.Say("the page of a kept trace; ID can also be LIBRARY.FAULT, as redis-py.lose-reply, for what /locks tells of the locks that people use")},
				{"GET /traces/{id}/again?key=K&threads=WHO", l.Say("reads the log of a kept trace in another way: another key, threads by owner, value or connection; leads to that trace: 303")},
				{"GET /traces/{id}/trace", l.Say("a kept trace, as it was sent")},
				{"GET /traces/{id}/export?format=F", l.Say("a kept trace as a file in one of the formats of a run")},
				{"GET /traces/{id}/lanes?row=N", l.Say("the lanes of a kept trace around step N")},
				{"GET /traces/{id}/rows?from=N&count=M", l.Say("rows of a kept trace, as those of a run")},
				{"POST /lab", l.Say("opens a lab, for visitors on the server's own machine, and leads to its page: 303. A form: threads, 1 to %d, and, where they are not to be found out, key, the lock's, and resource, that of what it protects", lab.MaxThreads)},
				{"GET /lab/{id}", l.Say("the page of a lab; one that nobody looks at is closed after a while")},
				{"GET /lab/{id}/socket", l.Say("a socket on which to steer a lab, described below")},
				{"GET /lab/{id}/trace?branch=N", l.Say("a branch of a lab as a trace: its header has \"store\":\"lab\", and lab: command, by (what beliefs were read from: marks or effects), redis, order (as playground lab -replay takes it) and scripts, the texts of the clients'; its scenario is only a frame")},
				{"GET /lab/{id}/export?branch=N&format=F", l.Say("a branch of a lab as a file in one of the formats of a run")},
				{"GET /schema/{name}", l.Say("the JSON Schema (draft-07) of a scenario, scenario.json, or of a chapter of a course, chapter.json, for editors")},
				{"GET /embed/play", l.Say("what is at the address without /embed, to be framed by another page")},
				{"GET /embed/play/{example}", l.Say("the same for an example, by name")},
				{"GET /embed/s/{id}", l.Say("the same for a short address")},
				{"GET /embed/room/{code}/stage", l.Say("the stage of a room, to be framed: it follows the host, and leads nobody")},
				{"GET /oembed?url=U", l.Say("how another site frames the address U of this one, under /play or /s, as oembed.com has it: JSON with the html of a frame, at most maxwidth by maxheight pixels")},
				{"GET /healthz", l.Say("says ok while the server is up")},
				{"GET /readyz", l.Say("says ready while visitors can be sent here, and 503 once the server is shutting down")},
				{"GET /metrics", l.Say("what the server counts, as Prometheus reads it, unless its operator has switched it off")},
			},
		},
		{
			ID: "socket", Name: l.Say("The socket for stepping: /play/socket"),
			Text: l.Say("A client sends commands, one JSON object a frame, each with an id of its choice. The server answers with frames that carry the id as re; the last one has done: true, or refused with a sentence. Where the server is full the only frame has full: true and refused with a sentence, and the socket is closed with 4029: come back later. Where a mistake of the program's own has ended it, the last frame has broken: true and refused, and the code is 4011."),
			Entries: []Entry{
				{"open", l.Say("opens scenario (YAML or JSON) or link (a link's text), with branches if it had some")},
				{"step", l.Say("moves thread (background: true for its watchdog, node: 3 for one of the nodes that it asks at once, network: true for a request of it that was held up) after the first at moves of branch; without a thread the policy chooses")},
				{"run", l.Say("lets the policy move to: end, violation, mark, or the next outcome of thread")},
				{"time", l.Say("lets time pass to: event, expiry, or by a length such as 50ms")},
				{"strike", l.Say("lets a fault happen, as a scenario words it")},
				{"cut", l.Say("makes a branch of the first at moves")},
				{"drop", l.Say("forgets a branch")},
				{"compare", l.Say("puts branch beside the branch named by with")},
				{"locks", l.Say("plays the branch on two to four protocols")},
				{"lanes", l.Say("draws the lanes around row; without one, around the row to which the first at moves have led")},
				{"trace", l.Say("sends the branch as JSON Lines")},
				{"explore", l.Say("searches every order from: start, or here (after the first moves of branch), with at most so many delays (0 to 4) and faults (0 to 2) of the kinds: one search at a time, of a minute and 50,000 states at most. Frames with re: 0 have explored: going, found as HTML, and at the end the picture; with judge: true instead judged: broken and all, how many orders break a rule and were tried, sound, and unreached, lines by call. Where a script of one's own is wrong, a frame has mistake: its call and line")},
				{"mend", l.Say("looks for what would mend branch: each change of the scenario is tried in every order, within bounds that its moves give, for a minute at most; a search that is under way is stopped. Frames with re: 0 have mended: going, and what is known as HTML")},
				{"goal", l.Say("looks whether the goal of item, something to break in the course, can still be reached from after the first moves of branch; a search that is under way is stopped. A frame with re: 0 has goal: branch, moves, and as HTML what there is to say where no way there was found")},
				{"halt", l.Say("stops the search; what was found stays")},
				{"example", l.Say("opens the smallest order that breaks rule as a branch; went says where to stand")},
				{"walk", l.Say("goes to state, a number in the picture's data-state, on a branch")},
				{"outlook", l.Say("says what becomes of branch after the first moves: outlooks of each choice (-1: nobody moves), lost, after how many moves every order breaks a rule or one is broken, the dot in the picture and the way to it; names are what the branches are called")},
				{"positions", l.Say("in an answer: where the branch stands after each move, with what each thread would do next as options and, as pointless, the faults that would change nothing there: do, thread, at, for and keep say which (one that is left out counts for all), and why says the reason; never, in the answer to open, are those that cannot strike anywhere in the scenario")},
			},
			Example: `{"id": 1, "do": "open", "scenario": "threads: [{name: A}, {name: B}]"}
{"id": 2, "do": "step", "branch": 0, "at": 0, "thread": "B"}
{"id": 3, "do": "strike", "branch": 0, "at": 1, "fault": {"do": "crash", "thread": "B"}}`,
		},
		{
			ID: "lab", Name: l.Say("The socket of a lab: /lab/{id}/socket"),
			Text: l.Say("As on /play/socket, but that clients' commands come by themselves: frames with re: 0 bring a branch with its last position again, whose options have changed, and renew: true where the lock's key was found or a client has said who it is: open again. What is decided in the past of a branch is a round that the clients run again, on a branch of its own."),
			Entries: []Entry{
				{"open", l.Say("sends all that there is")},
				{"step", l.Say("lets a command of thread through, the one with the number nth where several wait; without a thread the first that waits")},
				{"run", l.Say("lets through whatever waits first, to the end of the round or a broken rule")},
				{"strike", l.Say("lets a fault happen: do, and thread where it strikes a command")},
				{"time", l.Say("lets the clock of Redis go on to: expiry")},
				{"cut, drop, compare, lanes, trace", l.Say("as on /play/socket")},
				{"again", l.Say("has the clients begin a round again, on a branch of its own")},
				{"search", l.Say("has them run every order with at most so many faults (0 to 4) of the kinds; 2,000 at most, beyond them some are drawn at random. Frames with re: 0 have searched: going, and what is known as HTML; halt stops it")},
				{"order", l.Say("runs the smallest order that breaks the rule with this number in what was found")},
				{"end", l.Say("closes the lab, for who has opened it")},
			},
			Example: `{"id": 1, "do": "open"}
{"id": 2, "do": "strike", "branch": 0, "at": 0, "fault": {"do": "lose-reply", "thread": "A"}}
{"id": 3, "do": "step", "branch": 0, "at": 0, "thread": "B"}`,
		},
		{
			ID: "live", Name: l.Say("The socket of a run: /runs/{id}/socket"),
			Text: l.Say("Frames carry the rows since ?since=N, the number of the last event that the client has; others carry the lanes as they are. They come at most every 33 ms. With ?pack=1 the page has them in a tenth of the bytes; how they are packed may change at any time. Where the server of the run has ended, the only frame has gone: true and refused with a sentence, and the socket is closed with 4012: stay away. Who started the run may send the following."),
			Entries: []Entry{
				{"pause, resume", l.Say("stops a thread with its watchdog, and lets it go on")},
				{"gate, ungate, admit", l.Say("has a thread's calls wait, lets them pass, or lets one pass")},
				{"crash", l.Say("ends a thread where it stands")},
			},
			Example: `{"thread": "A", "do": "pause"}`,
		},
		{
			ID: "room", Name: l.Say("The socket of a room: /room/{code}/socket"),
			Text: l.Say("A client sends commands, one JSON object a frame; the first is join. Each has an id that is the member's own and grows, a join's aside: one that was decided already is answered as before and does nothing, and one that is neither newer nor remembered is refused as too old. The answer carries it as re, with done: true, or refused with a sentence; where everybody is shown at once what the command came to, that comes first. Beside the answers come frames of the room as it is, absolute, the newest only: epoch, seq (which grows within an epoch) and room. With ?lang=zh-CN all is in Chinese. The socket is closed with 4041 for who was removed, 4042 when the room has ended (the last frame has branches, with the links of /room/{code}/branches), 4043 when the member has joined elsewhere, 1001 when the server ends: come back, with member and token."),
			Entries: []Entry{
				{"join", l.Say("makes one a member: part is host (with secret, unless the cookie has it), stage, player or audience; member and token, from the answer to the first join, make one the same member again. With rows: true the rows come, too, as on /play/socket: opened, which comes again with another scenario, branch with positions and rows, dropped. With scene, the number of the scenario that one's page was made for, set comes when the class is in another: what a phone's page shows of it, as HTML. The answer has member, token, name, part, last (the greatest id so far) mine (one's vote, where something is asked), script (that one has handed in) and lost (one has said so)")},
				{"go", l.Say("a host leads everybody to branch, after the first at moves; row and moment say where within that, focus names the part of the page to look at")},
				{"open", l.Say("a host takes everybody to another scenario in the same room: example, link or item, as POST /rooms has them. Who plays a thread goes on to, where the next scenario has one of that name; the other threads are free. An open question is put away; people, votes and what players may do stay. So do the branches made before, to be taken home, of 32 scenarios at most; ids of branches go on growing")},
				{"lesson", l.Say("a host goes through the lesson that the room was made for: to next (the next place, its question, the votes, the answer), back, or to the step at, from 0. Only hosts see lesson in room: title, step, steps (what each is called), notes, and next: go, return, ask, reveal or tell, or \"\" at the end")},
				{"step", l.Say("moves thread where the room stands, as on /play/socket: a host any thread, a player the own one; without a thread a host goes on as the branch or the policy does. Where several hold a thread it happens when most of those wish so who wished within 10 s; as soon as all have wished; or at once when more than half of those who are here wish the same")},
				{"time", l.Say("a host lets time pass to: event, expiry, or by a length such as 50ms")},
				{"strike", l.Say("has a fault happen, as a scenario words it: a host any; a player has the own thread paused, and where the host allows it crash or lose-reply")},
				{"run", l.Say("a host lets the policy move, from the end of the branch where all stand, to: end, violation, mark, or the next outcome of thread. It goes on by itself, some moves at a time, and the room has going (branch, to, thread), which is null once it has ended; what a host wants next ends it")},
				{"cut", l.Say("a host begins a branch with the first at moves of branch; without at, with those made where all stand")},
				{"add", l.Say("a host has everybody stand after moves, as a schedule has them, or after the first at of them: on a branch that begins with them, or on a new one; instead names a branch that it takes the place of")},
				{"drop", l.Say("a host forgets a branch")},
				{"claim, release", l.Say("a player takes thread, alone or with those who have it, or leaves it")},
				{"give", l.Say("a host hands thread to member; without a member nobody has it")},
				{"deal", l.Say("a host seats everybody who plays and is here, evenly: at all threads, or with tables (1 to 1,000) so that each thread gets at least that many people. Who has a seat keeps it where possible; it works while the class is held, too")},
				{"decide", l.Say("a host ends the wait of a table: with what most wish for thread, or with wish: step, watchdog, pause, crash or lose-reply")},
				{"ask", l.Say("a host asks a question made of the run where the room stands: kind is predict; or with item (chapter/item of the course, of the kinds predict, why, mend and write) that item's own, and everybody goes to its place, in another scenario if it is of one; or the host's own: kind is own, with text (at most 240 characters), options (2 to 6, of at most 120) and right, which of them is, from 0")},
				{"vote", l.Say("a player or one of the audience votes for option, from 0; the last vote counts")},
				{"write", l.Say("a player or one of the audience hands in script (at most 4,096 bytes) where the question is of the kind write; it has call, whose script it is, and start, what it begins with. The server judges it by every order within the item's bounds, and what comes of it is one's vote; the last script counts. Until then frames with judging: true come, one a second. The answer has judged: says, option, right, line (that is wrong, if it is known) and open (a page with the smallest order that breaks a rule)")},
				{"show", l.Say("a host takes everybody to the item's lock with the script that member has handed in last, once the question is revealed. Hosts see in room how many scripts there are: scripts")},
				{"clock", l.Say("a host gives the vote seconds (up to 600; 0 takes the clock away): question has left, and nothing happens when they are over")},
				{"reveal, again, close", l.Say("a host shows the votes, has everybody vote once more, puts the question away")},
				{"tell", l.Say("a host shows all of a question that was revealed: the right answer, which is not shown where fewer than 35 in a hundred were right, and the bars that are veiled")},
				{"veil", l.Say("a host keeps the bars of a first vote for hosts alone until the second is revealed; on: false shows them to all")},
				{"allow", l.Say("a host says which faults players may have happen to their threads: crash, lose-reply")},
				{"hold", l.Say("a host leads while it is on: players' claim, step and strike are refused, and what tables were wishing for is given up; votes and looking go on. on: false lets them move again")},
				{"lock, remove, restore, end", l.Say("a host lets nobody new in but hosts, and nobody take another part (locked: false lets them in again), removes member, takes that back, ends the room and deletes it")},
				{"lobby", l.Say("a host has the stages show how one joins; on: false has them show the run again")},
				{"lost", l.Say("a player or one of the audience is lost, or with on: false follows again: hosts see how many are, and nobody sees who")},
				{"rename", l.Say("draws another nickname; the answer has it as name")},
				{"lanes", l.Say("draws the lanes of branch around row; only the one who asks sees them")},
				{"compare, trace, locks", l.Say("as on /play/socket, for branch: the answer has compared, HTML, or trace. Only the one who asks sees it. They are for who has joined with rows: true, locks for hosts")},
				{"explore, halt, outlook", l.Say("as on /play/socket: a search of one's own, for who has joined with rows: true. It ends when the class goes on to another scenario")},
				{"example, walk", l.Say("as on /play/socket, for hosts: the moves are added, and everybody stands after them")},
				{"ping", l.Say("does nothing, and is answered: a client that has heard nothing for long asks whether the server is still there")},
				{"room", l.Say("in a frame: title, scene (how many scenarios the class has gone through before), branch, at (moves), length (of the branch), row, says (what happened in the row) and why, members (how many players and audience are here), threads by name (by, members, wishes, wished: which member wishes what, wait in seconds, next: what it would do, why it cannot now, knows: what came of its last call, belief: the levels that it acts as if it held), held (the host leads, see hold), question (options, votes, of, round, closed; counts and right are null until reveal, right also until tell where fewer than 35 in a hundred were right; veiled: counts and before are for hosts alone, others have null; talk: the right answer is not shown before a second vote; before has the first round's), goal (null, or in an item of the kind break text, met, moves, own: delays and faults among them, par: how few of these are enough, proven: fewer are not) and, for hosts, people, and lost: how many do not follow any more")},
			},
			Example: `{"id": 1, "do": "join", "part": "player"}
{"id": 2, "do": "claim", "thread": "A"}
{"id": 3, "do": "step", "thread": "A"}`,
		},
		{
			ID: "lesson", Name: l.Say("A lesson"),
			Text: l.Say("A YAML or JSON file of at most 64 KiB, read strictly: what is wrong is named with its line. It has a title and up to 60 steps. A text is one for all languages, or en and zh-CN. The same as a link begins with l1.z. and stands after the # of /room/new."),
			Entries: []Entry{
				{"title", l.Say("what the lesson, or a step, is called; a step without one is called as its scenario")},
				{"example, link, item", l.Say("the scenario that a step is in, as POST /rooms has them; without any it is in that of the step before, and without at where that one is")},
				{"at", l.Say("the row of the run after which the class stands, such as T5; a link has its own place")},
				{"hold", l.Say("true: the host leads from here on; false: the class plays; left out: as before")},
				{"ask", l.Say("predict: what is seen next; item: what the step's item of the course asks, at its place")},
				{"question", l.Say("or a question of your own: text, options (2 to 6), and right, the number of the right one, from 1")},
				{"notes", l.Say("for the host alone: neither a stage nor a phone is sent them")},
			},
			Example: `title: {en: "Who holds it?", zh-CN: "谁持有它？"}
steps:
  - {example: lease-expiry, at: T5, hold: true, ask: predict, notes: Let them talk.}
  - {at: T7, question: {text: "Who is inside?", options: [A, B, A and B], right: 3}}`,
		},
		{
			ID: "own", Name: l.Say("A lock of one's own"),
			Text: l.Say("A scenario's lock with protocol: own has its Lua scripts in it, each in Redis in one go. They run on the virtual clock alone, in a process that can do no harm; a mistake is said with its line."),
			Entries: []Entry{
				{"like", l.Say("a lock that is there (%s): calls without a script are its. Left out: lock and unlock are needed, and leases are renewed only with renew", l.List(scenario.Writable()))},
				{"scripts", l.Say("lock, unlock, renew, and leave for a lock that waits in a line")},
				{"KEYS[1]", l.Say("the lock's key; further keys where the lock that it is like has some. A script may touch no others")},
				{"ARGV", l.Say("lock: owner, level from 1, lease in milliseconds; unlock: owner, level from 1; renew: owner, lease in milliseconds")},
				{"return", l.Say("{1, hold count} done, {0, 0} refused, {-1, 0} not held; or plainly 1 or 0")},
			},
			Example: "lock:\n  protocol: own\n  scripts:\n" + frame(lock.CallLock) + frame(lock.CallUnlock),
		},
		{
			ID: "embed", Name: l.Say("Messages of an embed"),
			Text: l.Say("A page that frames an embed hears its height, and can send it to a step."),
			Entries: []Entry{
				{"relock:height", l.Say("from the embed: v is 1, px its height in pixels")},
				{"relock:seek", l.Say("to the embed: step is the row to stand at")},
			},
			Example: `{"type": "relock:seek", "step": 5}`,
		},
	}
}

// frame is the empty script of a call, as a scenario has it.
func frame(call string) string {
	return "    " + call + ": |\n      " + strings.ReplaceAll(strings.TrimSpace(protocol.Frame(call)), "\n", "\n      ") + "\n"
}

// secondsAStep is about how long a step is looked at.
const secondsAStep = 5

// MinutesOf is about how long it takes to step through so many rows, in whole
// minutes; 0 for more than anybody steps through.
func MinutesOf(steps int) int {
	const most = 20 * 60 / secondsAStep
	if steps > most {
		return 0
	}
	return max(1, (steps*secondsAStep+30)/60)
}

// LevelOf is how hard a scenario is, from 1 to 3: what has to be kept in mind at
// once adds up.
func LevelOf(sc *scenario.Scenario) int {
	level, deep := 1, false
	for _, t := range sc.Threads {
		deep = deep || t.Depth > 1
	}
	faults := len(sc.Faults)
	for _, m := range sc.Schedule {
		if m.Fault != nil {
			faults++
		}
	}
	for _, more := range []bool{len(sc.Threads) > 2, deep && faults > 0, faults > 0, faults > 1, sc.Lock.Nodes > 1, sc.Lock.Nodes > 1} {
		if more {
			level++
		}
	}
	return min(level, 3)
}
