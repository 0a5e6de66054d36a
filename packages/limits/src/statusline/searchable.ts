export interface Searchable {
  readonly results: number;
  /** Paths or other targets of their calls, newest first. */
  readonly newest: readonly string[];
}

const MAX_NAMES = 5;
const MAX_CHARS = 60;

/** A line for the model after a compaction, including the line end; `''` if nothing can be searched. */
export function searchableLine(found: Partial<Searchable> | null): string {
  const { results = 0, newest } = found ?? {};
  if (typeof results !== 'number' || results <= 0) return '';
  const names = (Array.isArray(newest) ? newest : []).map(shortened).filter(Boolean).slice(0, MAX_NAMES);
  const reads = names.length === 0 ? '' : `, newest reads: ${names.join(', ')}`;
  return `${results} tool ${results === 1 ? 'result' : 'results'} of this session can still be searched${reads}; the tool recall finds them.\n`;
}

/** Sanitises a name to one short line without control characters, since it comes from a model's call. */
function shortened(name: unknown): string {
  const line = String(name)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length > MAX_CHARS ? `…${line.slice(1 - MAX_CHARS)}` : line;
}
