import { expect, it } from 'vitest';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { narrowedLedger } from '../src/keys/narrowed/ledger.ts';

it('the sums visible to a key cover only its projects and the requested slice', async () => {
  const { ledger } = openStore();
  const about = { day: '2026-11-20', key: 'm', field: 'results', value: 3 };
  await ledger.add(
    [],
    [
      { ...about, project: 'own', slice: 'cold' },
      { ...about, project: 'own', slice: 'model' },
      { ...about, project: 'other', slice: 'cold' },
    ],
  );
  const narrowed = narrowedLedger(ledger, ['own']);
  expect(await narrowed.sums({ sinceDay: '2026-11-01', slice: 'cold' })).toEqual([
    { ...about, project: 'own', slice: 'cold' },
  ]);
});
