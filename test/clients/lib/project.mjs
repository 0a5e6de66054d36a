import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the task asks for; each fact stands once in the project, in the file or in the log. */
export const FACTS = { factor: '0.8125', code: 'LX-4417', release: 'kestrel-31' };

/** The file that the agent reads, relative to the project. */
export const SOURCE_PATH = 'src/billing.ts';

/** The command that the agent runs; its output is the log. */
export const LOG_COMMAND = 'node scripts/nightly.mjs';

/** The user's words. None of the facts is in them, nor the file's name: a file that the user names passes whole. */
export const TASK = [
  `Find where this project settles overdue invoices, then run \`${LOG_COMMAND}\`.`,
  'Which grace factor does settleOverdueInvoice apply, which error code stopped the nightly settlement,',
  'and which release did the nightly run load? Answer in one line.',
].join(' ');

const NOUNS = ['Invoice', 'Ledger', 'Refund', 'Credit', 'Voucher', 'Subscription', 'Tariff', 'Payout', 'Deposit'];
const VERBS = ['normalize', 'audit', 'merge', 'archive', 'project', 'rebalance', 'summarize', 'validate', 'partition'];

/** Small deterministic generator (a linear congruence), so that every run sees the same project. */
function sequence(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

function plainFunction(verb, noun, next) {
  const weight = next(900) + 100;
  return [
    `/** Runs the ${verb} step over ${noun.toLowerCase()} rows of one account. */`,
    `export function ${verb}${noun}Rows(rows: readonly Row[], window: number): Summary {`,
    `  const buckets = new Map<string, number>();`,
    `  let weight = ${weight};`,
    `  for (const row of rows) {`,
    `    const key = \`\${row.account}:\${row.day % window}\`;`,
    `    const amount = row.cents * ${next(7) + 2} - row.fee;`,
    `    buckets.set(key, (buckets.get(key) ?? 0) + amount);`,
    `    if (amount > ${next(9000) + 1000}) weight += row.cents % ${next(90) + 10};`,
    `  }`,
    `  const total = [...buckets.values()].reduce((sum, value) => sum + value, 0);`,
    `  return { step: '${verb}-${noun.toLowerCase()}', total, weight, rows: rows.length };`,
    `}`,
    '',
  ];
}

/**
 * Where the facts stand: far inside, or near the ends for clients that keep only the ends of a long text.
 *
 * @typedef {'inside' | 'ends'} Place
 */
const PLACES = { inside: { functionAt: 22, errorAt: 210 }, ends: { functionAt: 3, errorAt: 290 } };

/**
 * A TypeScript source of about 40 KB in which one function is what the task is about.
 *
 * @param {Place} place
 */
export function sourceText(place) {
  const { functionAt } = PLACES[place];
  const next = sequence(7);
  const lines = [
    "import { readRows } from './rows.ts';",
    "import type { Row, Summary } from './types.ts';",
    '',
    '/** Rows that one billing run handles at most. */',
    'export const MAX_ROWS = 50_000;',
    '',
  ];
  let made = 0;
  for (const verb of VERBS) {
    for (const noun of NOUNS) {
      if (made === functionAt) {
        lines.push(
          '/** Settles one overdue invoice and tells what is still owed, in cents. */',
          'export function settleOverdueInvoice(row: Row, daysLate: number): number {',
          `  const graceFactor = ${FACTS.factor};`,
          '  const reduced = Math.round(row.cents * graceFactor);',
          '  if (daysLate > 30) return row.cents;',
          '  return daysLate > 10 ? reduced : 0;',
          '}',
          '',
        );
      }
      if (made < 64) lines.push(...plainFunction(verb, noun, next));
      made++;
    }
  }
  lines.push('export const loadAll = (): Row[] => readRows(MAX_ROWS);', '');
  return lines.join('\n');
}

/**
 * A log of about 20 KB: many lines of few shapes, one failure with its trace, one line that comes once.
 *
 * @param {Place} place
 */
export function logText(place) {
  const { errorAt } = PLACES[place];
  const next = sequence(11);
  const clock = (i) =>
    `02:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}.${100 + next(900)}`;
  const lines = ['nightly settlement started', 'reading 3 shards'];
  for (let i = 0; i < 330; i++) {
    if (i === 40) lines.push(`${clock(i)} INFO  boot   loaded release ${FACTS.release} from the registry`);
    if (i === errorAt) {
      lines.push(
        `${clock(i)} ERROR settle shard 2 stopped: ledger checksum mismatch, code ${FACTS.code}`,
        '    at verifyLedger (src/ledger.ts:212:11)',
        '    at settleShard (src/settle.ts:88:5)',
      );
    }
    const shape = i % 3;
    if (shape === 0) lines.push(`${clock(i)} INFO  http   GET /v1/items/${10_000 + next(9000)} 200 ${next(40)}ms`);
    if (shape === 1)
      lines.push(`${clock(i)} DEBUG cache  hit shard=${next(3)} key=row:${next(99_999)} ttl=${next(300)}`);
    if (shape === 2)
      lines.push(`${clock(i)} INFO  settle row ${next(99_999)} done in ${next(12)}ms, queue ${next(50)}`);
  }
  lines.push('nightly settlement ended: 2 of 3 shards settled, 1 failed', '');
  return lines.join('\n');
}

/**
 * Writes the project into a folder. A note for agents is left out on purpose: clients would send it along.
 *
 * @param {string} folder
 * @param {Place} place
 */
export function writeProject(folder, place) {
  mkdirSync(join(folder, 'src'), { recursive: true });
  mkdirSync(join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "name": "billing", "private": true, "type": "module" }\n');
  writeFileSync(join(folder, SOURCE_PATH), sourceText(place));
  writeFileSync(join(folder, 'scripts/nightly.txt'), logText(place));
  writeFileSync(
    join(folder, 'scripts/nightly.mjs'),
    [
      "import { readFileSync } from 'node:fs';",
      "process.stdout.write(readFileSync(new URL('./nightly.txt', import.meta.url)));",
      // A client that reads a pseudo-terminal may lose what is in it when the program ends.
      'setTimeout(() => {}, 500);',
      '',
    ].join('\n'),
  );
}
