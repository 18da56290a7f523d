package invoice_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"relock/engine/lock"
	"relock/lessons/advice/invoice"
)

// row is a table with one row, as a database has it: it answers the statements
// of the programs, each in one step.
type row struct{ version, token int64 }

func (r *row) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r *row) Driver() driver.Driver                        { return nil }
func (r *row) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("nothing is prepared") }

func (r *row) Begin() (driver.Tx, error)                { return nil, errors.New("nothing is a transaction") }
func (r *row) Close() error                             { return nil }
func (r *row) Columns() []string                        { return []string{"version"} }
func (r *row) CheckNamedValue(*driver.NamedValue) error { return nil }
func (r *row) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	given := args[0].Value.(int64)
	switch {
	case strings.Contains(query, "token <= $1") && given >= r.token:
		r.token = given
	case strings.Contains(query, "version = $1") && given == r.version:
		r.version++
	default:
		return driver.RowsAffected(0), nil
	}
	return driver.RowsAffected(1), nil
}

func (r *row) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &answer{row: r, rows: []int64{r.version}}, nil
}

// answer is what a query answers with. Between it and the write others come.
type answer struct {
	*row

	rows []int64
}

func (a *answer) Next(to []driver.Value) error {
	if len(a.rows) == 0 {
		return io.EOF
	}
	to[0], a.rows = a.rows[0], a.rows[1:]
	return nil
}

func TestTheRowDecides(t *testing.T) {
	r := &row{}
	db := sql.OpenDB(r)
	defer func() { _ = db.Close() }()
	c := client(t)
	for range 2 {
		if err := invoice.Pay(t.Context(), c, db); err != nil {
			t.Fatal(err)
		}
	}
	r.token++ // a later holder has written
	r.token *= 2
	if err := invoice.Pay(t.Context(), c, db); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a write with an older token: %v", err)
	}
}

func TestAVersionDecides(t *testing.T) {
	r := &row{version: 3}
	db := sql.OpenDB(r)
	defer func() { _ = db.Close() }()
	if err := invoice.PayVersion(t.Context(), db); err != nil || r.version != 4 {
		t.Fatal(err, r.version)
	}
	stale := &changing{row: r}
	late := sql.OpenDB(stale)
	defer func() { _ = late.Close() }()
	if err := invoice.PayVersion(t.Context(), late); !errors.Is(err, invoice.ErrChanged) {
		t.Errorf("somebody else came first: %v", err)
	}
}

// changing is a row that somebody else writes right after it was read.
type changing struct{ *row }

func (c *changing) Connect(context.Context) (driver.Conn, error) { return c, nil }

func (c *changing) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.row.QueryContext(ctx, query, args)
	c.version++
	return rows, err
}
