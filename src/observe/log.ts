import { type Logger, pino, stdTimeFunctions } from 'pino';
import { LineWriter } from './line-writer.ts';
import { describeError, hideSecrets } from './redact.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: string;
  /** 1 writes to stdout, 2 to stderr (stdio mode, where stdout belongs to the protocol). */
  readonly fd: number;
  /** Lines for people instead of JSON; for a terminal. */
  readonly pretty: boolean;
}

/**
 * Makes the logger: one JSON object a line, or pretty lines. Writing never blocks and never throws.
 * Credentials are hidden in the fields of a line, but not in what is given to `child`.
 */
export async function createLog({ level, fd, pretty }: LogOptions): Promise<Log> {
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
    pretty ? await prettyLines(writer) : writer,
  );
  return log;
}

/** What JSON leaves as it is and a terminal obeys: C1 controls, and marks that turn the direction of text. */
const TERMINAL_CONTROL = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

async function prettyLines(writer: LineWriter): Promise<Pick<LineWriter, 'write' | 'flush'>> {
  const { prettyFactory } = await import('pino-pretty'); // only a terminal pays for this import
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' });
  return {
    write: (line) => writer.write(pretty(line.replaceAll(TERMINAL_CONTROL, '\ufffd'))),
    flush: (onWritten) => writer.flush(onWritten),
  };
}
