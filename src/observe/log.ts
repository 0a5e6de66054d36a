import { type Logger, pino, stdTimeFunctions } from 'pino';
import { LineWriter } from './line-writer.ts';
import { describeError, hideSecrets } from './redact.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: string;
  /** 1 writes to stdout, 2 to stderr (stdio mode, where stdout belongs to the protocol). */
  readonly fd: number;
  /** Formats a JSON line for people; without it JSON is written. */
  readonly render?: (line: string) => string;
}

/**
 * Creates the logger: one JSON object per line, or its rendered form. Writing never blocks and never throws.
 * Credentials are hidden in the fields of a line, but not in fields passed to `child`.
 */
export function createLog({ level, fd, render }: LogOptions): Log {
  const writer = new LineWriter(fd);
  const log = pino(
    {
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: hideSecrets,
      },
      serializers: { err: describeError, error: describeError },
    },
    render ? rendered(writer, render) : writer,
  );
  return log;
}

function rendered(writer: LineWriter, render: (line: string) => string): Pick<LineWriter, 'write' | 'flush'> {
  return {
    write: (line) => writer.write(render(line)),
    flush: (onWritten) => writer.flush(onWritten),
  };
}
