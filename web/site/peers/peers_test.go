package peers

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick are beats for a test.
var quick = times{beat: 10 * time.Millisecond, lease: 200 * time.Millisecond, now: time.Now}

// member is a server that says who sent what it is asked, and hands on what
// another has.
type member struct {
	*Peers

	times times
	at    *httptest.Server
}

func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, passed, err := m.Accept(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if name, ok := m.Elsewhere(strings.TrimPrefix(r.URL.Path, "/")); ok && !passed {
		if err := m.Pass(w, r, name, Visitor{Address: "192.0.2.7", Host: r.Host, Secure: true}); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		return
	}
	_, _ = io.WriteString(w, m.name+" for "+v.Address+" at "+v.Host)
}

// client is one of a Redis of the test's own.
func client(t *testing.T) (*storetest.Server, *redis.Client) {
	t.Helper()
	at := storetest.Start(t)
	c := storetest.Client(at.Addr)
	t.Cleanup(func() { _ = c.Close() })
	return at, c
}

// serve starts a member, where change may say something else of it.
func serve(t *testing.T, on *redis.Client, secure *tls.Config, change func(*Config)) *member {
	t.Helper()
	return (&member{times: quick}).start(t, on, secure, change)
}

func (m *member) start(t *testing.T, on *redis.Client, secure *tls.Config, change func(*Config)) *member {
	t.Helper()
	m.at = httptest.NewUnstartedServer(m)
	if secure != nil {
		m.at.TLS = secure
		m.at.StartTLS()
	} else {
		m.at.Start()
	}
	c := Config{Client: on, Address: m.at.URL, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	m.Peers = join(c, m.times)
	t.Cleanup(func() {
		m.Peers.Close()
		m.at.Close()
	})
	return m
}

// ask asks a member, and returns what it says.
func (m *member) ask(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.at.URL+"/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "relock.example"
	res, err := m.at.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(body))
}

