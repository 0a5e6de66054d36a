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

async function prettyLines(writer: LineWriter): Promise<Pick<LineWriter, 'write' | 'flush'>> {
  const { prettyFactory } = await import('pino-pretty'); // only a terminal pays for this import
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' });
  return { write: (line) => writer.write(pretty(line)), flush: (onWritten) => writer.flush(onWritten) };
}
