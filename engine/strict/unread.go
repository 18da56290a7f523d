package strict

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
)

// Unread is one reason why package yaml does not read a text.
type Unread struct {
	Line int            // from 1
	What phrase.Wording // a clause
}

// WhyUnread tells what is wrong with a text that package yaml refuses: its errors are
// sentences, and nothing else.
func WhyUnread(err error) []Unread {
	lines := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		lines = typed.Errors
	}
	list := make([]Unread, len(lines))
	for n, text := range lines {
		list[n].Line = 1
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			list[n].Line, _ = strconv.Atoi(m[1]) // digits
			text = m[2]
		}
		list[n].Line = max(list[n].Line, 1)
		list[n].What = unread(list[n].Line, text)
	}
	return list
}

var yamlLine = regexp.MustCompile(`^line (\d+): (?s:(.*))$`)

// unread is a sentence of package yaml as a wording.
func unread(line int, text string) phrase.Wording {
	for _, one := range ofYAML {
		if text == string(one) {
			return phrase.Say(one)
		}
	}
	for _, one := range ofValues {
		m := one.is.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		args := make([]any, len(m)-1)
		for n := range args {
			args[n] = m[n+1]
		}
		if one.typed { // the last is a type of Go's
			args[len(args)-1] = shape(m[len(args)])
		}
		return phrase.Say(one.says, args...)
	}
	return phrase.Say("it cannot be read from line %s on", strconv.Itoa(line))
}

// shape is what YAML has for a type of Go's.
func shape(goType string) phrase.Wording {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return Say("a list")
	case strings.HasPrefix(goType, "int"):
		return phrase.Say("a whole number")
	case goType == "bool":
		return phrase.Plain("true, false")
	case goType == "string":
		return phrase.Say("a text")
	default:
		return Say("a map")
	}
}

// ofValues are the sentences of package yaml that name something of the text.
var ofValues = []struct {
	is    *regexp.Regexp
	says  phrase.Text
	typed bool
}{
	{regexp.MustCompile("^cannot unmarshal !!\\S+ (`.*`) into (.*)$"), "given %s, allowed: %s", true},
	{regexp.MustCompile(`^cannot unmarshal !!(seq|map|null) into (.*)$`), "given !!%s, allowed: %s", true},
	{regexp.MustCompile(`^field (.*) not found in type .*$`), "field %s not found", false},
	{regexp.MustCompile(`^field (.*) already set in type .*$`), "field %s is here twice", false},
	{regexp.MustCompile(`^mapping key (".*") already defined at line (\d+)$`), "the key %s is there already, in line %s", false},
	{regexp.MustCompile(`^unknown anchor '(.*)' referenced$`), "unknown anchor '%s' referenced", false},
	{regexp.MustCompile(`^anchor '(.*)' value contains itself$`), "anchor '%s' contains itself", false},
	{regexp.MustCompile(`^exceeded max depth of (\d+)$`), "it is nested deeper than %s", false},
}

// ofYAML are the other sentences of package yaml.
var ofYAML = []phrase.Text{
	"block sequence entries are not allowed in this context",
	"control characters are not allowed",
	"could not find expected ':'",
	"could not find expected directive name",
	"did not find URI escaped octet",
	"did not find expected '!'",
	"did not find expected '-' indicator",
	"did not find expected ',' or ']'",
	"did not find expected ',' or '}'",
	"did not find expected <document start>",
	"did not find expected <stream-start>",
	"did not find expected alphabetic or numeric character",
	"did not find expected comment or line break",
	"did not find expected digit or '.' character",
	"did not find expected hexdecimal number",
	"did not find expected key",
	"did not find expected node content",
	"did not find expected tag URI",
	"did not find expected version number",
	"did not find expected whitespace",
	"did not find expected whitespace or line break",
	"did not find the expected '>'",
	"document contains excessive aliasing",
	"found a tab character that violates indentation",
	"found a tab character where an indentation space is expected",
	"found an incorrect leading UTF-8 octet",
	"found an incorrect trailing UTF-8 octet",
	"found an indentation indicator equal to 0",
	"found character that cannot start any token",
	"found duplicate %TAG directive",
	"found duplicate %YAML directive",
	"found extremely long version number",
	"found incompatible YAML document",
	"found invalid Unicode character escape code",
	"found undefined tag handle",
	"found unexpected document indicator",
	"found unexpected end of stream",
	"found unexpected non-alphabetical character",
	"found unknown directive name",
	"found unknown escape character",
	"incomplete UTF-16 character",
	"incomplete UTF-16 surrogate pair",
	"incomplete UTF-8 octet sequence",
	"invalid Unicode character",
	"invalid leading UTF-8 octet",
	"invalid length of a UTF-8 sequence",
	"invalid trailing UTF-8 octet",
	"map merge requires map or sequence of maps as the value",
	"mapping keys are not allowed in this context",
	"mapping values are not allowed in this context",
	"unexpected low surrogate area",
}
