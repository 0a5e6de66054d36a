import { describe, expect, it } from 'vitest';
import { errorTable, fallbackTable, PrunerError, StoreUnavailable } from '../../src/errors/errors.ts';
import { errorsPage, allErrors as rows } from './print.ts';

/** Codes that JSON-RPC knows as one number, told apart by their `code`. */
const SHARED = -32600;

describe('the table of errors', () => {
  it('is the source of docs/errors.md', async () => {
    await expect(errorsPage()).toMatchFileSnapshot('../../docs/errors.md');
  });

  it('gives each code a number or a status, and each number to one code', () => {
    expect(rows.filter(([, { rpc, http }]) => rpc === null && http === null)).toEqual([]);
    const numbers = rows.flatMap(([, { rpc }]) => (rpc === null || rpc === SHARED ? [] : [rpc]));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('contains each code once across the product and its parts', () => {
    expect(new Set(rows.map(([code]) => code)).size).toBe(rows.length);
  });

  it('takes its own numbers only from the range that JSON-RPC leaves to servers', () => {
    const chosen = rows.flatMap(([code, { rpc }]) => (rpc === null || rpc < -32599 ? [] : [[code, rpc]]));
    for (const [, rpc] of chosen) expect(rpc).toSatisfy((it: number) => it >= -32099 && it <= -32000);
  });

  it('has a row for every fallback', () => {
    const codes = Object.entries(fallbackTable).filter(([, { hint }]) => /^[A-Z].*\.$/.test(hint));
    expect(codes.map(([code]) => code)).toEqual(
      expect.arrayContaining(['timeout', 'left_alone', 'past_refused', 'overloaded']),
    );
    expect(codes).toHaveLength(Object.keys(fallbackTable).length);
  });

  it('states each remedy in complete sentences', () => {
    expect(rows.filter(([, { hint }]) => !/^\S.*[.}]$/.test(hint)).map(([code]) => code)).toEqual([]);
  });
});

describe('an error of the product', () => {
  it('names its specific remedy, or otherwise the remedy in the error table', () => {
    expect(new PrunerError('idempotency_conflict', { tool: 'x' }).data).toEqual({
      code: 'idempotency_conflict',
      tool: 'x',
      hint: errorTable.idempotency_conflict.hint,
    });
    expect(new PrunerError('invalid_range', { hint: 'Ask for less.' }).data.hint).toBe('Ask for less.');
  });

  it('has the code store_unavailable and the reason if the store is unreachable', () => {
    const error = new StoreUnavailable('locked');
    expect(error).toBeInstanceOf(PrunerError);
    expect([error.rpcCode, error.data]).toEqual([
      -32009,
      { code: 'store_unavailable', reason: 'locked', hint: errorTable.store_unavailable.hint },
    ]);
    expect(error.message).toBe('store unavailable: locked');
  });
});
