import { describe, expect, it } from 'vitest';
import type { SeenSegment } from '../../src/core/ports/segments.ts';
import { openingOf } from '../../src/core/segments/opening.ts';

const of = (role: SeenSegment['role'], text: string, effect: SeenSegment['effect'] = 'asked') =>
  ({ role, effect, text }) as SeenSegment;

describe('the first words of a conversation', () => {
  it('are the user’s first words on one line, without files and injected parts, at most 60 characters', () => {
    const reminder = '<system-reminder>\nrules of the house\n</system-reminder>';
    const segments = [of('assistant', 'Hello.'), of('user', 'a file', 'attached'), of('user', reminder)];
    expect(openingOf(segments)).toBe('');
    const asked = of('user', `${reminder}\nMend\n  the 🛒 ${'x'.repeat(90)}`);
    expect(openingOf([...segments, asked])).toBe(`Mend the 🛒 ${'x'.repeat(49)}`);
  });
});
