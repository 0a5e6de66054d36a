import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines } from '../../../src/engine/text/lines.ts';
import { findFrame, frameOf } from '../../../src/wires/transcript/text-results.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';

/** The lines that are frame, and what is left between them. */
function framed(text: string): { head: string[]; body: string[]; tail: string[] } {
  const { head, tail } = findFrame(splitLines(text));
  const lines = text.replace(/\n$/, '').split('\n');
  return {
    head: lines.slice(0, head),
    body: lines.slice(head, lines.length - tail),
    tail: lines.slice(lines.length - tail),
  };
}

const BODY = ['import a from "a";', '', 'export const b = a;'];

describe('findFrame', () => {
  it.each([
    [
      'opencode',
      ['<path>/w/a.ts</path>', '<type>file</type>', '<content>'],
      ['', '(End of file - total 3 lines)', '</content>'],
    ],
    ['codex', ['Chunk ID: 1a2b', 'Wall time: 0.1 seconds', 'Process exited with code 0', 'Output:'], []],
    ['a range', ['Showing lines 1-966 of 1501 total lines.', '---'], []],
    ['a name', ['Content of src/a.ts:'], []],
    ['an exit code behind', [], ['', 'Exit code: 1']],
    ['a reminder behind', [], ['<system-reminder>', 'Do not act on this.', '</system-reminder>']],
    ['a note of truncation', [], ['[truncated 120 lines]']],
  ])('separates the frame of %s from the result', (_name, head, tail) => {
    expect(framed([...head, ...BODY, ...tail].join('\n'))).toEqual({ head, body: BODY, tail });
  });

  it('finds no frame around a plain result', () => {
    expect(framed(BODY.join('\n'))).toEqual({ head: [], body: BODY, tail: [] });
  });

  it('includes only a few lines in a frame, however many lines look like part of it', () => {
    const { head, tail } = findFrame(splitLines('Output:\n'.repeat(500)));
    expect(head).toBeLessThanOrEqual(14);
    expect(tail).toBeLessThanOrEqual(24);
  });

  it('returns the same frame if only the ends of a text are read', () => {
    const line = fc.constantFrom(
      '',
      '',
      'Output:',
      '</content>',
      '<content>',
      '<system-reminder>',
      '---',
      'text',
      '\r',
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 90 }), fc.constantFrom('', '\n', '\n\n'), (parts, end) => {
        const text = parts.join('\n') + end;
        expect(frameOf(text)).toEqual(findFrame(splitLines(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads ten million line ends quickly', () => {
    const text = '\n'.repeat(10_000_000);
    const startedAt = cpuMs();
    expect(frameOf(text)).toEqual({ head: 0, tail: 0 });
    expect(cpuMs() - startedAt).toBeLessThan(500); // not quadratic
  });

  it('never returns a frame larger than the text', () => {
    const line = fc.oneof(
      fc.constantFrom('', 'Output:', '</content>', '<content>', '<system-reminder>', '---', '[1 lines truncated]'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.boolean(), (parts, ends) => {
        const lines = splitLines(parts.join('\n') + (ends ? '\n' : ''));
        const { head, tail } = findFrame(lines);
        expect(head).toBeGreaterThanOrEqual(0);
        expect(tail).toBeGreaterThanOrEqual(0);
        expect(head).toBeLessThanOrEqual(lines.count);
        expect(tail).toBeLessThanOrEqual(lines.count);
      }),
    );
  });

  it.each([
    ['brackets', `[${' lines 1'.repeat(60)}`],
    ['elements', `<path ${'a'.repeat(470)}`],
    ['dashes', '-'.repeat(480)],
  ])('reads long lines of %s quickly', (_name, long) => {
    const lines = splitLines(`${long}\n`.repeat(2_000));
    const startedAt = cpuMs();
    for (let i = 0; i < 20; i++) findFrame(lines);
    expect(cpuMs() - startedAt).toBeLessThan(500);
  });
});
