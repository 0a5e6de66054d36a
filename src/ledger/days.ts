const DAY_MS = 86_400_000;
let lastDay = Number.NaN;
let lastName = '';

/** The day of a time (UTC, `YYYY-MM-DD`). */
export function dayOf(atMs: number): string {
  const day = Math.floor(atMs / DAY_MS);
  if (day !== lastDay) {
    lastName = new Date(atMs).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastName;
}
