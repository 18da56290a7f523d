package scenario

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"relock/engine/strict"

	"go.yaml.in/yaml/v3"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
)

// conventionForm returns an own lock's convention as JSON has it, in the order of the
// calls: nothing for parts that are as usual.
func (l Lock) conventionForm() (args, replies object) {
	for _, call := range ownCalls {
		if list, ok := l.Convention.Args[call]; ok {
			args = append(args, member{call, protocol.ArgTexts(list)})
		}
		if list, ok := l.Convention.Replies[call]; ok {
			var said object
			for _, outcome := range []string{protocol.Entered, protocol.Released, protocol.Renewed, protocol.RefusedWord} {
				if one, ok := list[outcome]; ok {
					said = append(said, member{outcome, answerForm(one)})
				}
			}
			replies = append(replies, member{call, said})
		}
	}
	return args, replies
}

// answerForm is a number as a number, and a word or a text as a text.
func answerForm(a protocol.Answer) any {
	switch a.Kind {
	case protocol.AnswerNumber:
		return a.Number
	case protocol.AnswerText:
		return a.Text
	default:
		return a.String()
	}
}

// convention reads how the scripts of a user's own lock are called, and what they return.
func (p *parser) convention(f strict.Map, l *Lock) {
	calls := l.Scripts.Calls()
	p.args(f, calls, l)
	p.keys(f, l)
	p.replies(f, calls, l)
}

// quotedText reports whether a value is a text in quotes, as all texts of JSON are.
func quotedText(v strict.Value) bool {
	return v.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
}

// asItIs reports whether a text can be an argument or a reply as it is.
func asItIs(text string) bool {
	return text != "" && utf8.RuneCountInString(text) <= MaxWord && printable(text)
}

func (p *parser) args(f strict.Map, calls []string, l *Lock) {
	v, ok := f["args"]
	if !ok {
		return
	}
	allowed := strict.Say("%s, a number, or a text of 1 to %s characters in quotes", strings.Join(protocol.ArgWords, ", "), MaxWord)
	lists := p.Fields(v, calls...)
	for _, call := range slices.Sorted(maps.Keys(lists)) {
		args := []protocol.Arg{}
		for _, one := range p.List(lists[call], MaxArgs, "a list of at most %s arguments", "%s arguments") {
			text, is := p.Scalar(one, allowed)
			switch {
			case !is:
			case slices.Contains(protocol.ArgWords, text):
				args = append(args, protocol.Arg{Word: text})
			case asItIs(text) && (quotedText(one) || one.Tag == "!!int" || one.Tag == "!!float"):
				args = append(args, protocol.Arg{Text: text})
			default:
				p.Wrong(one, strict.Quoted(text), allowed)
			}
		}
		if l.Convention.Args == nil {
			l.Convention.Args = map[string][]protocol.Arg{}
		}
		l.Convention.Args[call] = args
	}
}

// wholeSeconds refuses a lease that a script cannot be given in seconds.
func (p *parser) wholeSeconds(f strict.Map, l *Lock) {
	if !l.InSeconds() || l.Lease%time.Second == 0 {
		return
	}
	p.Wrong(f["args"], strict.Say("%[1]s with a lease of %[2]s", protocol.ArgLeaseS, phrase.Duration(l.Lease)), strict.Say("a lease in whole seconds: EXPIRE takes no other"))
}

// firstKey is what the first of the keys may be.
func firstKey() phrase.Wording {
	return strict.Say("%s in quotes, or a part of the lock's key from which the scripts make it: the first", protocol.KeyPlace)
}

// madeKey refuses a first key of which the lock's cannot be made.
func (p *parser) madeKey(f strict.Map, l *Lock) {
	if keys := l.Convention.Keys; len(keys) > 0 && keys[0] != protocol.KeyPlace && (keys[0] == l.Key || !strings.Contains(l.Key, keys[0])) {
		p.Wrong(f["keys"], strict.Quoted(keys[0]), firstKey())
	}
}

// InSeconds reports whether a user's script gets the lease in seconds.
func (l Lock) InSeconds() bool {
	for _, args := range l.Convention.Args {
		if slices.ContainsFunc(args, func(a protocol.Arg) bool { return a.Word == protocol.ArgLeaseS }) {
			return true
		}
	}
	return false
}

