import { count, plural } from '../base/counts.ts';
import { leftWholeWords } from '../core/left-whole.ts';
import type { StoredEvent } from '../core/ports.ts';
import { UserError } from '../errors/errors.ts';
import type { StoreHandle } from '../store/handle.ts';
import { type Call, type Io, painter, printableLine, textOption } from './command.ts';
import { withStore } from './open-store.ts';
import { table, wrapped } from './table.ts';

/** Maximum number of events read per conversation. */
const MOST_EVENTS = 10_000;
/** Number of events searched for the newest conversation. */
const NEWEST = 2_000;
const MOST_SHOWN = 40;
/** Also accepted as a conversation id. */
const LATEST = '--latest';

/** Outcome of a new text. */
interface Outcome {
  readonly atMs: number;
  readonly tool: string;
  readonly lines: number;
  /** `null` if the text was left whole. */
  readonly cut: { readonly pruneId: string; readonly keptLines: number; readonly tokens: number } | null;
  /** Code of the reason if it was left whole. */
  readonly whole: string;
}

/** A step that put old results aside. */
interface Step {
  readonly atMs: number;
  readonly results: number;
  /** `budget`, `payoff`, or the reason for the cold cache. */
  readonly why: string;
}

const STEP_WORDS: Readonly<Record<string, string>> = {
  budget: 'the conversation exceeded its token budget',
  payoff: 'they had been seen again',
  pause: 'the cache had expired in a pause',
  compaction: 'the client had compacted the conversation',
  model: 'another model was asked, which had nothing cached',
  tools: 'the client had changed its tools',
  system: 'the client had changed its system prompt',
};

interface Explained {
  readonly conversation: string;
  readonly requests: number;
  readonly outcomes: readonly Outcome[];
  readonly steps: readonly Step[];
  /** Number of new results left whole, by code, including results without an outcome. */
  readonly leftWhole: Readonly<Record<string, number>>;
}

/** `why --conversation <id>` and `why --latest`: what was cut in a conversation, and why the rest was not. */
export async function explainConversation(call: Call, io: Io): Promise<number> {
  const explained = await withStore(call, io, async (store) => {
    const id = textOption(call, 'conversation');
    const conversation = id === undefined || id === LATEST ? await newestOf(store) : await namedBy(store, id);
    return explain(conversation, await store.events({ runId: conversation, fromSeq: 1, limit: MOST_EVENTS }));
  });
  io.out(call.values.json === true ? `${JSON.stringify(asJson(explained), null, 2)}\n` : textOf(explained, io));
  return 0;
}

/** The conversation of the newest request. @throws UserError */
async function newestOf(store: Pick<StoreHandle, 'records' | 'events'>): Promise<string> {
  const last = await store.records.lastSeq();
  const newest = await store.events({ fromSeq: Math.max(1, last - NEWEST), limit: NEWEST + 1 });
  const request = newest.findLast(({ kind }) => kind === 'request');
  if (request === undefined) throw new UserError('no request was recorded: only those through the proxy are');
  return request.runId;
}

/** Finds a conversation by id prefix. @throws UserError */
async function namedBy({ browse }: Pick<StoreHandle, 'browse'>, id: string): Promise<string> {
  const found = await browse.conversations({ words: id, order: 'seen', offset: 0, limit: 50 });
  const names = [...new Set(found.map(({ name }) => name).filter((name) => name.startsWith(id)))];
  const [name, other] = names;
  if (other !== undefined)
    throw new UserError(`several conversations begin with ${id}: ${names.slice(0, 5).join(', ')}`);
  if (name === undefined) throw new UserError(`no conversation begins with ${JSON.stringify(id)}`);
  return name;
}

/** Automatic causes of steps, as opposed to agents and people. */
const STEPS: ReadonlySet<string> = new Set(['budget', 'payoff', 'cold']);

