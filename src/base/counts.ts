/** Formats a whole number: `12,345`. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Formats a count with its noun: `1 request`, `2 requests`. */
export function plural(value: number, thing: string, things = `${thing}s`): string {
  return `${count(value)} ${Math.round(value) === 1 ? thing : things}`;
}
