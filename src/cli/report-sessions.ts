import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../errors.ts';
import { ProgressBar } from '../eval/progress.ts';
import { ClaudeSession } from '../eval/sessions/claude.ts';
import { CodexSession } from '../eval/sessions/codex.ts';
import { linesOf } from '../eval/sessions/lines.ts';
import type { SessionReader, SessionRequest } from '../eval/sessions/recorded.ts';
import type { Call, Io } from './command.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { readSettings } from './read-settings.ts';
import { type SessionTotals, sessionsText } from './report-sessions-text.ts';
import { painter } from './terminal.ts';

/** Deciding takes the time it takes: nobody waits for an answer. */
const TIMEOUT_MS = 600_000;
const MAX_FILES = 20_000;

/** Where the agents keep their sessions, below the user's home. */
const PLACES: readonly {
  readonly agent: string;
  readonly folder: readonly string[];
  readonly open: () => SessionReader;
}[] = [
  { agent: 'Claude Code', folder: ['.claude', 'projects'], open: () => new ClaudeSession() },
  { agent: 'Codex', folder: ['.codex', 'sessions'], open: () => new CodexSession() },
];

interface SessionFile {
  readonly agent: string;
  readonly path: string;
  readonly open: () => SessionReader;
}

/**
 * `report --sessions`: what pruning would have changed in the sessions on this machine. Files are read where they lie;
 * nothing is sent and nothing is written.
 */
export async function reportSessions(call: Call, io: Io, sinceMs: number): Promise<number> {
  const files = PLACES.flatMap(({ agent, folder, open }) =>
    filesBelow(join(io.homeDir, ...folder), sinceMs).map((path) => ({ agent, path, open })),
  );
  if (files.length === 0) {
    throw new UserError(
      `no session since ${new Date(sinceMs).toISOString().slice(0, 10)} in ${PLACES.map(({ folder }) => `~/${folder.join('/')}`).join(' or ')}: --since 3m looks further back`,
    );
  }
  const totals = await replayed(files, call, io, sinceMs);
  io.out(
    call.values.json === true ? `${JSON.stringify(totals, null, 2)}\n` : sessionsText(totals, painter(io), io.columns),
  );
  return 0;
}

async function replayed(files: readonly SessionFile[], call: Call, io: Io, sinceMs: number): Promise<SessionTotals> {
  const { settings } = readSettings(call, io);
  const { pricesOf } = await import('../app/ledger.ts');
  const { Ledger } = await import('../ledger/ledger.ts');
  const { readReport } = await import('../ledger/ledger.ts');
  const { Rehearsal } = await import('./rehearsal.ts');
  const kept = new MemoryLedger();
  const ledger = new Ledger({
    store: kept,
    prices: pricesOf(settings),
    clock: io.clock,
    onFailure: (_, cause) => {
      throw cause;
    },
  });
  const bar = new ProgressBar(io.errIsTerminal === true ? io.err : null, files.length);
  const agents = new Map<string, number>();
  let skipped = 0;
  for (const [i, { agent, path, open }] of files.entries()) {
    bar.show(i, agent);
    const rehearsal = new Rehearsal(
      { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: TIMEOUT_MS },
      io.clock,
    );
    try {
      const moved = (share: number): void => bar.show(i + share, agent);
      for await (const request of requestsOf(path, open(), moved)) {
        const facts = await rehearsal.facts(request, `${path}#${i}`);
        if (facts === null || request.atMs < sinceMs) continue;
        ledger.request(facts);
        agents.set(agent, (agents.get(agent) ?? 0) + 1);
      }
    } catch (cause) {
      // one file that cannot be read says nothing of the others
      if (!(cause instanceof Error)) throw cause;
      skipped++;
    } finally {
      await rehearsal.close();
    }
    await ledger.flush();
  }
  bar.clear();
  const report = await readReport(kept, { sinceDay: new Date(sinceMs).toISOString().slice(0, 10) });
  return { files: files.length, skipped, agents: Object.fromEntries(agents), report };
}

/** The session files that were written since then, oldest first. */
function filesBelow(folder: string, sinceMs: number): string[] {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    return []; // this agent is not used here
  }
  return names
    .filter((name) => name.endsWith('.jsonl'))
    .slice(0, MAX_FILES)
    .map((name) => join(folder, name))
    .map((path) => ({ path, atMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .filter(({ atMs }) => atMs >= sinceMs)
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ path }) => path);
}

/** @param onRead - told how much of the file was read, from 0 to 1 */
async function* requestsOf(
  path: string,
  reader: SessionReader,
  onRead: (share: number) => void,
): AsyncGenerator<SessionRequest> {
  const { size } = statSync(path);
  for await (const line of linesOf(path, (bytes) => onRead(Math.min(1, bytes / Math.max(1, size))))) {
    yield* reader.line(line);
  }
  yield* reader.end();
}
