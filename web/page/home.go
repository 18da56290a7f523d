package page

import (
	"slices"
	"strings"

	"github.com/a-h/templ"

	"relock/engine/check"
	"relock/engine/lab"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/film"
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
	Page   Page   `json:"-"`
	Name   string `json:"-"` // of the scenario that is played
	Viewer Viewer `json:"-"`
	Stops  []Stop `json:"stops"`
	Mend   string `json:"-"`    // where its last button leads
	Last   string `json:"last"` // and what it says
}

// Stop is a moment of the run on the front page.
type Stop struct {
	Row  int    `json:"row"`
	Next string `json:"next"` // what the button says there: the next move

	Standing
}

// StopsOf are the moments of a run that the front page shows: somebody is refused;
// then each row in which a lease ends, a rule breaks, or the second thread leaves. Moves
// are what comes after each but the last.
func StopsOf(rows []film.Row, moves []string) []Stop {
	var stops []Stop
	for i := range rows {
		r := &rows[i]
		if len(stops) == 0 {
			if !slices.ContainsFunc(r.Stage.Beliefs, func(b film.Belief) bool { return b.State == film.Waits }) {
				continue
			}
		} else if r.Mark != film.Expiry && r.Mark != film.Broken && r.Mark != film.Released {
			continue
		}
		stop := Stop{Row: r.Step, Standing: Standing{}.After(r)}
		if len(stops) < len(moves) {
			stop.Next = moves[len(stops)]
		}
		stops = append(stops, stop)
	}
	return stops
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

// Incident is what happened, and where to step through it.
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

// Reference are the sections of the API page. Formats are the formats in which you can
// get a run.
func Reference(l words.Language, formats string) []Section {
	return []Section{
		{
			ID: "http", Name: "HTTP",
			Text: l.Say("A link's text is what follows the # in an address of /play: a scenario, its moves, and after ~ the place that it shows. Requests that run something are limited for each address: 429 and 503 say that there is no room right now. 421 says that the request named a host that is not the server's own. If several servers share a Redis, each finds what was made on the others; 410 says that the server of a run has ended, 502 and 503 that a server or the Redis does not answer right now. A wrong method gets 405 with Allow, a body that comes too slowly 408. With Accept: application/json every error is {\"error\": \"…\", \"limit\": \"…\"}: what is wrong, in sentences, and the name of the limit, as in the server's metrics, or \"\"."),
			Entries: []Entry{
				{"POST /runs", l.Say("runs a scenario, and leads to the page of the run: 303. A form: yaml is the scenario, JSON too; store is virtual (the default), wall, or external for the server's own Redis if it has one; slow, on the wall clock, is from 1 to %d; action=step leads to /play with the scenario instead. Mistakes come back in the editor: 422", scenario.MaxSlow)},
				{"GET /runs/{id}", l.Say("the page of a run, during the run and after; the server forgets a run that nobody watches after a while")},
				{"GET /runs/{id}/trace", l.Say("the trace of a run: JSON Lines, a header and then an event a line. On the virtual clock a key is gone the instant its lease ends; a real Redis still has it for 1 ms, with a pttl_ms of 0. The last event of a run on the wall clock says how late its machine was at worst, lateness_ms: from a tenth of the lease on, its instants are not the scenario's")},
				{"GET /runs/{id}/export?format=F", l.Say("a run as a file; F is one of %s", formats)},
				{"GET /runs/{id}/lanes?row=N", l.Say("the lanes of a run around step N, as HTML with an SVG in it")},
				{"GET /runs/{id}/rows?from=N&count=M", l.Say("up to 32 rows of a run from step N on, as JSON: each as on the socket, and before, the key's state before the first")},
				{"GET /runs/{id}/socket", l.Say("a socket with a run's rows as they come, described below")},
				{"GET /play/socket", l.Say("a socket on which to step through a scenario, described below")},
				{"POST /replay", l.Say("plays a link's text, sent as the body, and answers with what a page shows, as JSON: title, key, head, lua and lanes (HTML), film, and at, the step to show. A link without moves runs to its end. With ?row=N only the lanes around step N come back, as HTML")},
				{"POST /export?format=F", l.Say("a link's text, sent as the body, as a file in one of the formats of a run; without ~ and a place, of the whole run")},
				{"POST /learn/{chapter}/{item}/judge", l.Say("whether the moves of a link's text, or those of {\"schedule\": […]}, sent as the body, reach the goal of an item of the course, as JSON: met, moves (made until then), own (delays and faults), par (how few of these are enough), proven (fewer are not) and over (the run has ended)")},
				{"GET /learn/made?from=L&kind=K", l.Say("a question made of a link's text L: predict (what comes after its first moves?) or break (the rule that is easiest to break)")},
				{"GET /learn/made.yaml?from=L&kind=K", l.Say("the same as an item of the course, in YAML")},
				{"POST /learn/made/judge?rule=R", l.Say("whether the moves of a link's text, sent as the body, break the rule R, as JSON, like for an item")},
				{"POST /s", l.Say("keeps a link's text, sent as the body, and answers {\"path\": \"/s/…\"}, its short address: 201")},
				{"GET /s/{id}", l.Say("the page that plays what is kept under a short address")},
				{"POST /rooms", l.Say("makes a room: a form with example (a name), link (a link's text) or item (chapter/item of the course); or with lesson: the name of one that comes with the playground, a lesson's link, or its file's text. It leads the host there: 303 with a cookie; with Accept: application/json the answer is 201 {\"code\": …, \"secret\": …}")},
				{"GET /room/{code}/socket", l.Say("a member's socket, described below. Where there is no such room: 404; after 60 such codes in a minute from one address: 429")},
				{"GET /room/{code}/branches", l.Say("links to the branches that a room has made in all of its scenarios, as JSON: branch, parent, fork, number (of the branch in its scenario, from 0), scene (the number of the scenario, from 0), title, link")},
				{"GET /room/{code}/votes.csv", l.Say("every vote of a room, as CSV, for its host: by the cookie, or with Authorization: Bearer and the secret. Each row has how many voted in its round, the share of them that was right, the step after which it was asked, and the scenario")},
				{"GET /room/{code}/scripts", l.Say("the scripts that a class handed in last, each with its verdict, as a page for its host")},
				{"GET /room/{code}/lesson.yaml", l.Say("the places a room's host has been to, as a lesson: a file, or with Accept: application/json its link")},
				{"GET /room/{code}/log", l.Say("the log of a room, as JSON Lines, for its host")},
				{"GET /qr?text=U", l.Say("the address U of this site as a QR code, in SVG; at most 1200 characters")},
				{"POST /traces", l.Say("keeps a trace, sent as the body, for an hour after its last view, and leads to the page that shows it: 303")},
				{"GET /locks/card.svg", l.Say("a report card as a picture: lock, and another one beside it")},
				{"GET /traces/{id}", l.Say("the page of a kept trace; ID can also be LIBRARY.FAULT, such as redis-py.lose-reply, for the libraries on /locks")},
				{"GET /traces/{id}/again?key=K&kind=KIND&threads=WHO", l.Say("reads the log of a kept trace in another way: another key, another kind of lock (%s), or threads by owner, value or connection; leads to the new trace: 303", check.Kinds)},
				{"GET /traces/{id}/trace", l.Say("a kept trace, as it was sent")},
				{"GET /traces/{id}/export?format=F", l.Say("a kept trace as a file in one of the formats of a run")},
				{"GET /traces/{id}/lanes?row=N", l.Say("the lanes of a kept trace around step N")},
				{"GET /traces/{id}/rows?from=N&count=M", l.Say("rows of a kept trace, like those of a run")},
				{"POST /lab", l.Say("opens a lab, for visitors on the server's own machine, and leads to its page: 303. A form: threads, 1 to %d, and, unless the lab should find them out, key, the lock's, and resource, the key of what it protects", lab.MaxThreads)},
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
				{"GET /healthz", l.Say("says ok while the server works, and 503 if nobody gets a turn for 5 seconds while somebody waits")},
				{"GET /readyz", l.Say("says ready while the server takes visitors, and 503 once it is shutting down or nobody gets a turn")},
				{"GET /metrics", l.Say("the server's metrics, as Prometheus reads them, unless its operator has switched them off")},
			},
		},
		{
			ID: "socket", Name: l.Say("The socket for stepping: /play/socket"),
			Text: l.Say("A client sends commands, one JSON object a frame, each with an id of its choice. The server answers with frames that carry the id as re; the last one has done: true, or refused with a sentence. If the server is full, the only frame has full: true and refused with a sentence, and the socket is closed with 4029: come back later. If a bug in the server has ended it, the last frame has broken: true and refused, and the code is 4011."),
			Entries: []Entry{
				{"open", l.Say("opens scenario (YAML or JSON) or link (a link's text), with branches if it had some")},
				{"step", l.Say("moves thread (background: true for its watchdog, node: 3 for one of the nodes that it asks at once, network: true for its delayed request) after the first at moves of branch; without a thread the policy chooses")},
				{"run", l.Say("lets the policy move to: end, violation, mark, or the next outcome of thread")},
				{"time", l.Say("lets time pass to: event, expiry, or by a length such as 50ms")},
				{"strike", l.Say("lets a fault happen, as a scenario words it")},
				{"cut", l.Say("makes a branch of the first at moves")},
				{"drop", l.Say("forgets a branch")},
				{"compare", l.Say("puts branch beside the branch named by with")},
				{"locks", l.Say("plays the branch on two to four protocols")},
				{"lanes", l.Say("draws the lanes around row; without one, around the row after the first at moves")},
				{"trace", l.Say("sends the branch as JSON Lines")},
				{"explore", l.Say("searches every order from: start, or here (after the first moves of branch), with at most so many delays (0 to 4) and faults (0 to 2) of the kinds: one search at a time, of a minute and 50,000 states at most. Frames with re: 0 have explored: going, found as HTML, and at the end the picture; with judge: true instead judged: broken and all, how many orders break a rule and were tried, sound, and unreached, lines by call. If a visitor's script is wrong, a frame has mistake: its call and line")},
				{"mend", l.Say("looks for what would mend branch: it tries each change of the scenario in every order, within bounds that its moves give, for a minute at most; it stops a running search. Frames with re: 0 have mended: going, and what is known as HTML")},
				{"causes", l.Say("says how branch came to break a rule: in causes at most five links as HTML, and the row that breaks it, which is row or, where that breaks none, the first that does")},
				{"goal", l.Say("checks whether the goal of item, something to break in the course, can still be reached after the first moves of branch; it stops a running search. A frame with re: 0 has goal: branch, moves, and, if no way was found, a message as HTML")},
				{"halt", l.Say("stops the search and keeps what it found")},
				{"example", l.Say("opens the smallest order that breaks rule as a branch; went says the place to show")},
				{"walk", l.Say("goes to state, a number in the picture's data-state, on a branch")},
				{"outlook", l.Say("says what becomes of branch after the first moves: outlooks, one for each choice (-1: no thread moves), lost, after how many moves every order breaks a rule or one is broken, the dot in the picture and the way to it; names are the branches' names")},
				{"positions", l.Say("in an answer: the state of the branch after each move, with each thread's next step as options and, as pointless, the faults that would change nothing there: do, thread, at, for and keep say which (a missing one means all), and why gives the reason; never, in the answer to open, lists those that cannot strike anywhere in the scenario")},
			},
			Example: `{"id": 1, "do": "open", "scenario": "threads: [{name: A}, {name: B}]"}
{"id": 2, "do": "step", "branch": 0, "at": 0, "thread": "B"}
{"id": 3, "do": "strike", "branch": 0, "at": 1, "fault": {"do": "crash", "thread": "B"}}`,
		},
		{
			ID: "lab", Name: l.Say("The socket of a lab: /lab/{id}/socket"),
			Text: l.Say("As on /play/socket, but that clients' commands come by themselves: frames with re: 0 bring a branch with its last position again, whose options have changed, and renew: true once the lock's key is found or a client has said who it is: open again. A decision in the past of a branch makes the clients run the round again, on a new branch."),
			Entries: []Entry{
				{"open", l.Say("sends everything")},
				{"step", l.Say("lets a command of thread through, number nth if several wait; without a thread the first that waits")},
				{"run", l.Say("lets through whatever waits first, to the end of the round or a broken rule")},
				{"strike", l.Say("lets a fault happen: do, and thread where it strikes a command")},
				{"time", l.Say("lets the clock of Redis go on to: expiry")},
				{"cut, drop, compare, lanes, trace, halt", l.Say("as on /play/socket")},
				{"again", l.Say("makes the clients begin a round again, on a new branch")},
				{"search", l.Say("has them run every order with at most so many faults (0 to 4) of the kinds; 2,000 at most, and some more drawn at random. Frames with re: 0 have searched: going, and what is known as HTML; halt stops it")},
				{"order", l.Say("runs the smallest order that breaks the rule with this number in what was found")},
				{"end", l.Say("closes the lab, for the visitor who opened it")},
			},
			Example: `{"id": 1, "do": "open"}
{"id": 2, "do": "strike", "branch": 0, "at": 0, "fault": {"do": "lose-reply", "thread": "A"}}
{"id": 3, "do": "step", "branch": 0, "at": 0, "thread": "B"}`,
		},
		{
			ID: "live", Name: l.Say("The socket of a run: /runs/{id}/socket"),
			Text: l.Say("Frames carry the rows since ?since=N, the number of the last event that the client has; other frames carry the current lanes. They come at most every 33 ms. With ?pack=1 the page has them in a tenth of the bytes; how they are packed may change at any time. If the server of the run has ended, the only frame has gone: true and refused with a sentence, and the socket is closed with 4012: do not come back. The visitor who started the run may send the following."),
			Entries: []Entry{
				{"pause, resume", l.Say("stops a thread with its watchdog, and lets it go on")},
				{"gate, ungate, admit", l.Say("has a thread's calls wait, lets them pass, or lets one pass")},
				{"crash", l.Say("ends a thread at once")},
			},
			Example: `{"thread": "A", "do": "pause"}`,
		},
		{
			ID: "room", Name: l.Say("The socket of a room: /room/{code}/socket"),
			Text: l.Say("A client sends commands, one JSON object a frame; the first is join. Except for join, each has an id that the member chooses and that grows: an id that was already decided gets the same answer again and does nothing; one that is neither newer nor remembered is refused as too old. The answer carries it as re, with done: true, or refused with a sentence; if everybody sees the result of the command at once, that comes first. Other frames carry the whole state of the room, the newest only: epoch, seq (which grows within an epoch) and room. With ?lang=zh-CN all is in Chinese. The socket is closed with 4041 when the member was removed, 4042 when the room has ended (the last frame has branches, with the links of /room/{code}/branches), 4043 when the member has joined elsewhere, 1001 when the server ends: come back, with member and token."),
			Entries: []Entry{
				{"join", l.Say("joins as a member: part is host (with secret, unless the cookie has it), stage, player or audience; with member and token from the answer to the first join, the client is the same member again. With rows: true the rows come, too, as on /play/socket: opened, which comes again with another scenario, branch with positions and rows, dropped. With scene, the number of the scenario that the client's page was made for, set comes when the class is in another: what a phone's page shows of it, as HTML. The answer has member, token, name, part, last (the greatest id so far), mine (the member's vote, if a question is open), script (the one handed in) and lost (the member has said so)")},
				{"go", l.Say("a host leads everybody to branch, after the first at moves; row and moment say where within that, focus names the part of the page to look at")},
				{"open", l.Say("a host takes everybody to another scenario in the same room: example, link or item, as POST /rooms has them. Players keep their thread if the next scenario has one of that name; the other threads are free. An open question is closed; people, votes and the players' rights stay. So do the earlier branches, to take home, of 32 scenarios at most; ids of branches keep growing")},
				{"lesson", l.Say("a host goes through the lesson that the room was made for: to next (the next place, its question, the votes, the answer), back, or to the step at, from 0. Only hosts see lesson in room: title, step, steps (their names), notes, and next: go, return, ask, reveal, again or tell, or \"\" at the end")},
				{"step", l.Say("moves thread at the room's place, as on /play/socket: a host moves any thread, a player their own; without a thread a host goes on as the branch or the policy does. If several players share a thread, it moves when most of those who voted within 10 s want it; as soon as all have voted; or at once when more than half of those present vote the same")},
				{"time", l.Say("a host lets time pass to: event, expiry, or by a length such as 50ms")},
				{"strike", l.Say("injects a fault, as a scenario words it: a host any; a player pauses their own thread or, if the host allows it, uses crash or lose-reply")},
				{"run", l.Say("a host lets the policy move, from the end of the room's branch, to: end, violation, mark, or the next outcome of thread. It goes on by itself, some moves at a time, and the room has going (branch, to, thread), which is null once it has ended; the host's next command ends it")},
				{"cut", l.Say("a host begins a branch with the first at moves of branch; without at, with the moves made up to the room's place")},
				{"add", l.Say("a host takes everybody to the place after moves, as a schedule has them, or after the first at of them: on a branch that begins with them, or on a new one; instead names a branch that it replaces")},
				{"drop", l.Say("a host forgets a branch")},
				{"claim, release", l.Say("a player takes thread, alone or together with its other players, or leaves it")},
				{"give", l.Say("a host seats member at thread, with those who play it already; over: true hands it over, and they lose it; without a member nobody plays it. A stage plays no thread")},
				{"deal", l.Say("a host seats everybody who plays and is here, evenly: at all threads, or with tables (1 to 1,000) so that each thread gets at least that many people. Players keep their seat where possible; it works while the class is held, too")},
				{"decide", l.Say("a host decides for a table: by the majority for thread, or by wish: step, watchdog, pause, crash or lose-reply")},
				{"ask", l.Say("a host asks a question made from the run at the room's place: kind is predict; or with item (chapter/item of the course, of the kinds predict, why, mend and write) that item's own, and everybody goes to its place, in another scenario if need be; or the host's own: kind is own, with text (at most 240 characters), options (2 to 6, of at most 120) and right, the number of the right one, from 0")},
				{"vote", l.Say("a player or one of the audience votes for option, from 0; the last vote counts")},
				{"write", l.Say("a player or one of the audience hands in script (at most 4,096 bytes) if the question is of the kind write; it has call, whose script it is, and start, what it begins with. The server judges it by every order within the item's bounds, and the verdict is the member's vote; the last script counts. Until then frames with judging: true come, one a second. The answer has judged: says, option, right, line (that is wrong, if it is known) and open (a page with the smallest order that breaks a rule)")},
				{"show", l.Say("a host takes everybody to the item's lock with the script that member has handed in last, once the question is revealed. Hosts see in room how many scripts there are: scripts")},
				{"clock", l.Say("a host gives the vote seconds (up to 600; 0 takes the clock away): question has left, and nothing happens when they are over")},
				{"reveal, again, close", l.Say("a host shows the votes, has everybody vote again, closes the question")},
				{"tell", l.Say("a host shows all of a revealed question: the right answer, which stays hidden if fewer than 35 in a hundred were right, and the veiled bars")},
				{"veil", l.Say("a host veils the bars of a first vote: only hosts see them until the second is revealed; on: false shows them to all")},
				{"allow", l.Say("a host says which faults players may inject into their own threads: crash, lose-reply")},
				{"hold", l.Say("a host leads while it is on: players' claim, step and strike are refused, and the tables' open votes for a move are dropped; question votes and looking go on. on: false lets them move again")},
				{"lock, remove, restore, end", l.Say("a host locks the room: only new hosts get in, and nobody changes their part (locked: false unlocks it); removes member; undoes that; ends the room and deletes it")},
				{"lobby", l.Say("a host has the stages show how to join; on: false shows the run again")},
				{"lost", l.Say("a player or one of the audience is lost, or with on: false follows again: hosts see how many are, and nobody sees who")},
				{"rename", l.Say("draws another nickname; the answer has name")},
				{"lanes", l.Say("draws the lanes of branch around row; only the member who asks sees them")},
				{"compare, trace, locks", l.Say("as on /play/socket, for branch: the answer has compared, HTML, or trace. Only the member who asks sees it. For members who joined with rows: true, locks for hosts")},
				{"explore, mend, causes, goal, halt, outlook", l.Say("as on /play/socket: the member's own search, for members who joined with rows: true. It ends when the class goes on to another scenario")},
				{"example, walk", l.Say("as on /play/socket, for hosts: it adds the moves and takes everybody to their end")},
				{"ping", l.Say("does nothing and gets an answer: a client that has heard nothing for a long time asks whether the server is still there")},
				{"room", l.Say("in a frame: title, scene (how many scenarios the class has gone through before), branch, at (moves), length (of the branch), row, says (what happened in the row) and why, members (how many players and audience are here), threads by name (by, members, wishes, wished: what each member wishes, wait in seconds, next: what it would do, why it cannot now, knows: the result of its last call, belief: the levels that it acts as if it held), held (the host leads, see hold), question (options, votes, of, round, closed; counts and right are null until reveal, right also until tell if fewer than 35 in a hundred were right; veiled: counts and before are for hosts alone, others have null; talk: the right answer is not shown before a second vote; before has the first round's), goal (null, or in an item of the kind break text, met, moves, own: delays and faults among them, par: how few of these are enough, proven: fewer are not) and, for hosts, people, and lost: how many do not follow any more")},
				{"stage, broken", l.Say("in a room: who believes what there, and what Redis says, as pages draw it, without the beliefs while a question is open; and the rule that the row breaks")},
			},
			Example: `{"id": 1, "do": "join", "part": "player"}
{"id": 2, "do": "claim", "thread": "A"}
{"id": 3, "do": "step", "thread": "A"}`,
		},
		{
			ID: "lesson", Name: l.Say("A lesson"),
			Text: l.Say("A YAML or JSON file of at most 64 KiB, read strictly: each mistake is named with its line. It has a title and up to 60 steps. A text is one for all languages, or en and zh-CN. As a link it begins with l1.z. and follows the # of /room/new."),
			Entries: []Entry{
				{"title", l.Say("the title of the lesson, or of a step; a step without one has the title of its scenario")},
				{"example, link, item", l.Say("the scenario of a step, as POST /rooms has them; without one, it is the scenario of the step before, and without at also its place")},
				{"scenario", l.Say("or a scenario of your own, with the keys of a scenario's file")},
				{"chapter", l.Say("or the id of a chapter of the course: each of its items that a class can vote on is a step")},
				{"at", l.Say("the row of the run that the class is at, such as T5; a link has its own place")},
				{"hold", l.Say("true: the host leads from here on; false: the class plays; left out: as before")},
				{"ask", l.Say("predict: what comes next; item: what the step's item of the course asks, at its place")},
				{"question", l.Say("or a question of your own: text, options (2 to 6), and right, the number of the right one, from 1")},
				{"notes", l.Say("for the host alone: stages and phones do not get them")},
			},
			Example: `title: {en: "Who holds it?", zh-CN: "谁持有它？"}
steps:
  - {example: lease-expiry, at: T5, hold: true, ask: predict, notes: Let them talk.}
  - {at: T7, question: {text: "Who is inside?", options: [A, B, A and B], right: 3}}`,
		},
		{
			ID: "own", Name: l.Say("A lock of your own"),
			Text: l.Say("A lock with protocol: own has its Lua scripts in the scenario; each runs in Redis as one step. They run on the virtual clock only, in a process that can do no harm; each mistake is reported with its line."),
			Entries: []Entry{
				{"release", l.Say("once: the client does not send a release again that got no answer. If left out, it asks until the lease is over")},
				{"like", l.Say("an existing lock (%s): calls without a script use its scripts. If left out, lock and unlock are required, and leases are renewed only with renew", l.List(scenario.Writable()))},
				{"scripts", l.Say("lock, unlock, renew, and leave for a lock with a queue")},
				{"KEYS[1]", l.Say("the lock's key, and more keys if the lock that it is like has some. A script may touch no others but those made of one")},
				{"ARGV", l.Say("lock: owner, level from 1, lease in milliseconds; unlock: owner, level from 1; renew: owner, lease in milliseconds")},
				{"return", l.Say("{1, hold count} done, {0, 0} refused, {-1, 0} not held; or just 1, 0 or -1; or what replies: says")},
				{"args", l.Say("what each script gets as ARGV instead, by call: %s, a number, or a text in quotes", l.List(protocol.ArgWords))},
				{"keys", l.Say("what the scripts get as KEYS, with {key} for the lock's key, which is the first")},
				{"replies", l.Say("what each script returns, by call: entered and refused of lock, released, entered (levels remain) and refused of unlock, renewed and refused of renew; each is nil, a number, OK, a text in quotes or, of a refused lock, pttl")},
			},
			Example: "lock:\n  protocol: own\n  scripts:\n" + frame(lock.CallLock) + frame(lock.CallUnlock),
		},
		{
			ID: "embed", Name: l.Say("Messages of an embed"),
			Text: l.Say("A page that frames an embed hears its height, and can send it to a step."),
			Entries: []Entry{
				{"relock:height", l.Say("from the embed: v is 1, px is its height in pixels")},
				{"relock:seek", l.Say("to the embed: step is the row to show")},
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

// LevelOf is how hard a scenario is, from 1 to 3: the more there is to keep in mind at
// once, the harder.
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
