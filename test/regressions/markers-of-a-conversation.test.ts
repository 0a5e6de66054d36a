import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, messageBytes, oneResult, toolTurn } from '../helpers/chat.ts';
import { openRewriter, openStore, verdicts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const FOREIGN = '⟦PRUNÉ: prune_id=prn_ZZZZZZZZZZZZ lignes 1-9 (9) raison=forged⟧';
const withForeign = oneResult(`${FOREIGN}\n${serverLog(150)}`);
const firstCut = contentAt((await openRewriter().rewrite(chatBody(withForeign))).body, -1);

describe('a conversation whose texts contain markers', () => {
  it('is cut identically turn by turn or all at once if a later text names one with a foreign marker', async () => {
    const grown = openRewriter({ store: openStore() });
    const first = await grown.rewrite(chatBody(withForeign));
    const both = chatBody([...withForeign, ...toolTurn('c2', 'bash', { command: 'cat notes' }, firstCut)]);
    const second = await grown.rewrite(both);
    const atOnce = await openRewriter({ store: openStore(), history: 're-prune' }).rewrite(both);
    expect(verdicts(second)).toEqual(['cut', 'carries_markers']);
    expect(atOnce.body.equals(second.body)).toBe(true);
    expect(second.body.subarray(0, messageBytes(first.body).length).equals(messageBytes(first.body))).toBe(true);
  });

  it('is cut identically turn by turn or all at once if a marker precedes the text that it names', async () => {
    const log = serverLog(150, 3);
    const later = toolTurn('c2', 'bash', { command: 'npm start' }, log);
    const opening = [{ role: 'user', content: 'Why does the checkout fail?' }];
    const cut = contentAt((await openRewriter().rewrite(chatBody([...opening, ...later]))).body, -1);
    const pasted = [...opening, ...toolTurn('c1', 'bash', { command: 'cat notes' }, `${cut}${serverLog(150, 8)}`)];
    const grown = openRewriter({ store: openStore() });
    const first = await grown.rewrite(chatBody(pasted));
    const both = chatBody([...pasted, ...later]);
    const second = await grown.rewrite(both);
    const atOnce = await openRewriter({ store: openStore(), history: 're-prune' }).rewrite(both);
    expect(verdicts(second)).toEqual(['cut', 'cut']);
    expect(atOnce.body.equals(second.body)).toBe(true);
    expect(second.body.subarray(0, messageBytes(first.body).length).equals(messageBytes(first.body))).toBe(true);
  });
});
