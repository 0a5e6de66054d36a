import { count, plural } from 'mcp-pruner/base/counts.ts';
import { type Call, type Io, painter, printableLine, textOption } from 'mcp-pruner/cli/command.ts';
import { type NamedConversation, named } from 'mcp-pruner/cli/conversations.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import { table, wrapped } from 'mcp-pruner/cli/table.ts';
import { money } from 'mcp-pruner/cli/words.ts';
import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import type { CompactionShown } from 'mcp-pruner/core/ports/seams-report.ts';
import type { StoredEvent } from 'mcp-pruner/core/ports.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';

/** Maximum number of events read per conversation. */
const MOST_EVENTS = 10_000;
/** Number of events searched for the newest conversation. */
const NEWEST = 2_000;
const MOST_SHOWN = 40;
/** Also accepted as a conversation id. */
const LATEST = '--latest';

interface Outcome {
  readonly atMs: number;
  readonly tool: string;
  readonly lines: number;
  /** `null` if the text was left whole. */
  readonly cut: { readonly pruneId: string; readonly keptLines: number; readonly tokens: number } | null;
  /** Code of the reason if it was left whole. */
  readonly whole: string;
}

interface StashStep {
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
  readonly title: string;
  /** What is known of it; `null` if it had no text that was examined. */
  readonly about: NamedConversation | null;
  readonly requests: number;
  readonly outcomes: readonly Outcome[];
  readonly steps: readonly StashStep[];
  readonly summaries: readonly CompactionShown[];
  /** Number of new results left whole, by code, including results without an outcome. */
  readonly leftWhole: Readonly<Record<string, number>>;
}

