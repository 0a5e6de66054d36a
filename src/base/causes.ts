/** The code of an error of the system, a driver or a library, such as `ENOENT`; `''` if it has none. */
export function errorCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}

/** The message of an error, or whatever else was thrown as text. */
export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
