import { existsSync, readFileSync } from 'node:fs';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { describe, expect, it } from 'vitest';
import type { StoreHandle } from '../../src/store/handle.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { aBatch, aSegment } from '../contract/segments.suite.ts';
import { aPrune, hashOf, manualClock, pruneIdOf } from '../contract/store.suite.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { hasPostgres, sharedDatabase } from '../helpers/postgres.ts';
import { tempPath } from './helpers.ts';

const DAY_MS = 86_400_000;
const PROJECTS = ['one', 'two', 'three', 'four'];
const LIMITS = { ttlMs: 30 * DAY_MS, maxBytes: 1e9, maxEvents: 100 };
const emptyDatabase = sharedDatabase();

/** Some hundred to some thousand bytes that compress badly, as different from text to text as logs are. */
function textOf(name: string): string {
  const lines = 5 + (Number.parseInt(hashOf(name).slice(0, 6), 16) % 80);
  return Array.from({ length: lines }, (_, line) => hashOf(`${name} ${line}`)).join('\n');
}

/** A prune id in the form that is searched for in records. */
const idOf = (name: string): string => pruneIdOf(name).toUpperCase().replace('PRN', 'prn');

async function opened(store: StoreHandle): Promise<StoreHandle> {
  afterwards(() => store.close());
  await store.ready();
  return store;
}

it('leaves no byte of a project in the file, whichever of four goes, while two servers have it open', async () => {
  const clock = manualClock();
  const path = tempPath();
  const servers = [
    await opened(openSqliteStore({ path, clock, ...LIMITS })),
    await opened(openSqliteStore({ path, clock, ...LIMITS })),
  ];
  const namesOf = (project: string, turn: number): string[] => [
    ...Array.from({ length: 6 }, (_, i) => `${project} ${turn} ${i}`),
    `all ${turn}`,
  ];
  for (let turn = 0; turn < 40; turn++) {
    for (const [p, project] of PROJECTS.entries()) {
      const store = servers[(turn + p) % 2] as StoreHandle;
      const conversation = `${hashOf(`opening ${turn % 10}`).slice(0, 12)}-${hashOf(`${turn % 10}`)}`;
      const names = namesOf(project, turn);
      const decisions = names.map((name) => aPrune(name, textOf(name)));
      clock.now += 1_000;
      await store.commit({ decisions, touch: [], conversation }, 10_000);
      const segments = names.map((name) => aSegment(`${project} ${name}`, { pruneIds: [pruneIdOf(name)] }));
      await store.segments.note([aBatch(segments, { project, conversationId: conversation, atMs: clock.now })]);
    }
  }
  for (const project of PROJECTS.slice(0, 3)) {
    const erasing = await opened(openSqliteStore({ path, clock, ...LIMITS }));
    const { complete, missing, texts } = await (await erasing.erasure()).erase({ project, withSettings: false }, 'e1');
    expect([project, complete, missing, texts]).toEqual([project, true, [], 240]);
    const bytes = [path, `${path}-wal`].filter(existsSync).map((file) => readFileSync(file));
    const own = Array.from({ length: 40 }, (_, turn) => namesOf(project, turn).slice(0, -1)).flat();
    expect(own.filter((name) => bytes.some((file) => file.includes(pruneIdOf(name))))).toEqual([]);
  }
  const kept = Array.from({ length: 40 }, (_, turn) => namesOf('four', turn))
    .flat()
    .map(pruneIdOf);
  expect(await servers[0]?.knownPruneIds(kept)).toEqual(new Set(kept));
});

describe.each([
  ['a file', async () => tempPath(), true],
  ['a database', emptyDatabase, hasPostgres],
] as const)('the records of sent messages on %s', (on, place, runs) => {
  it.skipIf(!runs)('go with a project whose texts have expired, and only if they are as old', async () => {
    const clock = manualClock();
    const at = await place();
    const store = await opened(
      on === 'a file'
        ? openSqliteStore({ path: at, clock, ...LIMITS })
        : openPostgresStore({ url: at, clock, ...LIMITS }),
    );
    const send = async (name: string): Promise<void> => {
      const prune = aPrune(name, textOf(name), { pruneId: idOf(name) });
      const sent = { prefix: hashOf(name), annotateLines: false, includeMarkers: true };
      const text = { at: 0, decision: prune.decision } as never;
      await store.commit(
        { decisions: [prune], touch: [], conversation: name, sent: [{ ...sent, texts: [text] }] },
        10_000,
      );
      const segments = [aSegment(name, { pruneIds: [idOf(name)] })];
      await store.segments.note([aBatch(segments, { project: name, conversationId: name, atMs: clock.now })]);
    };
    await send('web');
    clock.now += 31 * DAY_MS;
    await send('api');
    while (await store.sweep());
    // `findSent` would count as a use
    const has = async (): Promise<string[]> => {
      const rows = await store.sql.all<{ prefix: string }>('SELECT prefix FROM main.sent ORDER BY id', []);
      return rows.map(({ prefix }) => prefix);
    };
    expect(await store.knownPruneIds(['web', 'api'].map(idOf))).toEqual(new Set([idOf('api')]));
    expect(await has()).toEqual(['web', 'api'].map(hashOf));
    await (await store.erasure()).erase({ project: 'web', withSettings: false }, 'e1');
    expect(await has()).toEqual([hashOf('api')]);
  });
});
