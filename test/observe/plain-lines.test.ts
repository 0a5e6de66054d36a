import fc from 'fast-check';
import { pino } from 'pino';
import { expect, it, test } from 'vitest';
import { makePlainLines } from '../../src/observe/plain-lines.ts';

/** What a logger writes of one call, by pino itself and by us. */
function bothWays(write: (log: pino.Logger) => void): [string, string] {
  const made = [false, true].map((plain) => {
    const lines: string[] = [];
    const log = pino(
      { timestamp: () => ',"time":"now"', base: { pid: 1 }, serializers: { err: () => 'an error' } },
      { write: (line: string) => void lines.push(line) },
    );
    if (plain) makePlainLines(log, (fields) => fields);
    write(log);
    return lines.join('');
  });
  return [made[0] ?? '', made[1] ?? ''];
}

const value = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(undefined, Number.NaN, Number.POSITIVE_INFINITY, -0, new Date(0), () => 1, Symbol('s'), 10n),
  fc.string({ unit: 'binary' }),
);

test('a line is what pino itself makes of it', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), fc.string({ unit: 'binary' }), (fields, message) => {
      fc.pre(!('__proto__' in fields) || Object.hasOwn(fields, '__proto__'));
      const [pinos, ours] = bothWays((log) => log.info(fields, message));
      expect(ours.endsWith('\n')).toBe(true);
      expect(ours.indexOf('\n')).toBe(ours.length - 1);
      expect(JSON.parse(ours)).toEqual(JSON.parse(pinos));
    }),
    { numRuns: 1_000 },
  );
});

it.each([
  ['a message alone', (log: pino.Logger) => log.warn('only words')],
  ['fields alone', (log: pino.Logger) => log.info({ a: 1 })],
  ['nothing in the fields', (log: pino.Logger) => log.info({}, 'words')],
  ['a message with a place for a value', (log: pino.Logger) => log.info({ a: 1 }, 'so %s', 'much')],
  ['an error', (log: pino.Logger) => log.error(new Error('x'), 'words')],
  ['an error among fields', (log: pino.Logger) => log.error({ err: new Error('x'), a: 1 }, 'words')],
  ['a child logger', (log: pino.Logger) => log.child({ tool: 't' }).info({ a: 1 }, 'words')],
])('pino’s line and ours are the same: %s', (_, write) => {
  const [pinos, ours] = bothWays(write);
  expect(ours).toBe(pinos);
});

it('a circle in the fields costs neither the line nor the caller', () => {
  const circle: Record<string, unknown> = { a: 1 };
  circle.self = circle;
  const [, ours] = bothWays((log) => log.info(circle, 'words'));
  expect(JSON.parse(ours)).toMatchObject({ a: 1, msg: 'words' });
});
