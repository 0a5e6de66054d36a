import type { Settings } from '../config/settings.ts';
import type { Io } from './command.ts';
import { proxyHealth, proxyUrl } from './run/proxy.ts';
import { wrapped } from './wrap.ts';

/** How to start the proxy that the agent now needs; a person at a terminal may start it here. @returns the exit code */
export async function printStartupAdvice(settings: Settings, io: Io): Promise<number> {
  const url = proxyUrl(settings);
  if ((await proxyHealth(url)) !== null) {
    io.out(`the proxy runs at ${url}\n`);
    return 0;
  }
  const ways = 'in the background: mcp-pruner service install; in a terminal: mcp-pruner serve';
  io.out(wrapped(`The agent now needs the proxy, which does not run at ${url}. Start it ${ways}`, '', io));
  if (!(await isAgreed('Start it in the background now?', io))) return 0;
  const { service } = await import('./service/service.ts');
  return service.run({ values: {}, positionals: ['install'] }, io);
}

/** Asks a person at a terminal; nobody else is asked, and the answer is no. */
async function isAgreed(question: string, io: Io): Promise<boolean> {
  const streams = io.inIsTerminal === true && io.outIsTerminal ? io.streams?.() : undefined;
  if (streams === undefined) return false;
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface(streams);
  const left = new AbortController();
  terminal.once('close', () => left.abort());
  try {
    return /^\s*y(?:es)?\s*$/i.test(await terminal.question(`${question} [y/N] `, { signal: left.signal }));
  } catch {
    return false; // the input ended
  } finally {
    terminal.close();
  }
}
