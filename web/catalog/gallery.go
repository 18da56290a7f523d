package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed" // the pictures
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/a-h/templ"

	"relock/engine"
	"relock/web/film"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/templates"
	"relock/web/words"
)

// picture is what the gallery shows of a scenario's run. In JSON it is kept for
// the scenarios that come with the program.
type picture struct {
	Of     string         `json:"of"`    // tells the scenario's text from others
	Lanes  string         `json:"lanes"` // SVG, the same in all languages
	Broken []string       `json:"broken,omitempty"`
	Steps  int            `json:"steps"`
	Failed []film.Failure `json:"failed,omitempty"`
}

// svg is the picture's lanes, nil where there are none.
func (p picture) svg() templ.Component {
	if p.Lanes == "" {
		return nil
	}
	return templ.Raw(p.Lanes)
}

// gallery is the pictures of the scenarios that come with the program, by their
// names, so that nobody waits for a hundred runs: JSON, compressed. `make
// generate` makes it.
//
//go:embed gallery.json.gz
var gallery []byte

var galleryKept = sync.OnceValue(func() map[string]picture {
	all := map[string]picture{}
	r, err := gzip.NewReader(bytes.NewReader(gallery))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(r, 8<<20)).Decode(&all) // twenty times what it is
	}
	if err != nil {
		panic(err) // it is embedded
	}
	return all
})

// pictured returns the picture of an example: the one that is kept, unless the
// scenario is another one, or one that is drawn once.
func pictured(e shell.Example) func() picture {
	return sync.OnceValue(func() picture {
		if kept := galleryKept()[e.Name]; kept.Of == sumOf(e) {
			return kept
		}
		p, err := draw(e)
		if err != nil {
			return picture{} // its card still says what it shows
		}
		return p
	})
}

func sumOf(e shell.Example) string {
	sum := sha256.Sum256([]byte(e.Text))
	return hex.EncodeToString(sum[:8])
}

// draw runs an example, and draws what came of it.
func draw(e shell.Example) (picture, error) {
	ctx := context.Background() // without pauses: others keep their turns while they wait for it
	r, err := runs.Record(ctx, e.Scenario())
	if err != nil {
		return picture{}, err
	}
	f, err := r.Film(ctx, words.English)
	if err != nil {
		return picture{}, fmt.Errorf("catalog: draw %s: %w", e.Name, err)
	}
	var svg bytes.Buffer
	if err := templates.LanesSmall(f.Lanes().Small(words.English, e.Name)).Render(ctx, &svg); err != nil {
		return picture{}, fmt.Errorf("catalog: draw %s: %w", e.Name, err)
	}
	p := picture{Of: sumOf(e), Lanes: svg.String(), Steps: len(f.Rows()), Broken: engine.Broken(r.Events)}
	for _, ev := range r.Events {
		if f, ok := film.FailureOf(ev); ok {
			p.Failed = append(p.Failed, f)
		}
	}
	return p, nil
}
