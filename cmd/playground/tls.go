package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"relock/engine/phrase"
)

// lookAgain is how often to check a certificate's files for newer ones.
const lookAgain = time.Minute

// certificate is a server's certificate in two files, which it reloads when
// they are replaced. It is safe for concurrent use.
type certificate struct {
	cert, key string // paths

	mu     sync.Mutex
	now    *tls.Certificate
	as     time.Time // when the newer file was written
	looked time.Time
}

// readCertificate reads a certificate and its key in PEM.
func readCertificate(cert, key string) (*certificate, error) {
	if cert == "" || key == "" {
		return nil, phrase.New("-tls-cert and -tls-key go together")
	}
	c := &certificate{cert: cert, key: key}
	return c, c.read()
}

// read loads the files, and keeps the old certificate if the two do not match.
// The caller holds mu or has the only reference.
func (c *certificate) read() error {
	written, err := c.written()
	if err != nil {
		return err
	}
	fresh, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("%w: %w", phrase.New("the certificate %s with the key %s", c.cert, c.key), err)
	}
	c.now, c.as, c.looked = &fresh, written, time.Now()
	return nil
}

// errCertificate is one whose files cannot be looked at.
var errCertificate = phrase.New("the certificate")

// written returns when the newer of the two files was written.
func (c *certificate) written() (time.Time, error) {
	var newest time.Time
	for _, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return newest, fmt.Errorf("%w: %w", errCertificate, err)
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, nil
}

// get returns the certificate for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= lookAgain {
		c.looked = time.Now()
		if written, err := c.written(); err == nil && !written.Equal(c.as) {
			_ = c.read() // half replaced: the next check finds both
		}
	}
	return c.now, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}
