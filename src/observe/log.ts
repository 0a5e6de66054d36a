import { type Logger, pino, stdTimeFunctions } from 'pino';
import { describeError, hideSecrets } from './redact.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: string;
  /** 1 writes to stdout, 2 to stderr (stdio mode, where stdout belongs to the protocol). */
  readonly fd: number;
  /** Lines for people instead of JSON; for a terminal. */
  readonly pretty: boolean;
}

/** Log lines that wait for a slow reader; beyond it new ones are dropped rather than memory filled. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Waiting lines are written once they are this many bytes, or this old. */
const TOGETHER_BYTES = 8 * 1024;
const FLUSH_MS = 50;

/**
 * Makes the logger: one JSON object a line, or pretty lines. Writing never blocks and never throws: a reader that is
 * slow, gone or full costs log lines and nothing else. Lines not yet written are flushed when the process exits.
 * Credentials are hidden in the fields of a line, but not in what is given to `child`.
 */
export async function createLog({ level, fd, pretty }: LogOptions): Promise<Log> {
  return pino(
    {
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: hideSecrets,
      },
      serializers: { err: describeError, error: describeError },
    },
    pretty ? await prettyStream(fd) : jsonStream(fd),
  );
}

/** Lines that come close together are written together: one write a line would cost a busy proxy a tenth of its time. */
function jsonStream(fd: number) {
  const stream = pino.destination({ fd, sync: false, minLength: TOGETHER_BYTES, maxLength: MAX_WAITING_BYTES });
  stream.on('error', () => {}); // a full disk must not end the process
  let flushing = false;
  return {
    write(line: string): void {
      stream.write(line);
      if (flushing) return;
      flushing = true;
      setTimeout(() => {
        flushing = false;
        stream.flush();
      }, FLUSH_MS).unref();
    },
    flush: (done?: (error?: Error) => void): void => stream.flush(done),
    flushSync: (): void => stream.flushSync(),
  };
}

async function prettyStream(fd: number) {
  const { default: makePretty } = await import('pino-pretty'); // only a terminal pays for this import
  const stream = makePretty({ destination: fd, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' });
  stream.on('error', () => {});
  return stream;
}
