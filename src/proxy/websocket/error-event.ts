import { field, parsed } from '../../wires/json/value.ts';

/** The content of an `error` event; missing or invalid fields are 500 and `''`. */
export interface ErrorEvent {
  readonly status: number;
  readonly code: string;
}

/** Reads `{"type": "error", "status": 400, "error": {"code": …}}`; the status may also be called `status_code`. */
export function errorEventIn(frame: Buffer): ErrorEvent {
  const event = parsed(frame.toString('utf8'));
  const status = field(event, 'status') ?? field(event, 'status_code');
  const code = field(field(event, 'error'), 'code');
  return { status: typeof status === 'number' ? status : 500, code: typeof code === 'string' ? code : '' };
}
