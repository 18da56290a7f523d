package invoice

import (
	"context"
	"database/sql"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// Pay marks an invoice as paid, unless a later holder of its lock came first.
func Pay(ctx context.Context, client *redis.Client, db *sql.DB) error {
	locker, err := lock.New(client, lock.Options{Protocol: lock.Fenced})
	if err != nil {
		return err
	}
	defer locker.Close()
	return locker.Do(ctx, "invoice:7", func(ctx context.Context) error {
		token := lock.HoldOf(ctx).Token()
		// The row decides, in one step with the write.
		res, err := db.ExecContext(ctx,
			`UPDATE invoice SET state = 'paid', token = $1 WHERE id = 7 AND token <= $1`, token)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return lock.ErrLost // the row has seen a larger token
	}, lock.WithWait(5*time.Second)) // and the work until ctx ends
}
