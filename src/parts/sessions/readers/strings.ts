import { parsed } from '../../../wires/json/value.ts';

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
