package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"relock/engine/check"
	"relock/engine/verdict"
	"relock/web/film"
	"relock/web/words"
)

// Formats of what a pipeline reads.
const (
	formatTable = "table"
	formatJUnit = "junit" // of JUnit's Ant task, as CI servers read it
	formatSARIF = "sarif" // 2.1.0, OASIS
)

// report is what explore, lab and import found, for a pipeline. The zero value is for a terminal.
type report struct {
	format   string
	subjects []subject
}

// subject is one scenario, log or worker.
type subject struct {
	name      string // for people
	file      string // in which it stands, "" if that is not known
	line      int    // of a broken rule in it, or 0
	code      int    // the exit code
	rules     []string
	kind      check.Kind
	judgement verdict.Judgement
	text      string // what a terminal shows
}

// flag adds -format, with formats of the command's own.
func (r *report) flag(fs *flag.FlagSet, env environment, also ...string) {
	formats := append([]string{formatTable, formatJUnit, formatSARIF}, also...)
	allowed := strings.Join(formats, ", ")
	fs.Func("format", env.say("print in this format `F`: %s (default: table)", allowed), func(text string) error {
		if !slices.Contains(formats, text) {
			return fmt.Errorf("%s", env.say("allowed: %s", allowed))
		}
		r.format = text
		return nil
	})
}

// wanted reports whether a pipeline reads the output.
func (r *report) wanted() bool { return r.format == formatJUnit || r.format == formatSARIF }

// add has a command print a subject, for a terminal or into the report.
func (r *report) add(env environment, s subject, print func(environment) int) int {
	if !r.wanted() {
		return print(env)
	}
	var text, told bytes.Buffer
	within := env
	within.out, within.terminal, within.err = &text, false, io.MultiWriter(env.err, &told)
	s.code = print(within)
	s.text = strings.TrimSpace(text.String() + "\n" + told.String())
	if info, err := os.Stat(s.file); err != nil || info.IsDir() {
		s.file = ""
	}
	r.subjects = append(r.subjects, s)
	return s.code
}

// write prints the report, if one is wanted, and passes an exit code on.
func (r *report) write(env environment, command string, code int) int {
	var data []byte
	var err error
	switch {
	case !r.wanted() || len(r.subjects) == 0:
		return code
	case r.format == formatJUnit:
		data, err = xml.MarshalIndent(r.junit(env.speaks(), command), "", "  ")
		data = append([]byte(xml.Header), data...)
	default:
		data, err = json.MarshalIndent(r.sarif(env.speaks(), command), "", "  ")
	}
	if err == nil {
		_, err = fmt.Fprintf(env.out, "%s\n", data)
	}
	if err != nil {
		env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	return code
}

// A JUnit report: https://github.com/testmoapp/junitxml
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Cases    []junitCase
	}
	junitCase struct {
		XMLName xml.Name `xml:"testcase"`
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		File    string   `xml:"file,attr,omitempty"`
		Failure *junitWhy
		Error   *junitWhy
	}
	junitWhy struct {
		XMLName xml.Name
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
)

func (r *report) junit(l words.Language, command string) junitSuites {
	s := junitSuite{Name: "relock " + command}
	for _, one := range r.subjects {
		c := junitCase{Class: "relock." + command, Name: one.name, File: one.file}
		why := &junitWhy{Message: one.why(l), Text: printable(one.text)}
		switch one.code {
		case exitOK:
		case exitUnexpected:
			why.XMLName.Local, why.Type = "failure", string(verdict.Broken)
			c.Failure = why
			s.Failures++
		default:
			why.XMLName.Local, why.Type = "error", string(verdict.Unjudged)
			c.Error = why
			s.Errors++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	return junitSuites{Suite: s}
}

// printable leaves out what XML cannot hold.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// why says in a line why it did not pass.
func (s subject) why(l words.Language) string {
	var list []string
	for _, rule := range s.rules {
		list = append(list, film.RuleOf(l, s.kind, rule))
	}
	if unjudged := film.Unjudged(l, s.judgement); len(list) == 0 && len(unjudged) > 0 {
		list = []string{unjudged[0] + " " + strings.Join(unjudged[1:], " ")}
	}
	if len(list) == 0 {
		first, _, _ := strings.Cut(s.text[strings.LastIndexByte(s.text, '\n')+1:], "\n")
		list = append(list, first)
	}
	return strings.Join(list, "; ")
}

// A SARIF log: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				Line int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

func (r *report) sarif(l words.Language, command string) sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "relock " + command, Version: builtFrom(), Rules: []sarifRule{}}
	for _, one := range r.subjects {
		result := func(rule, level, about, says string) {
			if !slices.ContainsFunc(run.Tool.Driver.Rules, func(known sarifRule) bool { return known.ID == rule }) {
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule, sarifText{about}})
			}
			found := sarifResult{Rule: rule, Level: level, Message: sarifText{one.name + ": " + says + "\n\n" + one.text}}
			if one.file != "" {
				var at sarifLocation
				at.Physical.Artifact.URI, at.Physical.Region.Line = (&url.URL{Path: filepath.ToSlash(one.file)}).String(), max(one.line, 1)
				found.Locations = []sarifLocation{at}
			}
			run.Results = append(run.Results, found)
		}
		switch {
		case one.code == exitOK:
		case one.code == exitUnexpected && len(one.rules) > 0:
			for _, rule := range one.rules {
				says := film.RuleOf(l, one.kind, rule)
				result(rule, "error", says, says)
			}
		case one.code == exitUnexpected:
			result("not-as-expected", "error", l.Say("not as expected"), one.why(l))
		default:
			result(string(verdict.Unjudged), "warning", l.Say("no rule was broken, but this cannot be judged"), one.why(l))
		}
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}
