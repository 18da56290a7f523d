package catalog

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/lessons"
	"relock/web/shell"
)

var update = flag.Bool("update", false, "write gallery.json.gz")

// TestTheGalleryIsWhatIsDrawn fails where a picture that is kept is not what a
// run of its scenario shows.
func TestTheGalleryIsWhatIsDrawn(t *testing.T) {
	examples, err := shell.ReadExamples(lessons.Scenarios())
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]picture{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, e := range examples {
		all.Go(func() {
			p, err := draw(e)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			drawn[e.Name] = p
		})
	}
	all.Wait()
	if *update {
		keepGallery(t, drawn)
		return
	}
	if diff := cmp.Diff(galleryKept(), drawn); diff != "" {
		t.Errorf("the gallery's pictures are not what is drawn (make generate):\n%.4000s", diff)
	}
}

func keepGallery(t *testing.T, drawn map[string]picture) {
	t.Helper()
	text, err := json.Marshal(drawn)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("gallery.json.gz", packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d before they are compressed", packed.Len(), len(text))
}

// A scenario that is not as it was has no picture that is kept.
func TestAnotherScenarioIsDrawn(t *testing.T) {
	examples, err := shell.ReadExamples(lessons.Scenarios())
	if err != nil {
		t.Fatal(err)
	}
	e := examples[0]
	was := pictured(e)()
	e.Scenario = examples[1].Scenario
	if pictured(e)().Lanes != was.Lanes {
		t.Error("it was drawn though it is kept")
	}
	e.Text += "\n# changed\n"
	if now := pictured(e)(); now.Lanes == was.Lanes || now.Lanes == "" {
		t.Error("another scenario has the picture that is kept")
	}
}
