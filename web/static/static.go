// Package static holds the style sheets, the scripts and the icons. The style
// sheets become one, which all pages share, and two for rooms. The server sends them as
// files, scripts without their comments.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed css js icons dev
var embedded embed.FS

// bundled is js/file.js with all that it imports, as esbuild makes one of it (make generate).
//
//go:embed bundle/file.js
var bundled string

// Prefix is the path under which Files serves.
const Prefix = "/static/"

// The style sheets that the server sends.
const (
	Style = "style.css" // of all pages
	Rooms = "rooms.css" // what the pages of a host and of a stage have beside it
	Phone = "phone.css" // all that a phone in a room has: it may be on a slow line
	Film  = "film.css"  // of a film in a file of its own
)

// Files serves static files. It is safe for concurrent use.
type Files struct {
	files   map[string][]byte // by name, as they are served
	hashed  map[string]string // name to hashed name
	names   map[string]string // and back
	picture string
}

// first are the parts that others build on, in their order, and ofRooms and ofPhones those of
// two sheets; all but ofRooms are in Style.
var (
	first    = []string{"css/tokens.css", "css/frame.css"}
	ofRooms  = []string{"css/room.css", "css/room-board.css"}
	ofFilms  = slices.Concat(first, []string{"css/lanes-box.css", "css/lanes.css", "css/lua.css", "css/stage.css", "css/timeline.css", "css/viewer.css"})
	ofPhones = slices.Concat(first, []string{"css/item.css", "css/lanes-box.css", "css/lanes.css", "css/lua-edit.css", "css/lua.css", "css/message.css", "css/noscript.css", "css/stage.css", "css/timeline.css", "css/room.css"})
)

// New returns the embedded files, the same ones each time.
func New() (*Files, error) { return prepared() }

var prepared = sync.OnceValues(prepare)

func prepare() (*Files, error) {
	f := &Files{files: map[string][]byte{}, hashed: map[string]string{}, names: map[string]string{}}
	scripts := sha256.New()
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".css" {
			return err
		}
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".js" {
			data = uncommented(data)
			scripts.Write(data)
		}
		f.files[name] = data
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	if err := f.styled(); err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	together := short(scripts.Sum(nil))
	for name, data := range f.files {
		hashed := together // scripts name one another without it, so it is their folder's
		if path.Dir(name) != "js" {
			sum := sha256.Sum256(data)
			hashed = short(sum[:])
		}
		f.hashed[name] = named(name, hashed)
		f.names[f.hashed[name]] = name
	}
	return f, nil
}

// OfFilm returns the style sheet and the script of a film in a file of its own, which that has
// in it.
func (f *Files) OfFilm() (style, script string) { return string(f.files[Film]), bundled }

// short is as much of a hash as a name has.
func short(sum []byte) string { return hex.EncodeToString(sum[:8]) }

// named is the name of a file with a hash in it.
func named(name, hash string) string {
	dir, file := path.Split(name)
	if dir == "js/" {
		return dir + hash + "/" + file
	}
	ext := path.Ext(file)
	return dir + strings.TrimSuffix(file, ext) + "." + hash + ext
}

// styled makes the style sheets.
func (f *Files) styled() error {
	sheets, err := fs.Glob(embedded, "css/*.css")
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(sheets, func(s string) bool { return slices.Contains(first, s) || slices.Contains(ofRooms, s) })
	for sheet, parts := range map[string][]string{Style: slices.Concat(first, rest), Rooms: ofRooms, Phone: ofPhones, Film: ofFilms} {
		var b strings.Builder
		for _, name := range parts {
			data, err := fs.ReadFile(embedded, name)
			if err != nil {
				return err
			}
			b.Write(data)
		}
		f.files[sheet] = []byte(tight(compact(b.String())))
	}
	return f.forPictures()
}

// forPictures makes the style sheet of pictures that stand alone. Programs that draw such
// files need not know variables, so there are none in it.
func (f *Files) forPictures() error {
	var sheets [2]string
	for i, name := range []string{"css/tokens.css", "css/lanes.css"} {
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		sheets[i] = compact(string(data))
	}
	light, dark := map[string]string{}, map[string]string{}
	root, _, _ := strings.Cut(sheets[0], "}") // other themes are the page's
	for _, m := range token.FindAllStringSubmatch(root, -1) {
		light[m[1]], dark[m[1]] = m[2], m[2]
		if both := lightDark.FindStringSubmatch(m[2]); both != nil {
			light[m[1]], dark[m[1]] = both[1], both[2]
		}
	}
	var day, night strings.Builder
	for _, rule := range rules.FindAllString(sheets[1], -1) {
		text := resolve(rule, light)
		day.WriteString(text)
		if other := resolve(rule, dark); other != text {
			night.WriteString(other)
		}
	}
	f.picture = day.String() + "\n@media (prefers-color-scheme: dark) {" + night.String() + "\n}"
	if name := variable.FindString(f.picture); name != "" {
		return fmt.Errorf("css/lanes.css: no value of %s", name)
	}
	return nil
}

