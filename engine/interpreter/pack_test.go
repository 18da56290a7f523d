package interpreter_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"relock/engine/interpreter"
	"relock/engine/store/storetest"
)

// show is a Lua function that writes what it is given so that each bit can be seen.
const show = `
local function show(v)
  if type(v) == 'string' then
    return '"' .. string.gsub(v, '.', function(c) return string.format('%02x', string.byte(c)) end) .. '"'
  elseif type(v) == 'number' then return string.format('%.17g', v)
  elseif type(v) == 'table' then
    local parts = {}
    for k, one in pairs(v) do parts[#parts + 1] = show0(k) .. '=' .. show0(one) end
    table.sort(parts)
    return '{' .. table.concat(parts, ',') .. '}'
  end
  return tostring(v)
end
`

// tell makes a script of an expression: all that it comes to, or its error.
func tell(expression string) string {
	shown := strings.ReplaceAll(strings.Replace(show, "local function show(v)", "local show0\nlocal function show(v)", 1), "\n", " ") + " show0 = show "
	return shown + "\nlocal function pack(...) return {n = select('#', ...), ...} end\n" +
		"local ok, all = pcall(function() return pack(" + expression + ") end)\n" +
		"if not ok then return 'error: ' .. tostring(all) end\n" +
		"local out = {} for i = 1, all.n do out[i] = show(all[i]) end return table.concat(out, ' ')"
}

func here(t *testing.T, script string) string {
	t.Helper()
	out, err := interpreter.New().Run(interpreter.Script{Text: script, Redis: none{}})
	if err != nil {
		return "fault: " + err.Error()
	}
	if out.Err != "" {
		return "uncaught: " + out.Err
	}
	return fmt.Sprint(out.Reply)
}

// none is a Redis with one command.
type none struct{}

func (none) Knows(verb string) bool { return strings.EqualFold(verb, "get") }

func (none) Reads(string) bool { return true }

func (none) Do([]string) []byte { return []byte("$-1\r\n") }

func there(t *testing.T, client *redis.Client, script string) string {
	t.Helper()
	reply, err := client.Eval(t.Context(), script, nil).Result()
	if err != nil {
		return "uncaught: " + err.Error()
	}
	return fmt.Sprint(reply)
}

// connected is a client of a Redis of the test's own.
func connected(t *testing.T) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: storetest.Start(t).Addr})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// quoted is a text as Lua has it.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\%03d`, c)
	}
	b.WriteByte('"')
	return b.String()
}

// alike has an expression come to the same here and in a Redis.
func alike(t *testing.T, client *redis.Client, expression string) string {
	t.Helper()
	script := tell(expression)
	is, want := here(t, script), there(t, client, script)
	if is != want {
		t.Errorf("%s\n    here %s\n   Redis %s", expression, is, want)
	}
	return want
}

