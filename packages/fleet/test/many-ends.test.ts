import { expect, it } from 'vitest';
import { manualClock } from '../../../test/contract/store.suite.ts';
import { openStore, tempPath } from '../../../test/store/helpers.ts';
import { FleetStore } from '../src/tables/fleet-store.ts';
import { childrenOn, FakeMachine } from './fake-machine.ts';

/** Its process takes a moment to end. */
class SlowMachine extends FakeMachine {
  override signal(group: number, signal: NodeJS.Signals | 0): boolean {
    setTimeout(() => super.signal(group, signal), 20);
    return true;
  }
}

it('many callers that wait for a child to end cause no leak warning', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => {
    if (name === 'MaxListenersExceededWarning') warnings.push(name);
  };
  process.on('warning', onWarning);
  const clock = manualClock();
  const children = childrenOn('here', new FleetStore(openStore(tempPath(), { clock }).sql), clock, new SlowMachine());
  await children.open();
  await children.create({ child_id: 'c', command: process.execPath }, {}, { childId: null });
  const ends = await Promise.all(Array.from({ length: 15 }, () => children.cancel('c', 2_000)));
  await children.close();
  await new Promise((resolve) => setImmediate(resolve)); // warnings come a turn later
  process.off('warning', onWarning);
  expect(ends.map(({ state }) => state)).toEqual(Array.from({ length: 15 }, () => 'killed'));
  expect(warnings).toEqual([]);
});
