// How far the saving that the ledger reports is from the true one where cuts are estimated: by wire, by the provider's way of
// counting, with and without hidden reasoning, each for a model that was never seen before.
// node bench/run.mjs ledger-exact [conversations] [first seed]. Seeds from 50,000 on are held out: look at them to check, never
// to choose. MCP_PRUNER_TOKENIZERS may name a module that exports functions from a text to a number of tokens.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { conversation } from './conversation.ts';
import { type Count, TOKENISERS } from './tokenisers.ts';
import { WIRES } from './wires.ts';
import { play } from './world.ts';

const CONVERSATIONS = Number(process.argv[2] ?? 30);
const FIRST_SEED = Number(process.argv[3] ?? 1_000);

const folder = join(process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd(), 'src');
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const source = names.sort().flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
const turns = Array.from({ length: CONVERSATIONS }, (_, i) => conversation(FIRST_SEED + i, source));
const named = process.env.MCP_PRUNER_TOKENIZERS;
const real = named === undefined ? {} : ((await import(named)) as Record<string, Count>);
const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

let [worst, held, all] = [0, 0, 0];
for (const [how, count] of Object.entries({ ...TOKENISERS, ...real })) {
  const memo = new Map<string, number>();
  const remembered: Count = (text) => {
    const known = memo.get(text) ?? count(text);
    memo.set(text, known);
    return known;
  };
  const text = source.join('\n');
  process.stdout.write(`${how}: ${(text.length / count(text)).toFixed(2)} characters a token of source code\n`);
  for (const wire of Object.keys(WIRES) as (keyof typeof WIRES)[]) {
    for (const thinks of [false, true]) {
      const { reported, really, range, spent, billed } = await play({ wire, count: remembered, thinks }, turns);
      const [low, high] = range;
      const error = reported / really - 1;
      worst = Math.max(worst, Math.abs(error));
      all++;
      if (low <= really && really <= high) held++;
      process.stdout.write(
        `  ${wire.padEnd(9)} ${thinks ? 'thinks' : '      '} saved $${really.toFixed(3)}, reported ${error < 0 ? '' : '+'}${percent(error)}, range ${percent(low / really - 1)} to ${percent(high / really - 1)}; bill off by $${Math.abs(spent - billed).toFixed(6)}\n`,
      );
    }
  }
}
process.stdout.write(`worst ${percent(worst)}; the range holds the truth in ${held} of ${all}\n`);
