package site

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// maxReady is how many bytes of such answers are kept. The pages take 2 MB in one
// language and theme.
const maxReady = 20 << 20

// readyKey names such an answer.
type readyKey struct {
	path        string
	lang, theme string // "" of files
}

// readyAnswer is an answer that is the same for all, plain and compressed. All
// who read it share its bytes. It is immutable.
type readyAnswer struct {
	header http.Header // of the plain one
	plain  []byte
	packed []byte // gzip; nil where that is hardly smaller
}

// newReady returns where such answers are kept. They stay: if they were made again and
// again, everybody who waits would hold separate bytes after all.
func newReady() *Shelf[readyKey, readyAnswer] {
	k := NewShelf[readyKey](maxReady, func(a *readyAnswer) int { return len(a.plain) + len(a.packed) })
	k.stays = true
	return k
}

// ForAll is a page that is the same for everybody with a language and a theme,
// unless its address has a query: it is made and compressed once for all of them,
// and after that nobody needs a turn for it.
func (s *Site) ForAll(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	mine := s.Page(h)
	ready := s.Live(func(w http.ResponseWriter, r *http.Request) error {
		set := s.SettingsOf(r)
		return s.answerReady(w, r, readyKey{r.URL.Path, set.Language.Code(), set.Theme}, h)
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			mine(w, r)
			return
		}
		ready(w, r)
	}
}

// FileForAll is ForAll for files, which have no language. The handler itself
// answers requests for a part, and those of browsers that have the file already.
func (s *Site) FileForAll(h http.Handler) http.HandlerFunc {
	file := func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) {
		asks := r.Header
		if r.URL.RawQuery != "" || asks.Get("Range")+asks.Get("If-None-Match")+asks.Get("If-Match")+asks.Get("If-Modified-Since") != "" {
			h.ServeHTTP(w, r)
			return
		}
		_ = s.answerReady(w, r, readyKey{path: r.URL.Path}, file) // the visitor has left: nobody to tell
	}
}

// answerReady answers with what is kept under key, or with what h answers now.
func (s *Site) answerReady(w http.ResponseWriter, r *http.Request, key readyKey, h func(http.ResponseWriter, *http.Request) error) error {
	a := s.same.Look(key)
	if a == nil {
		made, other, err := s.makeReady(r, key, h)
		if err != nil {
			return err
		}
		if other != nil {
			maps.Copy(w.Header(), other.header)
			w.WriteHeader(other.status)
			_, _ = other.body.WriteTo(w) // the visitor has left: nobody to tell
			return nil
		}
		a = made
	}
	maps.Copy(w.Header(), a.header)
	body := a.plain
	if a.packed != nil && TakesGzip(r) {
		body = a.packed
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Del("Content-Length")
		w.Header().Del("Accept-Ranges")
	}
	if s.same.Look(key) == a {
		deliveryOf(r).share(body)
		return nil
	}
	_, _ = w.Write(body) // the visitor has left: nobody to tell
	return nil
}

// makeReady has one request make an answer for all who wait for it. An answer that cannot
// be kept comes back as other, for this request alone.
func (s *Site) makeReady(r *http.Request, key readyKey, h func(http.ResponseWriter, *http.Request) error) (made *readyAnswer, other *unready, err error) {
	made, err = Taken(r, s.same, key, func(*readyAnswer) bool { return true }, func(*readyAnswer) (*readyAnswer, error) {
		one := &unready{header: http.Header{}, status: http.StatusOK}
		get := r.Clone(r.Context())
		get.Method = http.MethodGet // not HEAD: the next one wants all of it
		if err := h(one, get); err != nil {
			return nil, err
		}
		if one.status != http.StatusOK {
			other = one
			return nil, errUnready
		}
		return one.pack()
	})
	if errors.Is(err, errUnready) && other != nil {
		return nil, other, nil
	}
	return made, nil, err
}

// errUnready is returned for answers that are not kept, like "no such file".
var errUnready = errors.New("site: nothing to be kept")

// unready is an answer while it is made.
type unready struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (u *unready) Header() http.Header { return u.header }

// WriteHeader implements http.ResponseWriter.
func (u *unready) WriteHeader(status int) { u.status = status }

// Write implements http.ResponseWriter.
func (u *unready) Write(b []byte) (int, error) { return u.body.Write(b) }

// pack compresses the answer.
func (u *unready) pack() (*readyAnswer, error) {
	a := &readyAnswer{header: u.header, plain: bytes.Clone(u.body.Bytes())}
	packed, err := Zipped(a.plain)
	if err == nil && len(packed) < len(a.plain)*9/10 {
		a.packed = packed
	}
	return a, err
}

// TakesGzip reports whether an answer to r may be compressed with gzip.
func TakesGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(one), " ", ""), ";")
		if name == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}
