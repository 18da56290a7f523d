package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookAgain is how often a certificate's files are looked at for newer ones.
const lookAgain = time.Minute

// certificate is a server's certificate in two files. Files that are replaced
// while the server runs are read anew. It is safe for concurrent use.
type certificate struct {
	cert, key string // paths

	mu     sync.Mutex
	now    *tls.Certificate
	as     time.Time // when the newer file was written
	looked time.Time
}

// readCertificate reads a certificate and its key, in PEM.
func readCertificate(cert, key string) (*certificate, error) {
	if cert == "" || key == "" {
		return nil, errors.New("-tls-cert and -tls-key go together")
	}
	c := &certificate{cert: cert, key: key}
	return c, c.read()
}

// read takes what is in the files now, and keeps what it has where they do not
// fit each other. The caller holds mu, or is alone.
func (c *certificate) read() error {
	written, err := c.written()
	if err != nil {
		return err
	}
	fresh, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.cert, c.key, err)
	}
	c.now, c.as, c.looked = &fresh, written, time.Now()
	return nil
}

// written is when the newer of the two files was.
func (c *certificate) written() (time.Time, error) {
	var newest time.Time
	for _, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return newest, fmt.Errorf("the certificate: %w", err)
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, nil
}

// get is the certificate for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= lookAgain {
		c.looked = time.Now()
		if written, err := c.written(); err == nil && !written.Equal(c.as) {
			_ = c.read() // half replaced: the next look finds both
		}
	}
	return c.now, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}
