import { describe, expect, it } from 'vitest';
import { readPruneReference } from '../../src/core/calls/prune-reference.ts';
import { formatMarker } from '../../src/engine/text/marker.ts';

const ID = 'prn_0123456789AZ';
const MARKER = formatMarker({ pruneId: ID, startLine: 10, endLine: 40, reason: 'hors focus: lignes 1-2' });

describe('readPruneReference', () => {
  it.each([ID, ID.toLowerCase(), ID.toUpperCase(), ` ${ID}\n`, `"${ID}"`, `prune_id=${ID}`, `⟦PRUNÉ: prune_id=${ID}`])(
    'reads the id in %j',
    (given) => expect(readPruneReference(given)).toEqual({ pruneId: ID, range: null }),
  );

  it.each([MARKER, MARKER.toLowerCase(), `${MARKER}\n`, `see ${MARKER} there`, MARKER.slice(0, 60)])(
    'reads the id and the lines of the marker %j',
    (given) => expect(readPruneReference(given)).toEqual({ pruneId: ID, range: { startLine: 10, endLine: 40 } }),
  );

  it.each(['', 'prn_gone', 'prn_0123456789A', `${ID}0`, `x${ID}`, 'prn_0123456789AI', 'lignes 1-2'])(
    'keeps %j unchanged',
    (given) => expect(readPruneReference(given)).toEqual({ pruneId: given, range: null }),
  );

  it('reads only the beginning of a long text', () => {
    const given = `${'prn_'.repeat(1_000_000)}${ID}`;
    expect(readPruneReference(given).pruneId).toBe(given);
  });
});