func TestARequestIsHandedOnWithWhoSentIt(t *testing.T) {
	_, redis := client(t)
	one, two := serve(t, redis, nil, nil), serve(t, redis, nil, nil)
	if _, said := two.ask(t, one.NewID()); said != one.name+" for 192.0.2.7 at relock.example" {
		t.Error(said)
	}
	if _, said := one.ask(t, one.NewID()); said != one.name+" for  at" {
		t.Error(said)
	}
	for _, name := range []string{"AAAAAAAAAA", "aaaaaaaaaa", "AAAAAAAAAA}:{"} {
		if err := one.Pass(nil, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), name, Visitor{}); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that falls silent is gone after a lease, and known to have been there.
func TestAServerThatBeatsNoMoreIsGone(t *testing.T) {
	_, redis := client(t)
	one, two := serve(t, redis, nil, nil), serve(t, redis, nil, nil)
	id := one.NewID()
	two.ask(t, id)
	one.stop() // like kill -9: it says nothing
	one.going.Wait()
	one.at.Close()
	for said := ""; said != ErrGone.Error(); {
		var status int
		if status, said = two.ask(t, id); status != http.StatusBadGateway || said != ErrGone.Error() && said != ErrSilent.Error() {
			t.Fatal(status, said)
		}
	}
}

// A request that waits for a hanging server ends when that counts as ended.
func TestAServerThatStandsStill(t *testing.T) {
	_, redis := client(t)
	still := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer still.Close()
	one, two := serve(t, redis, nil, func(c *Config) { c.Address = still.URL }), serve(t, redis, nil, nil)
	one.stop()
	if status, said := two.ask(t, one.NewID()); status != http.StatusBadGateway || said != ErrGone.Error() {
		t.Error(status, said)
	}
}

// A server that does not reach Redis for a while is still asked where it was,
// and who waits for it goes on waiting.
func TestAServerThatDoesNotReachRedis(t *testing.T) {
	_, redis := client(t)
	one := (&member{times: times{time.Hour, quick.lease, time.Now}}).start(t, redis, nil, nil)
	two := serve(t, redis, nil, nil)
	waits := &passing{to: one.name, socket: true, end: func() { t.Error("what it is asked is ended") }}
	two.begin(waits)
	defer two.done(waits)
	for redis.Exists(t.Context(), "relock:peers:{"+one.name+"}:alive").Val() == 1 || !two.certain() {
		if status, said := two.ask(t, one.NewID()); status != http.StatusOK {
			t.Fatal(status, said)
		}
	}
	two.forget(one.name)
	two.leave(t.Context())
	if status, said := two.ask(t, one.NewID()); status != http.StatusOK {
		t.Error(status, said)
	}
}

// A server that does not answer counts as ended only once it had a lease's time
// to say that it is alive, on a Redis that works.
func TestNobodyIsBuriedEarly(t *testing.T) {
	_, redis := client(t)
	const gone = "AAAAAAAAAA"
	nobody := httptest.NewServer(nil)
	nobody.Close()
	redis.Set(t.Context(), "relock:peers:{"+gone+"}", `{"address":"`+nobody.URL+`"}`, time.Hour)
	young := (&member{times: times{quick.beat, time.Hour, time.Now}}).start(t, redis, nil, nil)
	if _, said := young.ask(t, gone+"-x"); said != ErrSilent.Error() {
		t.Error(said)
	}
	redis.Set(t.Context(), "relock:peers:{"+gone+"}", ended, time.Hour)
	young.forget(gone)
	if _, said := young.ask(t, gone+"-x"); said != ErrGone.Error() {
		t.Error(said)
	}
}

// A server's entries on Redis are back soon after Redis lost everything, and all servers
// still share one secret.
func TestARedisThatHasLostEverything(t *testing.T) {
	at, redis := client(t)
	one, two := serve(t, redis, nil, nil), serve(t, redis, nil, nil)
	before := one.shared()
	at.Kill()
	if err := at.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	two.forget(one.name)
	for status := 0; status != http.StatusOK; {
		status, _ = two.ask(t, one.NewID())
	}
	if three := serve(t, redis, nil, nil); three.shared() != before {
		t.Error("who comes later has another secret")
	}
}

// Nothing goes round in circles: who is asked in another's name refuses, and
// who asked says that it was not reached.
func TestAnAddressThatIsAnothers(t *testing.T) {
	_, redis := client(t)
	one := serve(t, redis, nil, nil)
	lost := serve(t, redis, nil, func(c *Config) { c.Address = one.at.URL })
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	other := serve(t, redis, nil, func(c *Config) { c.Address = stranger.URL })
	for _, m := range []*member{lost, other} {
		if status, said := one.ask(t, m.NewID()); status != http.StatusBadGateway || said != ErrSilent.Error() {
			t.Error(status, said)
		}
	}
}

func TestWhatIsSignedCannotBeChanged(t *testing.T) {
	_, redis := client(t)
	one := serve(t, redis, nil, nil)
	accept := func(secret string, what passed, uri string) error {
		t.Helper()
		text, err := sign(secret, what)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, uri, nil)
		r.Header.Set(header, text)
		_, _, err = one.Accept(httptest.NewRecorder(), r)
		return err
	}
	good := passed{To: one.name, URI: "/runs/x?row=1", At: one.now().UnixMilli()}
	signed := func(before time.Duration) passed {
		what := good
		what.At = one.now().Add(-before).UnixMilli()
		return what
	}
	if err := accept(one.shared(), good, "/runs/x?row=1"); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"another secret":  accept("guessed", good, "/runs/x?row=1"),
		"no secret":       accept("", good, "/runs/x?row=1"),
		"another address": accept(one.shared(), good, "/runs/y?row=1"),
		"another server":  accept(one.shared(), passed{To: "AAAAAAAAAA", URI: "/", At: good.At}, "/"),
		"long ago":        accept(one.shared(), signed(signedLimit+time.Second), "/runs/x?row=1"),
		"in the future":   accept(one.shared(), signed(-signedLimit-time.Second), "/runs/x?row=1"),
		"without a time":  accept(one.shared(), passed{To: one.name, URI: "/runs/x?row=1"}, "/runs/x?row=1"),
	} {
		if !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A signature counts for a moment by the clock of their Redis, whatever the servers' own
// clocks say.
func TestServersWhoseClocksDiffer(t *testing.T) {
	_, redis := client(t)
	late := quick
	late.now = func() time.Time { return time.Now().Add(-time.Hour) }
	one, m := serve(t, redis, nil, nil), (&member{times: late}).start(t, redis, nil, nil)
	for _, way := range [][2]*member{{one, m}, {m, one}} {
		if status, said := way[0].ask(t, way[1].NewID()); status != http.StatusOK {
			t.Error(status, said)
		}
	}
}

// Servers with HTTPS know each other by their certificates, whatever names these
// are made out to.
func TestServersKnowEachOtherByTheirCertificates(t *testing.T) {
	_, redis := client(t)
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	pins := func(pin string) func(*Config) {
		return func(c *Config) { c.Pin = func() (string, error) { return pin, nil } }
	}
	shown := httptest.NewUnstartedServer(nil)
	shown.StartTLS()
	certificate := Pin(shown.Certificate().Raw)
	shown.Close()
	right, wrong, none := serve(t, redis, secure.Clone(), pins(certificate)), serve(t, redis, secure.Clone(), pins("00")), serve(t, redis, secure.Clone(), nil)
	asks := serve(t, redis, nil, nil)
	for m, want := range map[*member]int{right: http.StatusOK, wrong: http.StatusBadGateway, none: http.StatusBadGateway} {
		if status, said := asks.ask(t, m.NewID()); status != want {
			t.Errorf("%d, want %d: %s", status, want, said)
		}
	}
}

// Without other servers everything is here.
func TestAServerAlone(t *testing.T) {
	var alone *Peers
	if _, elsewhere := alone.Elsewhere("AAAAAAAAAA-x"); elsewhere || alone.NewID() != "" {
		t.Error("a server alone knows others")
	}
	if _, passed, err := alone.Accept(nil, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); passed || err != nil {
		t.Error(passed, err)
	}
	alone.Close()
}
