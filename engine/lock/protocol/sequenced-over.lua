-- Remember that a call is over, apart from its release.
-- KEYS[1]  calls that are over: a hash {owner/locker: "number until"}
-- Returns  {1, 0}
remember(KEYS[1])
return {1, 0}
