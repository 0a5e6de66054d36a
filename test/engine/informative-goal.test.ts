import { expect, it } from 'vitest';
import { informativeGoal } from '../../src/engine/reading.ts';

const ASKED = 'Why was the order refused?';

it.each([
  ['cat logs/app.log | head -400', ''],
  ['cd /srv/shop && sed -n "100,180p" src/orders.ts', ''],
  ['grep -rn "card refused|retry" src --include="*.ts" | head -20', 'card refused|retry'],
  ['rg retryOrder src lib', 'retryOrder'],
  ['LOG=debug timeout 60 python -m pytest tests/test_orders.py::test_refused -x 2>&1 | tail -5', 'pytest test_refused'],
  ['./gradlew test --tests Orders', 'test Orders'],
  ['ls -la src; cat README', ''],
])('the command %j is reduced to its search words', (command, kept) => {
  expect(informativeGoal(`${command}\n${ASKED}`, { command })).toBe(`${kept}\n${ASKED}`.trim());
});

it('the beginning of a long command is recognised anywhere in a goal', () => {
  const command = `cat ${'src/orders.ts '.repeat(200)}`;
  expect(informativeGoal(`retry\n${command.slice(0, 1200)}\n${ASKED}`, { command })).toBe(`retry\n\n${ASKED}`);
});

it('the path of the file that is read is removed from the goal', () => {
  expect(informativeGoal(`src/engine/goal.ts\n${ASKED}`, { path: 'src/engine/goal.ts' })).toBe(ASKED);
});

it("the user's words about a command or a file stay", () => {
  const goal = `Does cat logs/app.log show it?\n${ASKED}`;
  expect(informativeGoal(goal, { command: 'cat logs/app.log', path: 'logs/app.log' })).toBe(goal);
});

it('the host of a URL is removed, its path stays', () => {
  expect(informativeGoal('see https://docs.example.com/guide/retries#limits and www.example.org', undefined)).toBe(
    'see  /guide/retries#limits and  ',
  );
});
