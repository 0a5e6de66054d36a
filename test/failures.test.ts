import { describe, expect, it } from 'vitest';
import { Failures } from '../src/app/context.ts';
import { sourceFiles } from './helpers/project-files.ts';

describe('a failure that does not stop the product', () => {
  it('is logged with its cause, its reason and its owner', () => {
    const lines: unknown[] = [];
    const log = { debug: () => {}, error: () => {}, warn: (...line: unknown[]) => lines.push(line) };
    const cause = new Error('disk');
    new Failures(log as never).of('forwarding')('store_io', cause, { requestId: '01' });
    expect(lines).toEqual([[{ requestId: '01', reason: 'store_io', err: cause }, 'forwarded unchanged']]);
  });

  it('does not throw if its report fails', () => {
    const boom = (): never => {
      throw new Error('log');
    };
    const report = new Failures({ debug: boom, error: boom, warn: boom } as never).of('pruning');
    expect(() => report('internal_error', new Error('first'))).not.toThrow();
  });

  it('is never swallowed without a comment', () => {
    const silent = sourceFiles(/\.ts$/).flatMap(({ file, text }) => {
      const lines = text.split('\n');
      return lines.flatMap((line, i) => {
        const next = `${line}\n${lines[i + 1] ?? ''}`;
        if (/\.catch\(\(\) => /.test(line) && !/\/[/*] \w/.test(line)) return `${file}:${i + 1}`;
        // a block that gives an answer, or says why there is none
        if (/catch \{$/.test(line) && !/\b(?:return|throw)\b|\/\/ |\.set\(|(?:names|why) = /.test(next))
          return `${file}:${i + 1}`;
        return [];
      });
    });
    expect(silent).toEqual([]);
  });
});
