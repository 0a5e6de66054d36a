/** Escapes NUL, which PostgreSQL's text type cannot store, and the escape character itself. */
export function toPg(text: string): string {
  return text.includes('\0') || text.includes(ESCAPE)
    ? text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
    : text;
}

/** Inverse of `toPg`. */
export function fromPg(text: string): string {
  return text.includes(ESCAPE) ? text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE) : text;
}

const ESCAPE = '\x01';
