/** PostgreSQL's texts hold anything but NUL, which stands here as two characters, and so does what would be taken for them. */
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
