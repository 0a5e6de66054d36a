import { expect, it } from 'vitest';
import { chatBody, contentAt, oneResult, toolTurn } from '../helpers/chat.ts';
import { openRewriter, openStore, restored, verdicts } from '../helpers/rewriter.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const SMALL_LOG = serverLog(45);
const SIZES = { minPruneChars: 4_000, minOutputChars: 1_000 };
const ASKED = { role: 'user', content: 'Why is it slow?' };

it('a short log is cut, and its lines can be recovered', async () => {
  expect(SMALL_LOG.length).toBeLessThan(4_000);
  const store = openStore();
  const { body } = await openRewriter({ store, ...SIZES }).rewrite(chatBody(oneResult(SMALL_LOG)));
  const pruned = contentAt(body, oneResult(SMALL_LOG).length - 1);
  expect(pruned.length).toBeLessThan(SMALL_LOG.length * 0.7);
  expect(await restored(pruned, store)).toBe(SMALL_LOG);
});

it('a short log passes whole without a minimum size for output', async () => {
  const { outcomes } = await openRewriter({ minPruneChars: 4_000 }).rewrite(chatBody(oneResult(SMALL_LOG)));
  expect(outcomes).toEqual([]);
});

it('a short file is not even examined, and short code printed by a command stays whole', async () => {
  const file = sourceFile(8);
  expect(file.length).toBeGreaterThan(1_000);
  expect(file.length).toBeLessThan(4_000);
  const read = chatBody([ASKED, ...toolTurn('c1', 'read_file', { path: 'src/a.ts' }, file)]);
  expect(verdicts(await openRewriter(SIZES).rewrite(read))).toEqual([]);
  const printed = chatBody([ASKED, ...toolTurn('c1', 'bash', { command: './print-sources src' }, file)]);
  expect(verdicts(await openRewriter(SIZES).rewrite(printed))).toEqual(['file']);
});

it('a document in the one-line JSON of a documentation server stays whole', async () => {
  const page = Array.from(
    { length: 40 },
    (_, i) => `## Part ${i}\n\nAn order of part ${i} is paid by the customer later.\n`,
  );
  const answer = JSON.stringify({ url: 'https://docs.example.com/orders', content: page.join('\n').repeat(3) });
  const body = chatBody([ASKED, ...toolTurn('c1', 'mcp__docs__fetch', { topic: 'orders' }, answer)]);
  expect(verdicts(await openRewriter(SIZES).rewrite(body))).toEqual(['file']);
});
