import { main, type ProcessIo } from 'mcp-pruner/cli/main.ts';
import { program } from '../../../test/helpers/program.ts';
import { labCommands } from '../src/commands.ts';

/** Runs one command line without a process of its own. */
export async function runCommand(
  args: readonly string[],
  errIsTerminal = false,
): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const io: ProcessIo = {
    env: {},
    cwd: '/',
    homeDir: '/nonexistent',
    platform: 'linux',
    readFile: () => {
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    },
    fileExists: () => false,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    outIsTerminal: false,
    errIsTerminal,
    clock: { nowMs: () => 1_700_000_000_000 },
    version: '0.0.0',
    events: { on: () => undefined, off: () => undefined },
    streams: () => {
      throw new Error('no streams here');
    },
    exit: () => {},
  };
  return { code: await main(args, io, { ...program, commands: labCommands }), out, err };
}
