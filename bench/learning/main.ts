/**
 * What learning from regret does to recorded conversations:
 *   node bench/run.mjs learning <recordings.jsonl>… [--part seen|unseen|all] [--boldness n] [--rounds n] [--off]
 *
 * Conversations come one after the other, as the growing requests of their agents, through the proxy's own code. A line
 * that one came back to although it had been cut is told to the ledger as a regret of its text. `--boldness` holds every
 * text at one step instead, `--rounds` plays all of them so many times, the last of which counts.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { decisionCacheOf, rewriterOf } from '../../src/app/pipeline.ts';
import { openStore } from '../../src/app/store.ts';
import { table } from '../../src/cli/table.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { BoldnessFact, BoldnessSteps } from '../../src/core/ports/boldness.ts';
import type { BoldnessStep } from '../../src/core/ports/ledger.ts';
import type { RegretFacts, RequestFacts } from '../../src/core/ports/request-facts.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import type { RewrittenRequest } from '../../src/core/request/rewritten.ts';
import { edition } from '../../src/edition.ts';
import { Learner } from '../../src/ledger/learning.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { Prices } from '../../src/ledger/prices.ts';
import { Replay, type ReplayTotals } from '../../src/parts/lab/replay/replay.ts';
import { replayReport } from '../../src/parts/lab/replay/report.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { callFacts } from '../../src/wires/transcript/tools.ts';
import { isUnseen, play, recordingsIn, sumOf } from '../recordings/play.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: 'all' },
    boldness: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    off: { type: 'boolean' },
  },
});
const clock = { now: Date.now(), nowMs: () => clock.now };
const { settings } = loadSettings({
  table: edition.settings,
  env: {},
  platform: process.platform,
  homeDir: '/nowhere',
  cwd: '/nowhere',
  readFile: (path) => readFileSync(path, 'utf8'),
});
const offline = { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: 600_000 };
const onFailure = (reason: string, cause: unknown): never => {
  throw new Error(reason, { cause });
};
const MINUTE_MS = 61_000;

/** Every text at one and the same step. */
function always(step: number): BoldnessSteps {
  const fact: BoldnessFact = { number: 1, step };
  const kinds = new Map<string, BoldnessFact>();
  kinds.get = () => fact;
  return { of: () => kinds };
}

/** What was seen of a tool's texts of one kind. */
interface Seen {
  cut: number;
  regretted: number;
  removed: number;
}

const seen = new Map<string, Seen>();
const taken: BoldnessStep[] = [];

/** One way through all recordings, on a store of its own. */
async function open() {
  const store = await openStore(offline, { edition, clock });
  const learner = new Learner({
    store: store.ledger,
    clock,
    onFailure,
    onStep: (step) => void taken.push(step),
  });
  const ledger = new Ledger({ store: store.ledger, prices: new Prices([]), clock, onFailure, learner });
  const fixed = values.boldness === undefined ? null : always(Number(values.boldness));
  const boldness = fixed ?? (values.off === true ? null : learner);
  const rewriter = rewriterOf(offline, {
    store,
    clock,
    decisionCache: decisionCacheOf(offline, store, clock),
    refused: new RefusedConversations(store),
    onFailure,
    ...(boldness && { boldness }),
  });
  return { store, ledger, rewriter };
}

/** Tells the ledger what a conversation cut and came to regret. */
function recordConversation(ledger: Ledger, project: string, last: RewrittenRequest, { lost }: ReplayTotals): void {
  const regretted = new Set(lost.map(({ from }) => from));
  const cut = last.outcomes.filter(({ pruneId }) => pruneId !== null);
  const regrets = cut.flatMap(({ messageIndex, tool, kind, pruneId, boldness = 0 }): RegretFacts[] =>
    pruneId !== null && regretted.has(messageIndex)
      ? [{ how: 'quoted', tool, kind, pruneId, boldness, tokens: 0 }]
      : [],
  );
  const texts = cut.map(({ tool, kind, tokensBefore, tokensAfter, boldness = 0 }) => ({
    ...{ tool, kind, cut: true, tokensBefore, tokensAfter, boldness },
  }));
  for (const { tool, kind, tokensBefore, tokensAfter } of texts) {
    const one = seen.get(`${tool}\t${kind}`) ?? { cut: 0, regretted: 0, removed: 0 };
    seen.set(`${tool}\t${kind}`, one);
    one.cut++;
    one.removed += tokensBefore - tokensAfter;
  }
  for (const { tool, kind } of regrets) {
    const one = seen.get(`${tool}\t${kind}`);
    if (one) one.regretted++;
  }
  const facts: RequestFacts = {
    ...{ requestId: `r${clock.now}`, atMs: clock.now, project, conversationId: last.conversationId, wire: 'chat' },
    ...{ model: 'm', arm: 'pruned', usage: null, tools: '', system: '', messages: [], bytes: 0, cacheUpTo: null },
    ...{ texts, regrets, fresh: { from: 0, tokens: 0 } },
  };
  ledger.request(facts);
}

const way = await open();
let totals: ReplayTotals[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  totals = [];
  seen.clear();
  const project = 'recorded';
  for await (const recording of recordingsIn(positionals)) {
    if (values.part !== 'all' && isUnseen(recording) !== (values.part === 'unseen')) continue;
    const lasts: RewrittenRequest[] = [];
    const replay = new Replay({
      rewrite: async (body) => {
        // rounds are conversations of their own: what was sent in one must not hold in the next
        const own = round === 0 ? body : Buffer.from(body.toString().replace('"content":"', `"content":"(${round}) `));
        const done = await way.rewriter.rewrite({
          body: own,
          dialect: openaiChat,
          scope: { project, task: '', requestId: '' },
        });
        lasts[0] = done;
        return round === 0
          ? done.body
          : Buffer.from(done.body.toString().replace(`"content":"(${round}) `, '"content":"'));
      },
      targetOf: (call) => {
        const { origin, path = '' } = callFacts(call).hints;
        return { reads: origin === 'read', path };
      },
    });
    await play(replay, recording);
    const one = replay.finish();
    totals.push(one);
    if (lasts[0]) recordConversation(way.ledger, project, lasts[0], one);
    clock.now += MINUTE_MS;
    await way.ledger.flush();
  }
}
const report = replayReport(sumOf(totals));
const percent = (share: number | null): string => (share === null ? '-' : `${(share * 100).toFixed(1)} %`);
const rows = [...seen]
  .toSorted(([, a], [, b]) => b.cut - a.cut)
  .map(([key, { cut, regretted, removed }]) => {
    const [tool = '', kind = ''] = key.split('\t');
    const steps = taken.filter((step) => step.tool === tool && step.kind === kind).map(({ step }) => step);
    return [
      tool,
      kind,
      String(cut),
      String(regretted),
      percent(regretted / cut),
      String(Math.round(removed / cut)),
      steps.join(' '),
    ];
  });
process.stdout.write(
  `${table([['tool', 'kind', 'cut', 'regretted', 'share', 'tokens a text', 'steps'], ...rows])}\n\n`,
);
const used = Object.values(report.uses).reduce((sum, use) => sum + use.used, 0);
process.stdout.write(
  `conversations ${report.conversations}, requests ${report.requests}, tokens ${(report.tokensAfter / report.tokensBefore).toFixed(3)}, bill ${report.costRatio?.toFixed(3)}, lines used ${used}, kept ${percent(report.laterUsedKept)}, visible ${percent(report.laterUsedVisible)}, prefix ${percent(report.prefixStable)}\n`,
);
await way.store.close();