func TestStructAndMessagePackAreThoseOfRedis(t *testing.T) {
	client := connected(t)
	for _, expression := range []string{
		`struct.pack('>I4', 1)`, `struct.pack('<hHbBlLT', -2, 65535, -1, 255, -3, 4, 5)`, `struct.pack('!8bd', 1, 2.5)`, `struct.pack('!bi', 1, 2)`,
		`struct.pack('>f d s', 1.5, -0.1, 'abc')`, `struct.pack('c3c0', 'abcd', 'xyz')`, `struct.pack('c5', 'abc')`, `struct.pack('i33', 1)`,
		`struct.pack('!3', 1)`, `struct.pack('q', 1)`, `struct.pack('i')`, `struct.pack('i', {})`, `struct.pack('i', '12')`, `struct.pack('i', 'x')`, `struct.pack()`,
		`struct.pack('i99999999999', 1)`, `struct.pack('>i16', -1)`, `struct.pack('i0', 7)`, `struct.pack('x x', 1)`, `struct.pack('B', 1e300)`, `struct.pack('L', 2^63)`,
		`struct.pack('L', 2^64)`, `struct.pack('L', -2^63)`, `struct.pack('L', 1/0)`, `struct.pack('L', -1/0)`, `struct.pack('L', 0/0)`, `struct.pack('b', 1.9)`, `struct.pack('b', -1.9)`,
		`struct.unpack('>I4', '\0\0\1\0')`, `struct.unpack('>I4', 'abc')`, `struct.unpack('Bc0', '\3abcdef')`, `struct.unpack('c0', 'abc')`, `struct.unpack('s', 'abc')`,
		`struct.unpack('ss', 'a\0bc\0d')`, `struct.unpack('<i3', '\255\255\255')`, `struct.unpack('B', 'abc', 2)`, `struct.unpack('B', 'abc', 0)`, `struct.unpack('B', 'abc', 4)`,
		`struct.unpack('d', struct.pack('d', 0.1))`, `struct.unpack('f', struct.pack('f', 0.1))`, `struct.unpack('i9', '123456789')`, `struct.unpack('i0', 'a')`, `struct.unpack('Bc0', '\9abc')`,
		`struct.unpack('B')`, `struct.unpack('!8bd', struct.pack('!8bd', 1, 2))`, `struct.unpack('sc0', '2\0abc')`, `struct.unpack('fc0', struct.pack('f', -1) .. 'abc')`,
		`struct.size('>I4hd')`, `struct.size('!8bd')`, `struct.size('s')`, `struct.size('c0')`, `struct.size('q')`, `struct.size('?')`, `struct.size()`, `struct.size('c10 x')`,
		`cmsgpack.pack()`, `cmsgpack.pack(nil)`, `cmsgpack.pack(true, false, 'x', 1.5, 1e100)`, `cmsgpack.pack({})`, `cmsgpack.pack({1, 2, {a = 1}})`, `cmsgpack.pack({[1] = 1, [3] = 3})`,
		`cmsgpack.pack({[1.5] = 1})`, `cmsgpack.pack({a = {b = {c = 'd'}}})`, `cmsgpack.pack(1/0, -1/0)`, `cmsgpack.pack(2^53, -2^53, 2^63, -2^63, 2^64)`, `cmsgpack.pack(function() end)`,
		`(function() local t = {} for i = 1, 20 do t = {t} end return cmsgpack.pack(t) end)()`, `cmsgpack.pack(string.rep('x', 40), string.rep('y', 300))`, `cmsgpack.pack(redis.sha1hex(''))`,
		`cmsgpack.unpack('')`, `cmsgpack.unpack()`, `cmsgpack.unpack({})`, `cmsgpack.unpack('\161A')`, `cmsgpack.unpack('\161')`, `cmsgpack.unpack('\193')`, `cmsgpack.unpack('\196\1a')`, `cmsgpack.unpack('\1\2\3')`,
		`cmsgpack.unpack_one('\1\2\3')`, `cmsgpack.unpack_one('\1\2\3', 1)`, `cmsgpack.unpack_one('\1\2\3', 3)`, `cmsgpack.unpack_one('\1\2\3', 4)`, `cmsgpack.unpack_one('\1', -1)`, `cmsgpack.unpack_one('')`,
		`cmsgpack.unpack_limit('\1\2\3', 2)`, `cmsgpack.unpack_limit('\1\2\3', 2, 1)`, `cmsgpack.unpack_limit('\1\2\3', 0)`, `cmsgpack.unpack_limit('\1\2\3', 0, 1)`, `cmsgpack.unpack_limit('\1\2\3', -1)`, `cmsgpack.unpack_limit('\1\2\3')`,
		`cmsgpack.unpack('\129\192\1')`, `cmsgpack.unpack('\129\203\127\248\0\0\0\0\0\0\1')`, `cmsgpack.unpack(cmsgpack.pack({a = 1, b = {1, 2, 3}, [5] = true}))`, `cmsgpack.unpack(12)`,
		`cmsgpack._NAME, cmsgpack._VERSION, type(cmsgpack), type(struct), type(bit)`, `#string.rep('\145', 100), cmsgpack.unpack(string.rep('\145', 100) .. '\1')`,
		`bit.band(), 1`, `bit.band('x')`, `bit.tohex(2^32 + 1, 3)`, `bit.lshift(1)`, `bit.bor(1, 2.5, -1e10)`, `bit.tobit(0/0)`, `bit.tobit(2^53)`, `bit.rol(0x12345678, 12)`, `bit.tohex(-1, -100)`,
	} {
		alike(t, client, expression)
	}
}

