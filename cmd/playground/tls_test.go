package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// selfSigned writes a certificate for this machine and its key.
func selfSigned(t *testing.T, dir, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

// started serves on a free port until the test ends, and returns its address.
func started(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- command(ctx, append([]string{"serve", "-log-level", "error", "-addr", "127.0.0.1:0"}, args...), environment{
			getenv: func(string) string { return "" }, out: in, err: io.Discard,
		})
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 {
			t.Errorf("exit code %d after an interrupt", code)
		}
	})
	return regexp.MustCompile(`https?://[^ ,]+/`).FindString(line)
}

func TestServeOverTLS(t *testing.T) {
	cert, key, pool := selfSigned(t, t.TempDir(), "first")
	address := started(t, "-tls-cert", cert, "-tls-key", key, "-public-url", "https://relock.example.org")
	if !strings.HasPrefix(address, "https://127.0.0.1:") {
		t.Fatalf("it says that it is at %q", address)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Errorf("%d over HTTP/%d", res.StatusCode, res.ProtoMajor)
	}
	listens := strings.TrimSuffix(strings.TrimPrefix(address, "https://"), "/")
	if got := playground(t, "", "healthcheck", "-addr", listens, "-tls-cert", cert, "-tls-key", key); got.code != 0 || got.out != "ready\n" {
		t.Errorf("healthcheck: %+v", got)
	}
	if got := playground(t, "", "healthcheck", "-addr", listens); got.code != 1 {
		t.Errorf("healthcheck without TLS: %+v", got)
	}
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: pool}}
	conn, _, err := dialer.DialContext(t.Context(), "wss"+strings.TrimPrefix(address, "https")+"play/socket", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestANewerCertificateIsTaken(t *testing.T) {
	dir := t.TempDir()
	certPath, keyPath, _ := selfSigned(t, dir, "first")
	c, err := readCertificate(certPath, keyPath)
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.Subject.CommonName
	}
	selfSigned(t, dir, "second")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(certPath, later, later); err != nil {
		t.Fatal(err)
	}
	if name() != "first" {
		t.Error("the files were read at once")
	}
	c.looked = time.Time{}
	if name() != "second" {
		t.Error("the newer certificate was not taken")
	}
	if err := os.WriteFile(keyPath, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.looked = time.Time{}
	if name() != "second" {
		t.Error("a broken key was taken")
	}
}
