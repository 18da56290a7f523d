package journal

import "strings"

// Tokens returns how many elements a command took out of a list, and how many it put into
// it, given what it was answered.
func Tokens(args []string, reply any, list string) (taken, put int) {
	if len(args) < 2 {
		return 0, 0
	}
	parts, _ := reply.([]any)
	from := len(parts) == 2 && parts[0] == list // of several lists
	switch verb := strings.ToUpper(args[0]); verb {
	case "LPOP", "RPOP":
		switch {
		case args[1] != list || reply == nil:
		case parts != nil: // a count was asked for
			taken = len(parts)
		default:
			taken = 1
		}
	case "BLPOP", "BRPOP":
		if from {
			taken = 1
		}
	case "LMPOP", "BLMPOP":
		if popped, _ := lastOf(parts).([]any); from {
			taken = len(popped)
		}
	case "LMOVE", "RPOPLPUSH", "BLMOVE", "BRPOPLPUSH":
		if reply != nil && args[1] == list {
			taken = 1
		}
		if reply != nil && len(args) > 2 && args[2] == list {
			put = 1
		}
	case "LPUSH", "RPUSH", "LPUSHX", "RPUSHX":
		if args[1] == list && reply != int64(0) {
			put = len(args) - 2
		}
	}
	return taken, put
}

func lastOf(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}
