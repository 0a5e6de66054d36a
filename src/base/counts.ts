/** A number without decimals, as people read it: `12,345`. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A number of things: `1 request`, `2 requests`. */
export function plural(value: number, thing: string, things = `${thing}s`): string {
  return `${count(value)} ${Math.round(value) === 1 ? thing : things}`;
}
