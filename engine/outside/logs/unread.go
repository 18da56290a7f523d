package logs

import (
	"context"
	"regexp"

	"relock/engine/pause"
	"relock/engine/phrase"
)

// record is how anybody gets a log that can be read, whatever the client.
const record = "redis-cli monitor > monitor.log"

// unread are logs of clients that tell too little to run their commands again.
var unread = []struct {
	line *regexp.Regexp
	says phrase.Text // what it is and lacks, and how to get a log that can be read
}{
	{
		regexp.MustCompile(`\bioredis:(redis|connection|cluster|sentinel\w*|AbstractConnector|StandaloneConnector)\b`),
		"this is the DEBUG output of ioredis, which has no replies and cuts long texts; to get a log that can be read, run the program again while this runs beside it: %s",
	},
	{
		regexp.MustCompile(`\[type=\w+, output=\w+ \[output=|\b(io\.lettuce\.core|i\.l\.c(ore)?\.p(rotocol)?)\.\w+`),
		"this is the DEBUG output of Lettuce, which has neither arguments nor replies; to get a log that can be read, run the program again while this runs beside it: %s",
	},
	{
		regexp.MustCompile(`^\d\d:\d\d:\d\d(\.\d+)? +\[\d+ [^\]]+\] "`),
		"these are lines of MONITOR with only the time of day; to get a log that can be read, run the program again while this runs beside it: %s",
	},
	{
		regexp.MustCompile(`\[Redis\] command=\w+ args=`),
		"this is the log of redis-rb, which has no replies; to get a log that can be read, run the program again while this runs beside it: %s",
	},
	{
		regexp.MustCompile(`\b(org|o)\.(redisson|r)\.\w+|acquired connection for command`),
		"this is a log of Redisson without its commands and replies; to get a log that can be read, set the level TRACE for org.redisson.client.handler, or run the program again while this runs beside it: %s",
	},
}

// mostLooked is how many lines of a file are looked at to say whose log it is.
const mostLooked = 10_000

// whyUnread says why a log of a known client cannot be read; nil if it is none.
func whyUnread(ctx context.Context, lines []line) error {
	for _, l := range lines[:min(len(lines), mostLooked)] {
		if err := pause.Here(ctx); err != nil {
			return err
		}
		for _, u := range unread {
			if u.line.MatchString(l.text) {
				return wrong(l.n, u.says, record)
			}
		}
	}
	return nil
}
