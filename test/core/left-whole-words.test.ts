import { expect, it } from 'vitest';
import { leftWholeAmount } from '../../src/core/left-whole.ts';

it('counts requests if the texts that were left whole were not counted', () => {
  expect(leftWholeAmount({ texts: 1_200, requests: 3 })).toBe('1,200');
  expect(leftWholeAmount({ texts: 0, requests: 1 })).toBe('1 request');
  expect(leftWholeAmount({ texts: 0, requests: 2 })).toBe('2 requests');
});
