package trace_test

import (
	"bytes"
	"testing"

	"relock/engine/trace"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"relock":1,"scenario":{"seed":1},"seed":1,"store":"embedded","clock":"virtual","owners":{"id":"A"}}
{"seq":1,"step":1,"at_ms":66.667,"thread":"A","kind":"command","call":"lock","attempt":1,"level":1,"script":"lock.lua","line":10,"args":["HGET","k"],"reply":[null,1,"x",[]],"late":true,"key":{"type":"string","value":"x","pttl_ms":7},"belief":{"A":2}}
{"kind":"wait","for_ms":1,"why":"retry"}{"kind":"fault","do":"pause","for":"1ms","for_ms":1}
{"kind":"expired","was":{"type":"hash","fields":{"a":"1"},"pttl_ms":0}}{"kind":"violation","rule":"orphan","threads":["A"],"detail":"d"}{"kind":"end","result":"done"}`))
	f.Add([]byte(`{"relock":1,"scenario":null}` + "\n" + `{"Kind":"end","kind":"work","at_ms":-0.0,"belief":null}` + "\nnull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, events, err := trace.Read(t.Context(), bytes.NewReader(data))
		if err != nil {
			return
		}
		if h.Relock != trace.Version {
			t.Fatalf("version %d was read", h.Relock)
		}
		// A trace that was read once is written and read the same from then on.
		var once, twice bytes.Buffer
		if err := trace.Write(&once, h, events); err != nil {
			t.Fatal(err)
		}
		h, again, err := trace.Read(t.Context(), bytes.NewReader(once.Bytes()))
		if err != nil || len(again) != len(events) {
			t.Fatalf("%d events of %d came back: %v\n%s", len(again), len(events), err, once.Bytes())
		}
		if err := trace.Write(&twice, h, again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("written\n%s\nand then\n%s", once.Bytes(), twice.Bytes())
		}
	})
}