function explain(conversation: string, events: readonly StoredEvent[]): Explained {
  const requests = events.filter(({ kind }) => kind === 'request');
  const leftWhole: Record<string, number> = {};
  for (const { payload } of requests) {
    const whole = payload.left_whole;
    if (typeof whole !== 'object' || whole === null) continue;
    for (const [code, texts] of Object.entries(whole)) leftWhole[code] = (leftWhole[code] ?? 0) + Number(texts);
  }
  const outcomes = events
    .filter(({ kind }) => kind === 'pruned' || kind === 'left_whole')
    .map(({ tsMs, kind, payload }): Outcome => {
      const before = Number(payload.tokens_before);
      const cut = { keptLines: Number(payload.kept_lines), tokens: before - Number(payload.tokens_after) };
      return {
        ...{ atMs: tsMs, tool: String(payload.tool ?? ''), lines: Number(payload.lines) },
        cut: kind === 'pruned' ? { pruneId: String(payload.prune_id), ...cut } : null,
        whole: kind === 'pruned' ? '' : String(payload.reason),
      };
    });
  const steps = events
    .filter(({ kind, payload }) => kind === 'stashed' && STEPS.has(String(payload.by)))
    .map(({ tsMs, payload }): Step => {
      const why = String(payload.why ?? payload.by);
      return { atMs: tsMs, results: Number(payload.segments), why };
    });
  return { conversation, requests: requests.length, outcomes, steps, leftWhole };
}

function textOf({ conversation, requests, outcomes, steps, leftWhole }: Explained, io: Io): string {
  const paint = painter(io);
  const cuts = outcomes.flatMap(({ cut }) => cut ?? []);
  const tokens = cuts.reduce((sum, one) => sum + one.tokens, 0);
  const reasons = Object.entries(leftWhole).sort(([, a], [, b]) => b - a);
  const whole = reasons.reduce((sum, [, texts]) => sum + texts, 0);
  const cutWords =
    cuts.length === 0 ? 'nothing cut' : `${plural(cuts.length, 'text')} cut, by about ${count(tokens)} tokens`;
  const head = `${plural(requests, 'request')}; ${cutWords}; ${count(whole)} left whole`;
  const parts = [paint('bold', printableLine(conversation)), wrapped(head, '', io)];
  if (reasons.length > 0) {
    const rows = reasons.map(([code, texts]) => [leftWholeWords(code), texts > 0 ? count(texts) : '-']);
    parts.push(`${table([['why left whole', 'texts'], ...rows], { textColumns: 1, width: io.columns })}\n`);
  }
  const shown = outcomes.slice(-MOST_SHOWN);
  if (shown.length > 0) parts.push(paint('bold', shown.length < outcomes.length ? 'The newest texts' : 'Its texts'));
  for (const one of shown) parts.push(wrapped(lineOf(one), '', io, '  ').trimEnd());
  for (const step of steps.slice(-MOST_SHOWN)) parts.push(wrapped(stepLine(step), '', io, '  ').trimEnd());
  if (cuts.length > 0) parts.push('', 'mcp-pruner why <prune_id> explains one');
  return `${parts.join('\n')}\n`;
}

function stepLine({ atMs, results, why }: Step): string {
  const words = STEP_WORDS[why] ?? why;
  return `${new Date(atMs).toISOString().slice(11, 19)} ${plural(results, 'old result')} put aside: ${printableLine(words)}`;
}

function lineOf({ atMs, tool, lines, cut, whole }: Outcome): string {
  const at = `${new Date(atMs).toISOString().slice(11, 19)} ${printableLine(tool) || 'text'}`;
  if (cut === null) return `${at}: ${plural(lines, 'line')} left whole: ${leftWholeWords(whole)}`;
  return `${at}: ${count(lines - cut.keptLines)} of ${plural(lines, 'line')} cut, ${printableLine(cut.pruneId)}`;
}

function asJson({ conversation, requests, outcomes, steps, leftWhole }: Explained) {
  return {
    conversation,
    requests,
    left_whole: leftWhole,
    put_aside: steps.map(({ atMs, results, why }) => ({ at: new Date(atMs).toISOString(), results, why })),
    texts: outcomes.map(({ atMs, tool, lines, cut, whole }) => ({
      ...{ at: new Date(atMs).toISOString(), tool, lines },
      ...(cut === null
        ? { left_whole_because: whole }
        : { prune_id: cut.pruneId, kept_lines: cut.keptLines, tokens_saved_est: cut.tokens }),
    })),
  };
}
