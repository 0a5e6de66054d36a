import type { Services } from '../../app/compose.ts';
import type { OpenPart } from '../../app/part.ts';
import { readMonth } from './month.ts';

/** Opens the part over the services. */
export function openSeams({ store, clock, prices }: Services): Promise<OpenPart> {
  return Promise.resolve({
    readings: { seams: () => readMonth(store, prices, clock.nowMs()) },
  });
}
