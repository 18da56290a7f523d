// Package board steps through a scenario, in a class and alone. It must not
// know HTTP or HTML.
//
// In a class a host leads, a stage shows, players are threads, and everybody
// can be asked: that is a [Room]. A visitor who steps alone has a board of one,
// [Alone], with the same commands, decided the same way; the server keeps
// nothing of it. A [Machine] can make the moves there, where no scenario does: a lab.
//
// A room is a log of [Entry] values and the [State] folded from them. A member
// hands in a wish as a [Request]. One place, the [Term] of the server that leads
// the room, decides the requests one after the other; each decision is in the log
// before anybody sees it. Every server that has members of the room follows the
// log, and has the same state and the same run: the moves are in the log, and
// on the virtual clock the same moves give the same run.
package board