// resolve puts values in the places of variables.
func resolve(rule string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(rule, func(v string) string {
		if value, ok := values[variable.FindStringSubmatch(v)[1]]; ok {
			return value
		}
		return v
	})
}

var (
	token     = regexp.MustCompile(`--([\w-]+):\s*([^;]+);`)
	lightDark = regexp.MustCompile(`^light-dark\(([^,]+),\s*([^)]+)\)$`)
	rules     = regexp.MustCompile(`[^{}]+\{[^{}]*\}`)
	variable  = regexp.MustCompile(`var\(--([\w-]+)\)`)
)

// compact leaves out of a style sheet what only people read. It is no regular
// expression, nor is uncommented: those would take most of the program's start.
func compact(css string) string {
	var text strings.Builder
	for css != "" {
		rule, after, _ := strings.Cut(css, "/*")
		text.WriteString(rule)
		_, css, _ = strings.Cut(after, "*/")
	}
	var lines []string
	for line := range strings.SplitSeq(text.String(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// blanks are those that no rule needs.
var blanks = strings.NewReplacer(" { ", "{", " {", "{", "{ ", "{", "; }", "}", " }", "}", "; ", ";", ": ", ":", ", ", ",", " > ", ">")

// tight leaves blanks out of a style sheet; texts in quotes stay as they are.
func tight(css string) string {
	parts := strings.Split(css, `"`)
	for i := 0; i < len(parts); i += 2 {
		parts[i] = blanks.Replace(parts[i])
	}
	return strings.Join(parts, `"`)
}

// uncommented leaves out of a script what only people read: its JSDoc, remarks to the
// end of a line, and how far a line is indented. The rest stays on its line.
func uncommented(script []byte) []byte {
	out := make([]byte, 0, len(script))
	for i := 0; i < len(script); {
		rest := script[i:]
		if i == 0 || script[i-1] == '\n' {
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			if at := remark(line); at >= 0 {
				out = append(out, bytes.TrimRight(line[:at], " \t")...)
				i += len(line)
				continue
			}
		}
		if bytes.HasPrefix(rest, []byte("/**")) {
			if end := bytes.Index(rest[3:], []byte("*/")); end >= 0 {
				doc := rest[:3+end+2]
				out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(doc, []byte("\n")))...)
				i += len(doc)
				continue
			}
		}
		out = append(out, script[i])
		i++
	}
	lean := make([]byte, 0, len(out))
	for line := range bytes.Lines(out) { // no text goes over several, which a test holds
		lean = append(lean, bytes.TrimLeft(line, " \t")...)
	}
	return lean
}

// remark is where a remark to the end of a line begins, -1 where there is none, or where
// what is before it may be the beginning of a text or of an expression.
func remark(line []byte) int {
	at := bytes.Index(line, []byte("//"))
	if at < 0 || bytes.ContainsAny(line[:at], "'\"`/") || at > 0 && line[at-1] != ' ' && line[at-1] != '\t' {
		return -1
	}
	return at
}

// PictureStyle is the style sheet for a picture of lanes that is a separate file, light
// and dark.
func (f *Files) PictureStyle() string { return f.picture }

// imported matches the module that a line of a script needs from its start.
var imported = regexp.MustCompile(`(?m)^import .*"\./([\w-]+\.js)";`)

// Needs are the URL paths of all scripts that some need from their start, those
// among them. An unknown name is a programming error and panics.
func (f *Files) Needs(scripts ...string) []string {
	var paths []string
	for names := slices.Clone(scripts); len(names) > 0; names = names[1:] {
		at := f.Path(names[0])
		if slices.Contains(paths, at) {
			continue
		}
		paths = append(paths, at)
		for _, m := range imported.FindAllSubmatch(f.files[names[0]], -1) {
			names = append(names, "js/"+string(m[1]))
		}
	}
	slices.Sort(paths)
	return paths
}

// Path is the URL path of a file. An unknown name is a programming error and
// panics.
func (f *Files) Path(name string) string {
	hashed, ok := f.hashed[name]
	if !ok {
		panic("static: no file " + name)
	}
	return Prefix + hashed
}

// hash matches the hash in a name, and what is before and after it.
var hash = regexp.MustCompile(`^(.*)[./][0-9a-f]{16}([./][^/]*)$`)

// ServeHTTP serves a hashed name for ever, a plain one always fresh. A hash of another
// version leads to the plain name: while servers are replaced, pages of one are asked
// of the other.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	cache := "no-cache"
	if plain, ok := f.names[name]; ok {
		name, cache = plain, "public, max-age=31536000, immutable"
	}
	data, ok := f.files[name]
	if !ok {
		if plain := hash.ReplaceAllString(name, "$1$2"); f.files[plain] != nil {
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, Prefix+plain, http.StatusFound) //nolint:gosec // a file of ours
			return
		}
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", cache)
	w.Header().Set("ETag", `"`+f.hashed[name]+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
