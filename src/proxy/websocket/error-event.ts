/** What an `error` event of an answer says; the fields that are not there, or not what they should be, are 500 and `''`. */
export interface ErrorEvent {
  readonly status: number;
  readonly code: string;
}

/** Reads `{"type": "error", "status": 400, "error": {"code": …}}`; the status may also be called `status_code`. */
export function errorEventIn(frame: Buffer): ErrorEvent {
  const event = objectIn(() => JSON.parse(frame.toString('utf8')));
  const status = event.status ?? event.status_code;
  const { code } = objectIn(() => event.error);
  return { status: typeof status === 'number' ? status : 500, code: typeof code === 'string' ? code : '' };
}

function objectIn(read: () => unknown): Readonly<Record<string, unknown>> {
  try {
    const value = read();
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
