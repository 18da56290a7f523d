package page

// Diagnosis is what was logged of an incident, and what is asked of it.
type Diagnosis struct {
	Logs    []DiagnosisLog
	Cause   int    // the number of the right one, once it is known
	Told    string // HTML: the remark on it then
	Goal    string // what is asked next
	Next    []LessonOption
	Parting *DiagnosisParting // of a wrong cause
	Printed []DiagnosisAnswer // of the command that was chosen
}

// DiagnosisLog is a log of it.
type DiagnosisLog struct {
	Title string
	Tool  bool // the title is what one types
	Lines []string
}

// DiagnosisParting is where the run of a wrong cause writes something else.
type DiagnosisParting struct {
	Says string
	Diff []ReviewDiff // from the log to the cause's log
}

// DiagnosisAnswer is what a command prints under a cause.
type DiagnosisAnswer struct {
	Cause string // HTML
	Reply string
}
