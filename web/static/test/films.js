// Films for tests.

export const row = (step, more = {}) => ({
  step,
  html: `<tr data-step="${step}"></tr>`,
  at: `${step} ms`,
  thread: 0,
  why: `why ${step}`,
  says: `step ${step}`,
  after: { type: "none", lease: 0, left: 0 },
  belief: [0, 0],
  ...more,
});

/** A film of moves, each of which brings so many rows. */
export function film(moves) {
  const f = { threads: ["A", "B"], lease: 200, rows: [], positions: [{ row: 0, at: "0 ms" }] };
  for (const { move, rows, over } of moves) {
    for (let i = 0; i < rows; i++) {
      f.rows.push(row(f.rows.length + 1));
    }
    f.positions.push({ move, row: f.rows.length, at: `${f.rows.length} ms`, over });
  }
  return f;
}
