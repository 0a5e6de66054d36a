import { parsed } from 'mcp-pruner/wires/json/value.ts';

const MAX_DEPTH = 12;

/** All strings in a JSON text, including those inside strings that are JSON objects, such as tool arguments. */
export function stringsOf(json: string): string[] {
  const found: string[] = [];
  collect(parsed(json), found, 0);
  return found;
}

function collect(value: unknown, found: string[], depth: number): void {
  if (depth > MAX_DEPTH) return;
  if (typeof value === 'string') {
    const inner = value.startsWith('{') && value.endsWith('}') ? parsed(value) : undefined;
    if (typeof inner === 'object' && inner !== null) collect(inner, found, depth + 1);
    else found.push(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, found, depth + 1);
  }
}

/** Minimum length of a line, in characters; shorter lines occur by coincidence. */
const LEAST_CHARS = 20;
/** Maximum number of remembered lines per session. */
const MAX_LINES = 200_000;

/**
 * Counts the lines of tool results that the model used later: whole lines that its answer or call repeats and that
 * neither the user nor the model had written before. Also counts used lines that no result would have contained after
 * pruning.
 */
export class UsedLines {
  /** Lines of results so far; `true` if a result would still contain the line after pruning. */
  readonly #results = new Map<string, boolean>();
  readonly #written = new Set<string>();
  used = 0;
  lost = 0;

  addModelMessage(json: string): void {
    for (const line of linesIn(json)) {
      if (this.#written.has(line)) continue;
      this.#addWritten(line);
      const stands = this.#results.get(line);
      if (stands === undefined) continue;
      this.used++;
      if (!stands) this.lost++;
    }
  }

  /** @param pruned - the message as it would have been sent */
  addOtherMessage(json: string, pruned: string): void {
    const isResult = json.includes('tool_result') || json.includes('_output"') || json.includes('"role":"tool"');
    if (!isResult) {
      for (const line of linesIn(json)) this.#addWritten(line);
      return;
    }
    const left = pruned === json ? null : new Set(linesIn(pruned));
    for (const line of linesIn(json)) {
      const stands = left === null || left.has(line);
      if (this.#results.size < MAX_LINES || this.#results.has(line)) {
        this.#results.set(line, stands || this.#results.get(line) === true);
      }
    }
  }

  #addWritten(line: string): void {
    if (this.#written.size < MAX_LINES) this.#written.add(line);
  }
}

function linesIn(json: string): string[] {
  return stringsOf(json).flatMap((text) =>
    text
      .split('\n')
      .map((line) => line.replace(/^\s{0,20}\d{1,7}[→:|\t]/u, '').trim())
      .filter(({ length }) => length >= LEAST_CHARS),
  );
}
