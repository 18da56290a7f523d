package invoice

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Charge asks for the money once, however often it is called. No lock.
func Charge(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("amount=40"))
	if err != nil {
		return err
	}
	// Every try of every sender has the same key: the receiver keeps it with
	// what it did, and does it once.
	req.Header.Set("Idempotency-Key", "invoice-7")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err // it may have been done: try again, with the same key
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("charge: %s", res.Status)
	}
	return nil
}