func (p *parser) keys(f strict.Map, l *Lock) {
	v, ok := f["keys"]
	if !ok {
		return
	}
	if l.base().Companions != nil {
		p.Wrong(v, strict.TheKey("keys"), strict.Say("only where like: has a lock with one key; the scripts of %s get its keys", l.Like))
		return
	}
	before := len(p.Mistakes)
	list := p.List(v, MaxKeys, "a list of at most %s keys", "%s keys")
	var keys []string
	for i, one := range list {
		allowed := strict.Say("text of at most %[1]s characters with %[2]s, %[3]s or %[4]s in it, without spaces and other braces, in quotes; each once", MaxKey, protocol.KeyPlace, protocol.OwnerPlace, protocol.RequestPlace)
		if i == 0 {
			allowed = firstKey()
		}
		text, is := p.Scalar(one, allowed)
		if !is {
			continue
		}
		rest := text
		for _, place := range []string{protocol.KeyPlace, protocol.OwnerPlace, protocol.RequestPlace} {
			rest = strings.Replace(rest, place, "", 1)
		}
		if i == 0 && text != protocol.KeyPlace && rest != text || i > 0 && rest == text || text == "" || utf8.RuneCountInString(text) > MaxKey || !printable(text) || strings.ContainsAny(rest, " {}") || slices.Contains(keys, text) {
			p.Wrong(one, strict.Quoted(text), allowed)
			continue
		}
		keys = append(keys, text)
	}
	if len(p.Mistakes) == before && len(list) == 0 {
		p.Wrong(v, strict.Say("an empty list"), firstKey())
	}
	l.Convention.Keys = keys
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]{1,15}$`)

func (p *parser) replies(f strict.Map, calls []string, l *Lock) {
	v, ok := f["replies"]
	if !ok {
		return
	}
	calls = slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return protocol.Outcomes(call) == nil })
	given := p.Fields(v, calls...)
	for _, call := range slices.Sorted(maps.Keys(given)) {
		one, outcomes := given[call], protocol.Outcomes(call)
		replies := protocol.Replies{}
		before := len(p.Mistakes)
		named := p.Fields(one, outcomes...)
		for _, outcome := range outcomes { // in order: the second of two that are alike is wrong
			answer, is := named[outcome]
			if !is {
				continue
			}
			a, ok := p.answer(answer, call == protocol.CallLock && outcome == protocol.RefusedWord)
			if !ok {
				continue
			}
			for _, other := range outcomes {
				if b, is := replies[other]; is && a.Alike(b) {
					p.Wrong(answer, strict.Say("%[1]s for %[2]s, and %[3]s for %[4]s", a, outcome, b, other), strict.Say("replies that can be told apart"))
				}
			}
			replies[outcome] = a
		}
		switch _, clear := replies.Rest(call); {
		case len(p.Mistakes) > before:
		case len(replies) == 0:
			p.Wrong(one, strict.Say("no reply"), strict.Say("at least one of %s", strings.Join(outcomes, ", ")))
		case !clear:
			p.Wrong(one, strict.Say("only %s", protocol.RefusedWord), strict.Say("also %[1]s or %[2]s: what is not named could be either", protocol.Released, protocol.Entered))
		}
		if l.Convention.Replies == nil {
			l.Convention.Replies = map[string]protocol.Replies{}
		}
		l.Convention.Replies[call] = replies
	}
}

// answer reads what a script returns.
func (p *parser) answer(v strict.Value, pttl bool) (protocol.Answer, bool) {
	words := protocol.NilWord
	if pttl {
		words = fmt.Sprintf("%s, %s", protocol.NilWord, protocol.PTTLWord)
	}
	allowed := strict.Say("%[1]s, a whole number, OK, or a text of 1 to %[2]s characters in quotes", words, MaxWord)
	text, ok := p.Scalar(v, allowed)
	switch {
	case !ok:
		return protocol.Answer{}, false
	case text == protocol.NilWord:
		return protocol.Answer{Kind: protocol.AnswerNil}, true
	case text == protocol.PTTLWord && pttl:
		return protocol.Answer{Kind: protocol.AnswerPTTL}, true
	case v.Tag == "!!int" && wholeNumber.MatchString(text):
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			return protocol.Answer{Kind: protocol.AnswerNumber, Number: n}, true
		}
	case text != protocol.PTTLWord && asItIs(text) && (quotedText(v) || text == "OK"):
		return protocol.Answer{Kind: protocol.AnswerText, Text: text}, true
	}
	p.Wrong(v, strict.Quoted(text), allowed)
	return protocol.Answer{}, false
}
