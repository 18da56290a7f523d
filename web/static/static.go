// Package static holds the style sheets, the scripts and the icons. The style
// sheets become one, which each page includes: the first paint waits for
// nothing else. The server sends the rest as files, scripts without their
// comments.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
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

// Prefix is the path under which Files serves.
const Prefix = "/static/"

// Files serves static files. It is safe for concurrent use.
type Files struct {
	fsys    fs.FS
	scripts map[string][]byte // by name, as they are served
	hashed  map[string]string // name to hashed name
	names   map[string]string // and back
	styles  map[Sheet]string
	hashes  string // of styles
	picture string
}

// Sheet is the style sheet of some pages.
type Sheet int

// Sheets.
const (
	Pages   Sheet = iota // of most pages
	Rooms                // of a room's host and stage: all that there is
	Phone                // of a room's phones, which have little
	Message              // of pages that say one thing
)

// What rooms have beside the other pages: all of their pages, and those of hosts
// and the stage alone.
const (
	ofRooms  = "css/room.css"
	ofBoards = "css/room-board.css"
)

// ofMessages is what pages that say one thing have beside first.
const ofMessages = "css/message.css"

// onPhone is what the phones of a room have beside first.
var onPhone = []string{ofMessages, "css/lua.css", "css/lua-edit.css", "css/timeline.css", ofRooms}

// first are the style sheets that others build on, in their order.
var first = []string{"css/tokens.css", "css/frame.css"}

// New returns the embedded files, the same ones each time.
func New() (*Files, error) { return prepared() }

var prepared = sync.OnceValues(prepare)

func prepare() (*Files, error) {
	f := &Files{fsys: embedded, scripts: map[string][]byte{}, hashed: map[string]string{}, names: map[string]string{}, styles: map[Sheet]string{}}
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		ext := path.Ext(name)
		if ext == ".js" {
			data = uncommented(data)
			f.scripts[name] = data
		}
		sum := sha256.Sum256(data)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext
		f.hashed[name], f.names[hashed] = hashed, name
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	if err := f.bundle(); err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	return f, nil
}

// bundle makes the style sheets of pages.
func (f *Files) bundle() error {
	sheets, err := fs.Glob(f.fsys, "css/*.css")
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(sheets, func(s string) bool { return slices.Contains(first, s) || s == ofRooms || s == ofBoards })
	for sheet, names := range map[Sheet][]string{Pages: all, Rooms: append(slices.Clone(all), ofRooms, ofBoards), Phone: onPhone, Message: {ofMessages}} {
		var b strings.Builder
		for _, name := range append(slices.Clone(first), names...) {
			data, err := fs.ReadFile(f.fsys, name)
			if err != nil {
				return err
			}
			b.Write(data)
		}
		f.styles[sheet] = compact(b.String())
	}
	var hashes []string
	for sheet := range Message + 1 {
		sum := sha256.Sum256([]byte(f.styles[sheet]))
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	f.hashes = strings.Join(hashes, " ")
	return f.forPictures()
}

// forPictures makes the style sheet of pictures that stand alone. What draws
// such files need not know variables, so there are none in it.
func (f *Files) forPictures() error {
	var sheets [2]string
	for i, name := range []string{"css/tokens.css", "css/lanes.css"} {
		data, err := fs.ReadFile(f.fsys, name)
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

// uncommented leaves out of a script what only people read: its JSDoc, and the
// lines that are a comment alone. What stays is on the line that it was on.
func uncommented(script []byte) []byte {
	out := make([]byte, 0, len(script))
	for i := 0; i < len(script); {
		rest := script[i:]
		if i == 0 || script[i-1] == '\n' {
			if line, _, _ := bytes.Cut(rest, []byte("\n")); bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("//")) {
				i += len(line)
				continue
			}
		}
		if bytes.HasPrefix(rest, []byte("/**")) {
			if end := bytes.Index(rest[3:], []byte("*/")); end >= 0 {
				remark := rest[:3+end+2]
				out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(remark, []byte("\n")))...)
				i += len(remark)
				continue
			}
		}
		out = append(out, script[i])
		i++
	}
	return out
}

// Style is the text of a style sheet.
func (f *Files) Style(of Sheet) string { return f.styles[of] }

// PictureStyle is the style sheet for a picture of lanes that is a file of its
// own, light and dark.
func (f *Files) PictureStyle() string { return f.picture }

// StyleHashes are what a Content-Security-Policy names the style sheets by.
func (f *Files) StyleHashes() string { return f.hashes }

// Scripts are the URL paths of all scripts that pages begin with: not those of
// the course and of rooms, which their pages get beside them.
func (f *Files) Scripts() []string { return f.Needs("js/app.js") }

// imported matches the module that a line of a script needs from its start.
var imported = regexp.MustCompile(`(?m)^import .*"\./([\w-]+\.js)";`)

// Needs are the URL paths of all scripts that one needs from its start, itself
// among them. An unknown name is a programming error and panics.
func (f *Files) Needs(script string) []string {
	var paths []string
	for names := []string{script}; len(names) > 0; names = names[1:] {
		path := Prefix + names[0]
		if slices.Contains(paths, path) {
			continue
		}
		text, ok := f.scripts[names[0]]
		if !ok {
			panic("static: no script " + names[0])
		}
		paths = append(paths, path)
		for _, m := range imported.FindAllSubmatch(text, -1) {
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

// ServeHTTP serves a hashed name for ever, a plain one always fresh.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	cache := "no-cache"
	if plain, ok := f.names[name]; ok {
		name, cache = plain, "public, max-age=31536000, immutable"
	}
	if _, ok := f.hashed[name]; !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", cache)
	w.Header().Set("ETag", `"`+f.hashed[name]+`"`)
	if script, ok := f.scripts[name]; ok {
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(script))
		return
	}
	http.ServeFileFS(w, r, f.fsys, name) //nolint:gosec // one of the embedded names
}
