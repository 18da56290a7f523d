package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"relock/web/words"
)

// in is an environment with variables.
func in(set map[string]string) (environment, *bytes.Buffer, *bytes.Buffer) {
	var out, err bytes.Buffer
	return environment{getenv: func(name string) string { return set[name] }, in: strings.NewReader(""), out: &out, err: &err}, &out, &err
}

func TestTheLanguageOfACommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		set  map[string]string
		want string
	}{
		{nil, nil, "en"},
		{nil, map[string]string{"LANG": "zh_CN.UTF-8"}, "zh-CN"},
		{nil, map[string]string{"LANG": "C"}, "en"},
		{nil, map[string]string{"LANG": "POSIX"}, "en"},
		{nil, map[string]string{"LANG": "C.UTF-8"}, "en"},
		{nil, map[string]string{"LANG": "de_DE.UTF-8@euro"}, "en"},
		{nil, map[string]string{"LANG": "zh_CN@pinyin"}, "zh-CN"},
		{nil, map[string]string{"LC_ALL": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, "zh-CN"},
		{nil, map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"},
		{nil, map[string]string{"LC_MESSAGES": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, "zh-CN"},
		{[]string{"run", "-lang", "en", "x"}, map[string]string{"LANG": "zh_CN.UTF-8"}, "en"},
		{[]string{"run", "--lang=zh", "x"}, nil, "zh-CN"},
		{[]string{"run", "-lang"}, nil, "en"},
		{[]string{"lab", "--", "sh", "-lang", "zh"}, nil, "en"},
	} {
		env, _, _ := in(c.set)
		if got := languageOf(c.args, env.getenv).Code(); got != c.want {
			t.Errorf("%q with %v: %s, want %s", c.args, c.set, got, c.want)
		}
	}
}

// In English the flags are printed as package flag does.
func TestFlagsArePrintedAsEverywhere(t *testing.T) {
	var f serveFlags
	env, out, _ := in(nil)
	fs := newServeFlags("serve", env, &f)
	fs.Bool("x", false, "a short `name`\nof two lines")
	var want bytes.Buffer
	fs.SetOutput(&want)
	fs.PrintDefaults()
	if env.printFlags(out, fs); out.String() != want.String() {
		t.Errorf("printed\n%swant\n%s", out, &want)
	}
}

// english is a sentence, or enough of one.
var english = regexp.MustCompile(`[A-Za-z]+,? [a-z]{2,}( [a-z]{2,}){2,}`)

func TestHelpIsInChinese(t *testing.T) {
	set := map[string]string{"LANG": "zh_CN.UTF-8"}
	for _, c := range subcommands() {
		t.Run(c.name, func(t *testing.T) {
			env, out, _ := in(set)
			if code := command(t.Context(), []string{c.name, "-h"}, env); code != exitOK {
				t.Fatalf("exit code %d", code)
			}
			for line := range strings.Lines(out.String()) {
				if found := english.FindString(line); found != "" {
					t.Errorf("English: %q in %s", found, line)
				}
				if line = strings.TrimSuffix(line, "\n"); columns(line) > maxWidth && !strings.HasPrefix(line, " ") {
					t.Errorf("%d columns: %s", columns(line), line)
				}
			}
		})
	}
}

func TestMistakesAreToldInChinese(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"none", "other", "wrong/0-one"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"wrong/0-one/chapter.yaml": "id: one\nminute: 1\n", "empty": "", "bad.yaml": "threads: [",
		"bad.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	selfSigned(t, dir, "one")
	selfSigned(t, filepath.Join(dir, "other"), "two")
	for _, c := range []struct {
		args string
		want string
	}{
		{"rn", `没有 "rn" 这个命令`},
		{"run", "run 至少需要一个场景文件"},
		{"run -nothing x", "没有 -nothing 这个选项；可用的写法见 playground run -h"},
		{"run -seed", "选项 -seed 缺少值"},
		{"run -seed q x", `"q" 不能作为选项 -seed 的值：给出的是 "q"，可用：0 到 9223372036854775807 的整数`},
		{"run -format no x", `"no" 不能作为选项 -format 的值：可用：table, md`},
		{"mend -delays two x", `"two" 不能作为选项 -delays 的值；`},
		{"run -json=maybe x", `"maybe" 不能作为选项 -json 的值；`},
		{"run /no/such", "无法读取场景：/no/such：没有这个文件或目录"},
		{"import /no/such", "import：/no/such：没有这个文件或目录"},
		{"import ../../LICENSE", "不是能读的日志"},
		{"compare -protocols mutex ../../lessons/scenarios/crash.yaml", "需要 2 到 4 把，给出了 1 把"},
		{"card nothing", `没有叫 "nothing" 的锁或文件`},
		{"explore -max-states 0 x", "-max-states 0："},
		{"serve x", `serve 不带参数`},
		{"serve -public-url x", "必须是 http:// 或 https:// 加主机"},
		{"run -redis nonsense ../../lessons/scenarios/crash.yaml", "Redis 的 URL 有误：无法识别"},
		{"run -redis redis://127.0.0.1:1 ../../lessons/scenarios/crash.yaml", "127.0.0.1:1 没有 Redis 响应（连接被拒绝）\n"},
		{"lab -redis redis://127.0.0.1:1 -- true", "127.0.0.1:1 没有 Redis 响应（连接被拒绝）\n"},
		{"lab -- /no/such", "无法启动程序：/no/such：没有这个文件或目录"},
		{"lab -- false", " 没有连上来：进程已结束（exit status 1）；没有发过命令；没有任何输出"},
		{"lab -env X -- true", `"X" 不能作为选项 -env 的值：可用：NAME=VALUE`},
		{"serve -log-level loud", `"loud" 不能作为选项 -log-level 的值：可用：debug, info`},
		{"serve -addr nowhere", "无法监听 nowhere：必须是主机加端口，如 127.0.0.1:8080；"},
		{"serve -tls-cert /no/such -tls-key /no/such", "证书：/no/such：没有这个文件或目录"},
		{"healthcheck -addr 127.0.0.1:1", "未就绪：http://127.0.0.1:1/readyz：连接被拒绝"},
		{"learn -check /no/such", "course：/no/such：没有这个文件或目录"},
		{"learn", "learn 检查一门课程"},
		{"learn -check DIR/wrong", "wrong/0-one/chapter.yaml:2: 没有 minute 这个字段\n"},
		{"learn -check DIR/none", "course：没有任何一章\n"},
		{"serve -course DIR/wrong", "0-one/chapter.yaml:2: 没有 minute 这个字段\n"},
		{"serve -tls-cert DIR/none -tls-key DIR/none/key", "none/key：没有这个文件或目录"},
		{"serve -tls-cert DIR/empty -tls-key DIR/empty", "：证书文件里没有 PEM\n"},
		{"serve -tls-cert DIR/key.pem -tls-key DIR/key.pem", "：证书文件里是私钥：两个文件给反了\n"},
		{"serve -tls-cert DIR/cert.pem -tls-key DIR/cert.pem", "：私钥文件里是证书：两个文件给反了\n"},
		{"serve -tls-cert DIR/cert.pem -tls-key DIR/other/key.pem", "：私钥与证书不匹配\n"},
		{"serve -tls-cert DIR/bad.pem -tls-key DIR/key.pem", "：证书无法解析\n"},
		{"lab -- no-such-program", "无法启动程序：no-such-program：$PATH 里没有这个程序\n"},
		{"run DIR/bad.yaml", "不是 YAML 的内容（缺少内容）"},
	} {
		t.Run(c.args, func(t *testing.T) {
			env, _, errs := in(map[string]string{"LC_ALL": "zh_CN.UTF-8"})
			env.out = io.Discard
			if code := command(t.Context(), strings.Fields(strings.ReplaceAll(c.args, "DIR", dir)), env); code == exitOK {
				t.Error("it is no mistake")
			}
			if got := errs.String(); !strings.Contains(got, c.want) || english.MatchString(got) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// An error keeps what it says beside its causes.
func TestAnErrorIsToldWhole(t *testing.T) {
	_, err := readFile("/no/such", nil)
	if got, want := told(words.English, err), "cannot read the scenario: open /no/such: no such file or directory"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// A number in a command's help is one that its flag takes.
func TestNumbersInHelpCanBeTyped(t *testing.T) {
	grouped := regexp.MustCompile(`[0-9],[0-9]{3}`)
	for _, locale := range []string{"C", "zh_CN.UTF-8"} {
		for _, c := range subcommands() {
			env, out, _ := in(map[string]string{"LANG": locale})
			if code := command(t.Context(), []string{c.name, "-h"}, env); code != exitOK {
				t.Fatalf("%s: exit code %d", c.name, code)
			}
			if found := grouped.FindString(out.String()); found != "" {
				t.Errorf("%s, %s: %q", c.name, locale, found)
			}
		}
	}
}

// A paragraph fills the terminal's lines, however it is written.
func TestHelpFillsItsLines(t *testing.T) {
	const width = 67
	for _, c := range subcommands() {
		env, out, _ := in(map[string]string{"COLUMNS": strconv.Itoa(width)})
		if code := command(t.Context(), []string{c.name, "-h"}, env); code != exitOK {
			t.Fatalf("%s: exit code %d", c.name, code)
		}
		before := ""
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			word, _, _ := strings.Cut(line, " ")
			if before != "" && word != "" && columns(before)+1+columns(word) <= width && !strings.ContainsAny(before[len(before)-1:], ".:") {
				t.Errorf("%s: %q has room for %q", c.name, before, word)
			}
			if before = line; strings.HasPrefix(line, " ") { // of a table
				before = ""
			}
		}
	}
}

// A terminal's lines have the plain blank before a unit, in every language: one can search for it
// and type it. Pages alone have another.
func TestTheTerminalHasThePlainBlank(t *testing.T) {
	for _, l := range words.All() {
		got := playground(t, "", "run", "-lang", l.Code(), "../../lessons/scenarios/two-threads.yaml")
		if got.code != exitOK || strings.Count(got.out, " ms") < 10 {
			t.Errorf("%s: exit code %d, %d lengths of time: %s", l.Code(), got.code, strings.Count(got.out, " ms"), got.err)
		}
		if before, _, has := strings.Cut(got.out, "\u00a0"); has {
			t.Errorf("%s: a no-break space after %q", l.Code(), before[max(0, len(before)-30):])
		}
	}
}