// Random values give the same here and in a Redis, mistakes too.
func TestDrawnStructsAndMessagesAreThoseOfRedis(t *testing.T) {
	client := connected(t)
	tries := 3000
	if testing.Short() {
		tries = 300
	}
	errors := 0
	wrong := regexp.MustCompile(`^error: `)
	for seed := range uint64(tries) {
		r := rand.New(rand.NewPCG(seed, 7))
		if wrong.MatchString(alike(t, client, drawn(r))) {
			errors++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if errors == 0 || errors > tries*3/4 {
		t.Errorf("%d of %d are mistakes", errors, tries)
	}
}

func drawn(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		f, values := format(r)
		return "struct.pack(" + strings.Join(append([]string{quoted(f)}, values...), ", ") + ")"
	case 1:
		f, _ := format(r)
		return "struct.unpack(" + quoted(f) + ", " + quoted(drawnBytes(r, r.IntN(60))) + ")"
	case 2:
		f, values := format(r)
		return "struct.unpack(" + quoted(f) + ", struct.pack(" + strings.Join(append([]string{quoted(f)}, values...), ", ") + "))"
	case 3:
		return "cmsgpack.pack(" + drawnValue(r, 3) + ", " + drawnValue(r, 2) + ")"
	case 4:
		return "cmsgpack.unpack(cmsgpack.pack(" + drawnValue(r, 4) + "))"
	default:
		return "cmsgpack.unpack(" + quoted(drawnBytes(r, r.IntN(12))) + ")"
	}
}

func drawnBytes(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		if b[i] = byte(r.IntN(256)); r.IntN(3) == 0 {
			b[i] = byte(r.IntN(4))
		}
	}
	return string(b)
}

func format(r *rand.Rand) (text string, values []string) {
	for range r.IntN(6) {
		switch option := "bBhHlLTiIfdscx><! c"[r.IntN(19)]; option {
		case 'i', 'I':
			text += string(option)
			if r.IntN(2) == 0 {
				text += strconv.Itoa(r.IntN(12))
			}
			values = append(values, number(r))
		case 'c':
			text += "c" + strconv.Itoa(r.IntN(4))
			values = append(values, quoted(drawnBytes(r, r.IntN(6))))
		case 's':
			text += "s"
			values = append(values, quoted(drawnBytes(r, r.IntN(6))))
		case '!':
			text += "!" + strconv.Itoa(1<<r.IntN(5))
		case '>', '<', ' ', 'x':
			text += string(option)
		default:
			text += string(option)
			values = append(values, number(r))
		}
	}
	return text, values
}

func number(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return strconv.Itoa(r.IntN(400) - 200)
	case 1:
		return strconv.FormatInt(int64(r.Uint64())>>r.IntN(64), 10)
	case 2:
		return strconv.FormatFloat(r.NormFloat64()*1e6, 'g', -1, 64)
	default:
		return strconv.FormatFloat(float64(float32(r.NormFloat64())), 'g', -1, 64)
	}
}

// drawnValue has at most one key that is no number in each table: their order is
// anybody's.
func drawnValue(r *rand.Rand, deep int) string {
	kinds := 6
	if deep == 0 {
		kinds = 4
	}
	switch r.IntN(kinds) {
	case 0:
		return []string{"nil", "true", "false", "0/1", "1/0", "{}"}[r.IntN(6)]
	case 1:
		return number(r)
	case 2:
		return quoted(drawnBytes(r, r.IntN(5)))
	case 3:
		return "string.rep('" + hex.EncodeToString([]byte{byte(r.IntN(256))}) + "', " + strconv.Itoa(r.IntN(200)) + ")"
	case 4:
		var list []string
		for range r.IntN(4) {
			list = append(list, drawnValue(r, deep-1))
		}
		if r.IntN(8) == 0 {
			for range 14 {
				list = append(list, number(r))
			}
		}
		return "{" + strings.Join(list, ", ") + "}"
	default:
		return "{[" + []string{"'k'", "7", "1.5", "-1", "true"}[r.IntN(5)] + "] = " + drawnValue(r, deep-1) + "}"
	}
}
