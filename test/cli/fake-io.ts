import { EventEmitter } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Io } from '../../src/cli/command.ts';
import { main } from '../../src/cli/main.ts';
import { edition } from '../../src/edition.ts';
import { program } from '../helpers/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Commands ask the proxy on the port of the settings, and on the usual one a developer's own may answer. */
const UNUSED_PORT = '1';

/** A process that exists only in the test; its files are real. */
export function fakeIo(given: Partial<Io> = {}) {
  const events = new EventEmitter();
  const exits: number[] = [];
  let out = '';
  let err = '';
  const io: Io = {
    edition,
    platform: 'linux',
    homeDir: '/nowhere',
    cwd: '/',
    readFile: (path) => readFileSync(path, 'utf8'),
    fileExists: existsSync,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    outIsTerminal: false,
    clock: { nowMs: () => Date.UTC(2026, 0, 10, 12) },
    version: '9.8.7',
    events,
    exit: (code) => exits.push(code),
    ...given,
    env: { MCP_PRUNER_PORT: UNUSED_PORT, ...given.env },
  };
  return { io, events, exits, ran: (code: number): Ran => ({ code, out, err }) };
}

/** Runs a command line and gives back what it printed. */
export async function run(args: readonly string[], given: Partial<Io> = {}): Promise<Ran> {
  const { io, ran } = fakeIo(given);
  return ran(await main(args, io, program));
}
