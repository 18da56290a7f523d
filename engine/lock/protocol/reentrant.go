package protocol

import _ "embed" // the scripts

var (
	//go:embed lock.lua
	lockSource string
	//go:embed unlock.lua
	unlockSource string
	//go:embed renew.lua
	renewSource string

	lockScript   = NewScript(CallLock, "lock.lua", lockSource, levelAndLease)
	unlockScript = NewScript(CallUnlock, "unlock.lua", unlockSource, ownerAndLevel)
	renewScript  = NewScript(CallRenew, "renew.lua", renewSource, OwnerAndLease)
)

// Reentrant is one hash, {owner: hold count}. Each call names the level that it
// enters or leaves, so a call that reaches Redis twice counts once. It cannot
// recognize a copy that arrives after the owner has moved on: a late unlock
// leaves a level that was entered again since, and a late lock takes the count
// down to its level. [Sequenced] can. Source: this project; the hash, the count and the
// verbs come from the article "Golang+Redis distributed reentrant lock" (2021).
var Reentrant = &Protocol{
	Name:     "reentrant",
	Summary:  "one Redis hash {owner: hold count}: re-entry counts up, a watchdog renews the lease",
	Lock:     Run(lockScript),
	Unlock:   Run(unlockScript),
	Renew:    Run(renewScript),
	RenewAll: RunAll(renewScript),
	Scripts:  []Script{lockScript, unlockScript, renewScript},
	Levels:   true,
	Counts:   true,
}

func levelAndLease(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.lease)
}

func ownerAndLevel(all []any, r Request) []any { return append(all, r.Words.owner, r.Level) }
