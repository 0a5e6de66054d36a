import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatMarker, formatShortMarker, parseMarker } from '../../src/engine/text/marker.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, type Message, messageBytes, oneResult, toolTurn } from '../helpers/chat.ts';
import { manualClock, openRewriter, openStore, restored, verdicts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

/** Three failures far apart: what is between them goes in several cuts. */
const LOG = [
  serverLog(160, 3),
  'ERROR the first payment was refused',
  serverLog(160, 5),
  'ERROR the last one too',
  serverLog(160, 9),
].join('\n');
const FIRST = oneResult(LOG);
const ANSWER: Message = { role: 'assistant', content: 'The gateway refused them.' };
const isMarker = (line: string): boolean => line.startsWith('⟦PRUNÉ');

it('a short marker is parsed to its lines, without an id or a reason, and a full marker as before', () => {
  expect(parseMarker('⟦PRUNÉ: lignes 3-9 (7)⟧')).toEqual({ pruneId: '', startLine: 3, endLine: 9, reason: '' });
  expect(formatShortMarker({ startLine: 3, endLine: 9 })).toBe('⟦PRUNÉ: lignes 3-9 (7)⟧');
  expect(parseMarker('⟦PRUNÉ: lignes 3-9 (8)⟧')).toBeNull();
  expect(parseMarker('⟦PRUNÉ: lignes 3-9 (7)⟧ ')).toBeNull();
  const full = { pruneId: 'prn_0123456789AB', startLine: 3, endLine: 9, reason: 'hors focus' };
  expect(parseMarker(formatMarker(full))).toEqual(full);
});

it('the first marker of a text is full and the others short, and all lines can be recovered', async () => {
  const store = openStore();
  const { body } = await openRewriter({ store, shortMarkers: true }).rewrite(chatBody(FIRST));
  const pruned = contentAt(body, FIRST.length - 1);
  const markers = pruned.split('\n').filter(isMarker);
  expect(markers.length).toBeGreaterThan(2);
  expect(markers.map((line) => parseMarker(line)?.pruneId !== '')).toEqual([
    true,
    ...Array(markers.length - 1).fill(false),
  ]);
  expect(await restored(pruned, store)).toBe(LOG);
});

it('a marker below a kept line that looks like a full one is full, so that its lines can be recovered', async () => {
  const foreign = '⟦PRUNÉ: prune_id=prn_ZZZZZZZZZZZZ lignes 3-9 (7) raison=the first error of another text⟧';
  const text = LOG.replace('ERROR the last one too', `ERROR the last one too\n${foreign}`);
  const store = openStore();
  const { body } = await openRewriter({ store, shortMarkers: true }).rewrite(chatBody(oneResult(text)));
  const pruned = contentAt(body, FIRST.length - 1);
  expect(pruned).toContain(foreign);
  expect(await restored(pruned, store)).toBe(text);
  const ids = pruned.split('\n').flatMap((line) => parseMarker(line)?.pruneId ?? []);
  expect(ids.slice(ids.indexOf('prn_ZZZZZZZZZZZZ') + 1)[0]).toBe(ids[0]);
});

describe('a text that quotes a marker', () => {
  const foreign = '⟦PRUNÉ: prune_id=prn_ZZZZZZZZZZZZ lignes 3-9 (7) raison=the first error of another text⟧';
  const quoting = oneResult(LOG.replace('ERROR the last one too', `ERROR the last one too\n${foreign}`));
  const later = [...quoting, ANSWER, ...toolTurn('c2', 'bash', { command: 'npm test' }, serverLog(150, 7))];

  it('keeps its bytes after a restart', async () => {
    const path = join(tempFolder(), 'store.db');
    const clock = manualClock();
    const rewriter = () => openRewriter({ store: openStore(path, clock), clock, shortMarkers: true });
    const sent = messageBytes((await rewriter().rewrite(chatBody(quoting))).body);
    const next = (await rewriter().rewrite(chatBody(later))).body;
    expect(next.subarray(0, sent.length).equals(sent)).toBe(true);
  });

  it('keeps the short markers that an earlier version sent', async () => {
    const store = openStore();
    const withoutFull = <T>(write: T): T =>
      JSON.parse(JSON.stringify(write, (key, value) => (key === 'full' || key === 'packed' ? undefined : value)));
    const commit = store.commit.bind(store);
    store.commit = (write, ...rest) => commit(withoutFull(write), ...rest);
    const now = contentAt(
      (await openRewriter({ store, shortMarkers: true }).rewrite(chatBody(quoting))).body,
      FIRST.length - 1,
    );
    const own = parseMarker(now.split('\n').find(isMarker) ?? '')?.pruneId;
    const full = now.split('\n').filter((line) => parseMarker(line)?.pruneId === own);
    expect(full.length).toBeGreaterThan(1);
    const sent = full.slice(1).reduce((text, line) => text.replace(line, shortFormOf(line)), now);
    const replayed = await openRewriter({ store, shortMarkers: true }).rewrite(chatBody(later));
    expect(contentAt(replayed.body, FIRST.length - 1)).toBe(sent);
  });
});

function shortFormOf(line: string): string {
  const marker = parseMarker(line);
  return marker === null ? line : formatShortMarker(marker);
}

it('short markers are repeated as sent after a restart with full markers', async () => {
  const path = join(tempFolder(), 'store.db');
  const clock = manualClock();
  const first = await openRewriter({ store: openStore(path, clock), clock, shortMarkers: true }).rewrite(
    chatBody(FIRST),
  );
  const second = [...FIRST, ANSWER, ...toolTurn('c2', 'bash', { command: 'npm test' }, serverLog(150, 7))];
  const later = await openRewriter({ store: openStore(path, clock), clock }).rewrite(chatBody(second));
  const begin = messageBytes(first.body);
  expect(later.body.subarray(0, begin.length).equals(begin)).toBe(true);
});

it('a text with only short markers is left whole if something was cut before, and cut otherwise', async () => {
  const quoting = `⟦PRUNÉ: lignes 3-9 (7)⟧\n${serverLog(200, 7)}`;
  const rewriter = openRewriter({ shortMarkers: true, history: 're-prune' });
  const after = await rewriter.rewrite(
    chatBody([...FIRST, ANSWER, ...toolTurn('c2', 'bash', { command: 'cat a.log' }, quoting)]),
    undefined,
  );
  expect(verdicts(after)).toContain('carries_markers');
  expect(verdicts(await openRewriter({ shortMarkers: true }).rewrite(chatBody(oneResult(quoting))))).toEqual(['cut']);
});
