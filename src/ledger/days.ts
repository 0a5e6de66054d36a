/** The day of a time (UTC, `YYYY-MM-DD`). */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
