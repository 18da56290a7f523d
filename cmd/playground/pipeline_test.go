package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"relock/engine/racetest"
)

// files for pipelines: a lock that breaks, one that does not, and one that cannot be judged.
func pipelineFiles(t *testing.T) (broken, unbroken, unjudged string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir) // what is reported is relative to where a pipeline is
	for name, text := range map[string]string{
		"broken.yaml":   "threads: [{name: A, work: 50ms}, {name: B, work: 50ms}]\nlock: {protocol: mutex-unsafe, lease: 20ms, watchdog: off}\n",
		"unbroken.yaml": "threads: [{name: A, work: 5ms}, {name: B, work: 5ms}]\n",
		"unjudged.yaml": "title: \"One & <only>\"\nthreads: [{name: A, work: 5ms}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "broken.yaml", "unbroken.yaml", "unjudged.yaml"
}

func TestPipelinesReadJUnit(t *testing.T) {
	racetest.Skip(t)
	broken, unbroken, unjudged := pipelineFiles(t)
	r := playground(t, "", "explore", "-check-redis=false", "-delays", "0", "-format", "junit", broken, unbroken, unjudged)
	var suites struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				File    string `xml:"file,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Error *struct {
					Message string `xml:"message,attr"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(r.out), &suites); err != nil || r.code != exitUnexpected {
		t.Fatalf("exit code %d, %v:\n%s%s", r.code, err, r.out, r.err)
	}
	s := suites.Suite
	if s.Tests != 3 || s.Failures != 1 || s.Errors != 1 || len(s.Cases) != 3 {
		t.Fatalf("%d tests, %d failures, %d errors:\n%s", s.Tests, s.Failures, s.Errors, r.out)
	}
	first, second, third := s.Cases[0], s.Cases[1], s.Cases[2]
	if first.Failure == nil || !strings.Contains(first.Failure.Message, "(mutual-exclusion)") || !strings.Contains(first.Failure.Text, "schedule: [") || first.File != broken {
		t.Errorf("what breaks: %+v", first)
	}
	if second.Failure != nil || second.Error != nil {
		t.Errorf("what does not: %+v", second)
	}
	if third.Error == nil || !strings.Contains(third.Error.Message, "Only one thread") || third.Name != "One & <only>" {
		t.Errorf("what cannot be judged: %+v", third)
	}
}

func TestPipelinesReadSARIF(t *testing.T) {
	racetest.Skip(t)
	broken, unbroken, unjudged := pipelineFiles(t)
	log := filepath.Join(t.TempDir(), "monitor.log")
	lines := []string{
		`1700000000.000000 [0 127.0.0.1:1] "SET" "k" "a" "NX" "PX" "1000"`, `1700000000.100000 [0 127.0.0.1:2] "DEL" "k"`,
		`1700000000.200000 [0 127.0.0.1:2] "SET" "k" "b" "NX" "PX" "1000"`, `1700000000.300000 [0 127.0.0.1:1] "DEL" "k"`,
	}
	if err := os.WriteFile(log, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	type found struct {
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID string } `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			Results []struct {
				Rule      string `json:"ruleId"`
				Level     string `json:"level"`
				Message   struct{ Text string }
				Locations []struct {
					Physical struct {
						Artifact struct{ URI string } `json:"artifactLocation"`
						Region   struct{ StartLine int }
					} `json:"physicalLocation"`
				}
			}
		}
	}
	read := func(r result) (f found) {
		if err := json.Unmarshal([]byte(r.out), &f); err != nil || f.Version != "2.1.0" || len(f.Runs) != 1 {
			t.Fatalf("%v:\n%s%s", err, r.out, r.err)
		}
		return f
	}
	f := read(playground(t, "", "explore", "-check-redis=false", "-delays", "0", "-format", "sarif", broken, unbroken, unjudged)).Runs[0]
	levels := map[string]string{}
	for _, one := range f.Results {
		levels[one.Rule] = one.Level
		if len(one.Locations) != 1 || one.Locations[0].Physical.Region.StartLine < 1 {
			t.Errorf("%s is nowhere", one.Rule)
		}
	}
	if levels["mutual-exclusion"] != "error" || levels["unjudged"] != "warning" || len(f.Tool.Driver.Rules) != len(levels) {
		t.Errorf("%v, rules %v", levels, f.Tool.Driver.Rules)
	}
	if f := read(playground(t, "", "explore", "-check-redis=false", "-delays", "0", "-format", "sarif", unbroken)); len(f.Runs[0].Results) != 0 {
		t.Errorf("what does not break: %+v", f.Runs[0].Results)
	}
	at := read(playground(t, "", "import", "-format", "sarif", log)).Runs[0].Results
	if len(at) == 0 || at[0].Rule != "foreign-release" || at[0].Locations[0].Physical.Region.StartLine != 2 {
		t.Errorf("a log: %+v", at)
	}
}

// What breaks only in orders that were drawn is named, and a file's name is an address.
func TestPipelinesReadWhatWasDrawn(t *testing.T) {
	racetest.Skip(t)
	broken, _, unjudged := pipelineFiles(t)
	if err := os.Rename(broken, "my lock.yaml"); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string][]string{
		"junit": {`message="two inside at once (mutual-exclusion)`, `message="This cannot be judged: Only one thread`},
		"sarif": {`"ruleId": "mutual-exclusion"`, `"uri": "my%20lock.yaml"`, `"text": "no rule was broken, but this cannot be judged"`},
	} {
		r := playground(t, "", "explore", "-check-redis=false", "-max-states", "3", "-format", format, "my lock.yaml", unjudged)
		for _, one := range want {
			if r.code != exitUnexpected || !strings.Contains(r.out, one) {
				t.Errorf("%s: exit code %d, want %s:\n%s%s", format, r.code, one, r.out, r.err)
			}
		}
	}
}

// The action fails with the playground's own exit code, and keeps what that prints.
func TestTheActionFailsAsItsCommand(t *testing.T) {
	var action struct {
		Runs struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../.github/actions/relock/action.yml")), &action); err != nil || len(action.Runs.Steps) != 3 {
		t.Fatal(err, action)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"playground": "#!/bin/sh\necho \"$@\"\nexit 4\n", "step": action.Runs.Steps[2].Run} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	step := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "step") // as GitHub does
	step.Dir, step.Env = dir, append(os.Environ(), "RUNNER_TEMP="+dir, `COMMAND=lab -- sh -c 'a  b'`, "OUTPUT=what it printed")
	printed, err := step.CombinedOutput()
	if code := step.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit code %d, %v", code, err)
	}
	if kept := read(t, filepath.Join(dir, "what it printed")); kept != "lab -- sh -c a  b\n" || kept != string(printed) {
		t.Errorf("%q, kept %q", printed, kept)
	}
}

func TestPipelineFormatsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"explore", "-format", "yaml", good},
		{"explore", "-json", "-format", "junit", good},
		{"import", "-json", "-format", "sarif", "-"},
		{"lab", "-format", "junit"},
		{"lab", "-json", "-format", "junit", "--", "true"},
	} {
		if r := playground(t, "", args...); r.code != exitUsage || r.out != "" {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.out)
		}
	}
}
