package words

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/number"
)

// noBreak is the space at which no line ends.
const noBreak = "\u00a0"

// units are those before which a line does not end.
var units = []string{"ms", "µs", "s", "min", "h", "d", "kB", "KB", "KiB", "MB", "%"}

// OnPages returns the language as pages say it, where lines are as wide as a window: a number
// and its unit never part, for a no-break space stands between them. Everything else, the
// terminal, files and data, keeps the plain blank, which one can search for and type.
func (l Language) OnPages() Language {
	if l.onPages {
		return l
	}
	return Language{l.elsewhere}
}

// Plain returns the language as everything but pages says it.
func (l Language) Plain() Language {
	if l.onPages {
		return Language{l.elsewhere}
	}
	return l
}

// twice returns a language with its twin on pages.
func twice(d dialect) Language {
	plain, pages := d, d
	plain.elsewhere, pages.elsewhere, pages.onPages = &pages, &plain, true
	return Language{&plain}
}

// Written returns a text in this language that somebody else has written as the language
// writes it: [Unparted] on pages.
func (l Language) Written(text string) string {
	if l.onPages {
		return Unparted(text)
	}
	return text
}

// Unparted returns a text in which no line ends between a number and its unit: a no-break
// space stands there. Every text that a page says is read here, so this is no regular
// expression.
func Unparted(text string) string {
	var out strings.Builder
	from := 0
	for i := 1; i < len(text)-1; i++ {
		if text[i] == ' ' && digit(text[i-1]) && unitFirst(text[i+1:]) && numberLast(text[:i]) {
			out.WriteString(text[from:i])
			out.WriteString(noBreak)
			from = i + 1
		}
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func wordly(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// numberLast reports whether a text that ends in a digit ends in a number: T9 is a name.
func numberLast(text string) bool {
	i := len(text) - 1
	for i > 0 && (digit(text[i-1]) || (text[i-1] == '.' || text[i-1] == ',') && i > 1 && digit(text[i-2])) {
		i--
	}
	return i == 0 || !wordly(text[i-1])
}

// unitFirst reports whether a text starts with a unit or a Han character, before which a number
// nearly always stands for how many there are.
func unitFirst(text string) bool {
	if text[0] >= utf8.RuneSelf && !strings.HasPrefix(text, "µ") {
		r, _ := utf8.DecodeRuneInString(text)
		return unicode.Is(unicode.Han, r)
	}
	for _, unit := range units {
		if rest, ok := strings.CutPrefix(text, unit); ok && (rest == "" || unit == "%" || !wordly(rest[0])) {
			return true
		}
	}
	return false
}

// measured keeps the numbers and units of a length of time together: in every language what
// follows one of its numbers, of whatever digits, is a unit.
func (l Language) measured(length string) string {
	for i := 0; l.onPages && i < len(length); i++ {
		if before, _ := utf8.DecodeLastRuneInString(length[:i]); length[i] == ' ' && unicode.IsDigit(before) {
			length = length[:i] + noBreak + length[i+1:]
		}
	}
	return length
}

// inMillis is a number of milliseconds with its unit.
func (l Language) inMillis(millis string) string {
	t := l.texts()
	return l.measured(t.beforeMillis + millis + t.afterMillis)
}

// Length words a length of time that a scenario has, "80ms", or two with what lies between
// them, "50ms-100ms", as [Language.Duration] words others, but to the microsecond: "80 ms",
// "50 to 100 ms". It returns anything else as it is.
func (l Language) Length(text string) string {
	from, to, between := strings.Cut(text, "-")
	least, err := time.ParseDuration(from)
	if err != nil {
		return text
	}
	if !between {
		return l.exact(least)
	}
	most, err := time.ParseDuration(to)
	if err != nil {
		return text
	}
	first, last := l.exact(least), l.exact(most)
	if most < time.Minute {
		first = l.exactMillis(least) // the unit stands once
	}
	return l.Say("%s to %s", first, last)
}

// exact is Duration, without rounding what is below a minute.
func (l Language) exact(d time.Duration) string {
	if d >= time.Minute {
		return l.Duration(d)
	}
	return l.inMillis(l.exactMillis(d))
}

// exactMillis is Millis, without rounding.
func (l Language) exactMillis(d time.Duration) string {
	if d%time.Millisecond == 0 {
		return l.Millis(d)
	}
	return l.texts().printer.Sprint(number.Decimal(float64(d)/float64(time.Millisecond), number.MaxFractionDigits(3)))
}
