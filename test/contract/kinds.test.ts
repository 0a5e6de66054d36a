import { expect, it } from 'vitest';
import { KINDS as SAMPLES } from '../../bench/engine-speed/texts.ts';
import { KINDS } from '../../src/engine/kinds/all.ts';
import { greppedLog } from '../../src/engine/kinds/grepped-log.ts';
import type { Family, Kind } from '../../src/engine/kinds/kind.ts';
import type { Origin } from '../../src/engine/types.ts';
import { githubActionsLog } from '../engine/kinds/log/samples.ts';
import { MADE } from '../golden/made.ts';
import { describeKind, type KindSample } from './kind.suite.ts';

function sample(name: string, goal: string, origin: Origin = 'command'): KindSample {
  const { make, path, command } = SAMPLES.find((one) => one.name === name) ?? { make: () => '' };
  return { make, goal, hints: { origin, ...(path && { path }), ...(command && { command }) } };
}

const GREP = `${MADE.find(({ name }) => name === 'made grep')?.text}\n`;

const BY_FAMILY: Readonly<Record<Family, readonly KindSample[]>> = {
  code: [sample('typescript', 'messageQueue of the session'), sample('c', 'schema_item')],
  docs: [sample('markdown', 'payload of the request')],
  log: [
    sample('service log', 'payload of the request'),
    sample('test run', 'which test fails'),
    sample('compiler', 'unused variable order_path'),
    {
      make: (chars) => `${githubActionsLog('')}\n`.repeat(Math.ceil(chars / 20_000)),
      goal: 'the failing step',
      hints: { origin: 'command' },
    },
  ],
  search: [
    {
      make: (chars) => GREP.repeat(Math.ceil(chars / GREP.length)),
      goal: 'retry in part7',
      hints: { origin: 'search', command: 'grep -rn retry src' },
    },
  ],
  diff: [sample('diff', 'messageQueue')],
  listing: [sample('listing', 'order_path')],
  json: [sample('json', 'order_path')],
  table: [sample('csv', 'order_path')],
};

const SERVICE_LOG = sample('service log', 'payload of the request');

/** A family may have a kind with samples of its own. */
const OF_KIND: ReadonlyMap<Kind, readonly KindSample[]> = new Map([
  [
    greppedLog,
    [
      {
        make: (chars: number) => SERVICE_LOG.make(chars).replaceAll(/^(?=.)/gm, 'logs/app.log:7:'),
        goal: 'payload of the request',
        hints: { origin: 'search', command: 'grep -n request logs/app.log' },
      },
    ],
  ],
]);

it('every kind has a sample, and no two kinds share a name or an extension', () => {
  expect([...new Set(KINDS.map(({ family }) => family))].sort()).toEqual(Object.keys(BY_FAMILY).sort());
  const names = KINDS.flatMap(({ names }) => Object.keys(names));
  const extensions = KINDS.flatMap(({ names }) => Object.values(names).flatMap((all) => all.split(' '))).filter(
    Boolean,
  );
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(extensions).size).toBe(extensions.length);
});

for (const kind of KINDS) for (const one of OF_KIND.get(kind) ?? BY_FAMILY[kind.family]) describeKind(kind, one);
