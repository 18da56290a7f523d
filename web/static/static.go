// Package static holds the style sheet, the scripts and the icons, and serves
// them under names that change with their content.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed css js icons
var embedded embed.FS

// Prefix is the path under which Files serves.
const Prefix = "/static/"

// Files serves static files. It is safe for concurrent use.
type Files struct {
	fsys   fs.FS
	hashed map[string]string // name to hashed name
	names  map[string]string // and back
}

// New returns the files that are built in.
func New() (*Files, error) {
	f := &Files{fsys: embedded, hashed: map[string]string{}, names: map[string]string{}}
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext
		f.hashed[name], f.names[hashed] = hashed, name
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	return f, nil
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
	http.ServeFileFS(w, r, f.fsys, name) //nolint:gosec // one of the embedded names
}