/** `why --conversation <id>` and `why --latest`: what was cut in a conversation, and why the rest was not. */
export async function explainConversation(call: Call, io: Io): Promise<number> {
  const explained = await withStore(call, io, async (store) => {
    const id = textOption(call, 'conversation');
    const name = id === undefined || id === LATEST ? await newestOf(store) : null;
    const conversation = await (name === null ? namedBy(store, id ?? '') : withTitle(store, name));
    const events = await store.events({ runId: conversation.name, fromSeq: 1, limit: MOST_EVENTS });
    const summaries = (await io.edition.compactionsOf?.(store, conversation.name)) ?? [];
    return { ...explain(conversation, events), summaries };
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

interface Titled {
  readonly name: string;
  readonly about: NamedConversation | null;
}

async function withTitle({ browse }: Pick<StoreHandle, 'browse'>, name: string): Promise<Titled> {
  const found = await browse.conversations({ words: name, order: 'seen', offset: 0, limit: 50 });
  const known = found.find((one) => one.name === name);
  return { name, about: known ? named(known) : null };
}

/** Finds a conversation by the beginning of its id or by words of its title. @throws UserError */
async function namedBy({ browse }: Pick<StoreHandle, 'browse'>, words: string): Promise<Titled> {
  const found = await browse.conversations({ words, order: 'seen', offset: 0, limit: 50 });
  const wanted = words.toLowerCase();
  const byName = found.filter(({ name }) => name.startsWith(words));
  const matches = byName.length > 0 ? byName : found.filter(({ opening }) => opening.toLowerCase().includes(wanted));
  const candidates = new Map(matches.map((one) => [one.name, named(one)]));
  const [first, other] = candidates;
  if (first === undefined) throw new UserError(`no conversation has ${JSON.stringify(words)} in its id or title`);
  if (other === undefined) return { name: first[0], about: first[1] };
  const names = [...candidates].slice(0, 5).map(([name, { title }]) => (title === '' ? name : `${name} (${title})`));
  throw new UserError(`several conversations match ${words}: ${names.map(printableLine).join(', ')}`);
}

/** Automatic causes of steps, as opposed to agents and people. */
const STEPS: ReadonlySet<string> = new Set(['budget', 'payoff', 'cold']);

function explain({ name, about }: Titled, events: readonly StoredEvent[]): Omit<Explained, 'summaries'> {
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
    .map(({ tsMs, payload }): StashStep => {
      const why = String(payload.why ?? payload.by);
      return { atMs: tsMs, results: Number(payload.segments), why };
    });
  const title = about?.title ?? '';
  return { conversation: name, title, about, requests: requests.length, outcomes, steps, leftWhole };
}

function textOf(explained: Explained, io: Io): string {
  const { conversation, title, requests, outcomes, steps, summaries, leftWhole } = explained;
  const paint = painter(io);
  const cuts = outcomes.flatMap(({ cut }) => cut ?? []);
  const tokens = cuts.reduce((sum, one) => sum + one.tokens, 0);
  const reasons = Object.entries(leftWhole).sort(([, a], [, b]) => b - a);
  const whole = reasons.reduce((sum, [, texts]) => sum + texts, 0);
  const cutWords =
    cuts.length === 0 ? 'nothing cut' : `${plural(cuts.length, 'text')} cut, by about ${count(tokens)} tokens`;
  const head = `${plural(requests, 'request')}; ${cutWords}; ${count(whole)} left whole`;
  const heading = paint('bold', printableLine(title || conversation));
  const parts = [[heading, ...placeLines(explained)].join('\n'), wrapped(head, '', io)];
  const days = new Set([...outcomes, ...steps, ...summaries].map(({ atMs }) => isoTime(atMs).slice(0, 10)));
  const at = (ms: number): string => isoTime(ms).slice(days.size > 1 ? 0 : 11);
  if (reasons.length > 0) {
    const rows = reasons.map(([code, texts]) => [leftWholeWords(code), texts > 0 ? count(texts) : '-']);
    parts.push(`${table([['why left whole', 'texts'], ...rows], { textColumns: 1, width: io.columns })}\n`);
  }
  const shown = outcomes.slice(-MOST_SHOWN);
  if (shown.length > 0) parts.push(paint('bold', shown.length < outcomes.length ? 'The newest texts' : 'Its texts'));
  for (const one of shown) parts.push(wrapped(lineOf(one, at), '', io, '  ').trimEnd());
  for (const step of steps.slice(-MOST_SHOWN)) parts.push(wrapped(stepLine(step, at), '', io, '  ').trimEnd());
  for (const one of summaries) parts.push(wrapped(summaryLine(one, at), '', io, '  ').trimEnd());
  if (cuts.length > 0) parts.push('', 'mcp-pruner why <prune_id> explains one');
  return `${parts.join('\n')}\n`;
}

function placeLines({ conversation, title, about }: Explained): string[] {
  const facts = about === null ? [] : [about.project, about.client, about.model, ...costWords(about)].filter(Boolean);
  return [title === '' ? '' : conversation, facts.join(', ')].filter(Boolean).map(printableLine);
}

function costWords({ dollars, saved }: NamedConversation): string[] {
  return dollars === null ? [] : [`${money(dollars)} spent`, ...(saved === null ? [] : [`${money(saved)} saved`])];
}

/** Date and time, without the letter between them. */
function isoTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

function stepLine({ atMs, results, why }: StashStep, timeOf: (ms: number) => string): string {
  const words = STEP_WORDS[why] ?? why;
  return `${timeOf(atMs)} ${plural(results, 'old result')} put aside: ${printableLine(words)}`;
}

function summaryLine({ atMs, outcome, tokens }: CompactionShown, timeOf: (ms: number) => string): string {
  return `${timeOf(atMs)} summary of ${count(tokens)} tokens of finished work: ${printableLine(outcome)}`;
}

function lineOf({ atMs, tool, lines, cut, whole }: Outcome, timeOf: (ms: number) => string): string {
  const at = `${timeOf(atMs)} ${printableLine(tool) || 'text'}`;
  if (cut === null) return `${at}: ${plural(lines, 'line')} left whole: ${leftWholeWords(whole)}`;
  return `${at}: ${count(lines - cut.keptLines)} of ${plural(lines, 'line')} cut, ${printableLine(cut.pruneId)}`;
}

function asJson({ conversation, title, about, requests, outcomes, steps, summaries, leftWhole }: Explained) {
  return {
    conversation,
    title,
    ...(about && { project: about.project, client: about.client, model: about.model, dollars: about.dollars }),
    requests,
    left_whole: leftWhole,
    put_aside: steps.map(({ atMs, results, why }) => ({ at: new Date(atMs).toISOString(), results, why })),
    summaries: summaries.map(({ atMs, outcome, tokens, dollars }) => ({
      ...{ at: new Date(atMs).toISOString(), outcome, tokens, usd: dollars },
    })),
    texts: outcomes.map(({ atMs, tool, lines, cut, whole }) => ({
      ...{ at: new Date(atMs).toISOString(), tool, lines },
      ...(cut === null
        ? { left_whole_because: whole }
        : { prune_id: cut.pruneId, kept_lines: cut.keptLines, tokens_saved_est: cut.tokens }),
    })),
  };
}
