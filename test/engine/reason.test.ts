import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { cleanReason } from '../../src/engine/text/marker.ts';
import { REASON_LANGUAGES, REASONS, reasonInEnglish } from '../../src/engine/text/reasons.ts';
import type { PruneInput } from '../../src/engine/types.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { openRewriter, openStore } from '../helpers/rewriter.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const log: PruneInput = {
  text: serverLog(800),
  goal: 'why do payments fail',
  hints: { origin: 'command' },
  limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
};

it('the reason for a cut of repeated log lines contains their words, not their times', () => {
  const reasons = planPrune(log)
    .cuts.map(({ reason }) => reason)
    .filter((reason) => reason.startsWith('journal répétitif'));
  expect(reasons.length).toBeGreaterThan(0);
  for (const reason of reasons) expect(reason).toBe('journal répétitif: INFO GET');
});

it('the reason of a repeat is English in every word, and keeps the words of its place', () => {
  const reasons = [
    [
      'déjà montré: Read src/lignes.ts lignes 10-180, identique',
      'already shown: Read src/lignes.ts lines 10-180, identical',
    ],
    [
      'déjà montré: Read b.ts (autre fichier) lignes 1-44 (ici 9-52), identique; source intacte, lignes par recover_text',
      'already shown: Read b.ts (another file) lines 1-44 (here 9-52), identical',
    ],
    ['journal répétitif: INFO GET', 'repetitive log: INFO GET'],
  ] as const;
  for (const [stored, english] of reasons) expect(reasonInEnglish(stored)).toBe(english);
});

describe('the reason language', () => {
  it('changes only the wording of reasons', () => {
    for (const input of [
      log,
      { ...log, text: sourceFile(90), hints: { origin: 'read' as const, path: 'a.ts', question: true } },
    ]) {
      const french = planPrune(input).cuts;
      const english = planPrune({ ...input, reasonLanguage: 'en' }).cuts;
      expect(french.length).toBeGreaterThan(0);
      const lines = (cuts: typeof french) => cuts.map(({ startLine, endLine }) => [startLine, endLine]);
      expect(lines(english)).toEqual(lines(french));
      expect(english.every(({ reason }) => /^(?:off focus|repetitive)/.test(reason))).toBe(true);
    }
  });

  it.each(REASON_LANGUAGES)('provides every reason in %s, in words that are valid in a marker', (language) => {
    for (const words of Object.values(REASONS[language])) expect(cleanReason(words)).toBe(words);
  });

  it('applies only to new cuts: reasons that were sent stay when the setting changes', async () => {
    const store = openStore();
    const body = chatBody(oneResult(serverLog(300)));
    const first = await openRewriter({ store }).rewrite(body);
    const again = await openRewriter({ store, reasonLanguage: 'en' }).rewrite(body);
    expect(again.body.equals(first.body)).toBe(true);
    const fresh = await openRewriter({ store: openStore(), reasonLanguage: 'en' }).rewrite(body);
    expect(contentAt(first.body, -1)).toMatch(/raison=(?:hors focus|répétitif|journal)/);
    expect(contentAt(fresh.body, -1)).toMatch(/raison=(?:off focus|repetitive)/);
    expect(contentAt(fresh.body, -1)).not.toMatch(/hors focus|répétitif/);
  });
});
