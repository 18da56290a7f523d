package invoice

import (
	"context"
	"database/sql"
	"errors"
)

// ErrChanged means that somebody else came first: read again, and decide again.
var ErrChanged = errors.New("the invoice was changed meanwhile")

// PayVersion marks an invoice as paid if it still is as it was read. No lock.
func PayVersion(ctx context.Context, db *sql.DB) error {
	var version int64
	if err := db.QueryRowContext(ctx, `SELECT version FROM invoice WHERE id = 7`).Scan(&version); err != nil {
		return err
	}
	res, err := db.ExecContext(ctx,
		`UPDATE invoice SET state = 'paid', version = version + 1 WHERE id = 7 AND version = $1`, version)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return ErrChanged
}
