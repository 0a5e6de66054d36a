import { describe, expect, it } from 'vitest';
import { pruned } from './helpers.ts';

describe('the plan of terraform', () => {
  const change = (i: number): string =>
    `  # shop.part[${i}] will be updated in-place\n      ~ input = "${i}" -> "v${i}"\n`;
  const changes = Array.from({ length: 90 }, (_, i) => change(i)).join('\n');

  it.each([
    'Plan: 1 to add, 30 to change, 1 to destroy.',
    'Apply complete! Resources: 1 added, 30 changed, 1 destroyed.',
    'Destroy complete! Resources: 31 destroyed.',
  ])('keeps its sum, also if notes follow: %s', (sum) => {
    const notes = Array.from({ length: 40 }, (_, i) => `  output part_${i} = "v${i}"`).join('\n');
    const hints = { origin: 'command', command: 'terraform plan -no-color' } as const;
    const { kept, cut } = pruned(`${changes}\n${sum}\n\n${notes}\n`, 'Is the change safe?', hints);
    expect(kept).toContain(sum);
    expect(cut.length).toBeGreaterThan(100);
  });
});
