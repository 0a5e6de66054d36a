import { type Work, waitFor } from '../../base/work.ts';
import { groupBy } from '../../engine/group-by.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import type { Job } from '../decide/decision.ts';
import type { LookedUpAhead } from '../decide/decision-cache.ts';
import { textHash } from '../hash.ts';
import type { Decision, NewDecision, SentDecision, SentMessage, SentText, Store, TextPlace } from '../ports.ts';
import type { FoundText } from '../request/found-text.ts';
import type { Binding } from '../request/policy.ts';
import type { ReadRequest } from '../request/request.ts';
import { acceptedPrefix, containsResultOrWords, controlPrefix, mayBeCut, type SentMemory } from './records.ts';
import { recordUnder } from './second-keys.ts';
import { textAt } from './text-place.ts';

/** The new part of a request, with records of how it was sent before. */
export interface KnownHistory {
  /** All texts, including those that were cut before. */
  readonly found: readonly FoundText[];
  /** Decisions with which texts were sent before. */
  readonly sent: ReadonlyMap<FoundText, Decision>;
  /**
   * Texts for which no new decision may be made, because the model has answered them or the policy passes new texts.
   * Only a stored decision can still cut them. Empty unless the history is free.
   */
  readonly fixed: ReadonlySet<FoundText>;
  /** A provider accepted cuts of messages that the model has not answered yet. */
  readonly cutsAccepted: boolean;
  /** The conversation permanently belongs to the control group. */
  readonly control: boolean;
  /** Indexes of answered messages that are forwarded whole, although no record shows how they were sent before. */
  readonly rawHistory: readonly number[];
  /** The store could not be queried for answered messages that may have been cut. */
  readonly unknown: boolean;
  /** Why the store could not be queried; `null` if it was queried. */
  readonly failure: unknown;
  /** Decisions and served texts that were looked up with the records; `null` if the store was not asked. */
  readonly ahead: LookedUpAhead | null;
}

/** Used if nothing has to be looked up: no new messages, or a dry run. */
export const NO_HISTORY: KnownHistory = {
  found: [],
  sent: new Map(),
  fixed: new Set(),
  cutsAccepted: false,
  control: false,
  rawHistory: [],
  unknown: false,
  failure: null,
  ahead: null,
};

/**
 * Looks up how a request's messages were sent before, and which texts must not get a new decision.
 *
 * @param keysOf - returns the decision keys of jobs
 * @param skipReason - reason to skip the store, or `null`
 */
export function* recallHistory(
  { body, binding, policy, read }: Pick<ReadRequest, 'body' | 'binding' | 'policy' | 'read'>,
  memory: SentMemory,
  keysOf: (jobs: readonly Job[]) => readonly string[],
  skipReason: unknown = null,
): Work<KnownHistory> {
  const { messages, prefixes, secondKeys, first, tail } = read;
  const mayDecide = (messageIndex: number): boolean =>
    messageIndex >= tail ? policy.newTexts === 'prune' : policy.history === 're-prune';
  if (first === messages.length) return NO_HISTORY;
  const prefixesOf = (from: number, matches: (message: ScannedMessage) => boolean): string[] =>
    messages.slice(from).flatMap((message, i) => (matches(message) ? (prefixes[from + i] ?? []) : []));
  const acceptedKeys = prefixesOf(Math.max(first, tail), mayBeCut).map(acceptedPrefix);
  // a past text may have a stored decision if the history is free
  const isOpen = ({ skip, messageIndex }: FoundText): boolean =>
    skip === '' && (mayDecide(messageIndex) || binding === 'free');
  const more = (): { keys: readonly string[]; hashes: readonly string[] } => {
    const open = read.found.filter(isOpen);
    return {
      keys: keysOf(open.map(({ job }) => job)),
      hashes: open.flatMap(({ job, around }) => [job.textHash, ...around]),
    };
  };
  const ofControl = read.shownId === '' ? [] : [controlPrefix(read.shownId)];
  const seconds = [...secondKeys.values()].flat().map(({ key }) => key);
  const {
    sent: records,
    failure,
    ahead,
  } = yield* memory.find(
    [...prefixesOf(first, containsResultOrWords), ...seconds, ...acceptedKeys, ...ofControl],
    skipReason,
    more,
  );
  const recordOf = (i: number): SentMessage | undefined => {
    const prefix = prefixes[i] ?? '';
    return records.get(prefix) ?? recordUnder(records, secondKeys.get(prefix));
  };
  const isUnknown = (message: ScannedMessage, i: number): boolean =>
    mayBeCut(message) && recordOf(first + i) === undefined;
  const unknown = failure !== null && messages.slice(first, tail).some(isUnknown);
  if (read.found.length + records.size === 0) return { ...NO_HISTORY, unknown, failure, ahead };
  const control = ofControl.some((prefix) => records.has(prefix));
  const cutsAccepted = acceptedKeys.some((prefix) => records.has(prefix));
  const sent = new Map<FoundText, Decision>();
  const fixed = new Set<FoundText>();
  const all: FoundText[] = [];
  const rawHistory: number[] = [];
  const foundIn = groupBy(read.found, ({ messageIndex }) => messageIndex);
  for (let i = first; i < messages.length; i++) {
    const message = messages[i];
    const found = foundIn.get(i) ?? [];
    const record = message && message.role !== 'other' ? recordOf(i) : undefined;
    if (message && record) {
      const replayed = replay(body, message, i, record, found);
      for (const { text, decision } of replayed) sent.set(text, decision);
      const others = found.filter((text) => !replayed.some(({ text: { place } }) => isAt(text, place)));
      all.push(...replayed.map(({ text }) => text), ...others.map(asPast));
      continue;
    }
    const isDecidable = mayDecide(i);
    if (!isDecidable && i < tail && found.some(({ skip }) => skip === '')) rawHistory.push(i);
    all.push(...(isDecidable ? found : found.map((text) => (text.skip === '' ? asFixed(text, binding, fixed) : text))));
  }
  return { found: all.sort(inOrder), sent, fixed, cutsAccepted, control, rawHistory, unknown, failure, ahead };
}

/**
 * Marks a text as past, so that it gets no new decision. If the history is free, the text is added to `fixed`, and a
 * stored decision still applies.
 */
function asFixed(text: FoundText, binding: Binding, fixed: Set<FoundText>): FoundText {
  const past = asPast(text);
  if (binding !== 'free') return past;
  // no record exists if the client rewrote earlier messages or an older version sent them; a stored decision still
  // shows that the text was cut
  fixed.add(past);
  return past;
}

function asPast(text: FoundText): FoundText {
  return text.skip === '' ? { ...text, skip: 'past' } : text;
}

/**
 * Adapts a request to records of another process that sent some of its messages first: its cuts are replayed, and texts
 * it left whole stay whole. Directives still apply.
 *
 * @param records - the applicable records, by prefix or second key of messages
 */
export function adoptRecords(request: ReadRequest, records: ReadonlyMap<string, SentMessage>): ReadRequest {
  const { body, read, known, found, binding } = request;
  const sent = new Map(known.sent);
  const adopted: FoundText[] = [];
  read.messages.forEach((message, i) => {
    const here = i < read.first ? [] : found.filter(({ messageIndex }) => messageIndex === i);
    const prefix = read.prefixes[i] ?? '';
    const record =
      i < read.first ? undefined : (records.get(prefix) ?? recordUnder(records, read.secondKeys.get(prefix)));
    if (record === undefined || message.role === 'other' || here.some((text) => sent.has(text))) {
      adopted.push(...here);
      return;
    }
    const mayDiffer = binding !== 'verified';
    const directed = here.filter(({ job, skip }) => mayDiffer && (job.cutWhole !== undefined || skip === 'pinned'));
    const replayed = replay(body, message, i, record, here).filter(
      ({ text }) => !directed.some((one) => isAt(one, text.place)),
    );
    for (const { text, decision } of replayed) sent.set(text, decision);
    const others = here.filter(
      (text) => !directed.includes(text) && !replayed.some((one) => isAt(text, one.text.place)),
    );
    adopted.push(...replayed.map(({ text }) => text), ...directed, ...others.map(asPast));
  });
  return { ...request, known: { ...known, sent }, found: adopted.sort(inOrder) };
}

/**
 * Extends the expiry of originals of replayed cuts, and restores missing ones from the request. Texts replaced by a
 * directive are skipped, because deleted texts must not come back.
 *
 * @param found - the request's texts after directives were applied
 * @throws StoreUnavailable
 */
export function* touchOriginals(
  found: readonly FoundText[],
  sent: ReadonlyMap<FoundText, Decision>,
  store: Pick<Store, 'commit'>,
): Work<NewDecision[]> {
  const cut = found.flatMap((text) => {
    const decision = sent.get(text);
    return decision?.pruneId ? { decision, pruneId: decision.pruneId, text: text.job.text } : [];
  });
  const ids = cut.map(({ pruneId }) => pruneId);
  if (ids.length === 0) return [];
  const { missing } = yield* waitFor(store.commit({ decisions: [], touch: ids }, 0));
  const lost = new Set(missing);
  return cut.flatMap(({ decision, pruneId, text }) => (lost.has(pruneId) ? { decision, text } : []));
}

/** A text that was cut when it was first sent. */
interface Replayed {
  readonly text: FoundText;
  readonly decision: Decision;
}

/**
 * The texts that were cut when a message was first sent, independent of current settings.
 *
 * @param found - texts found in the message now, which supply fields that records lack
 */
function replay(
  bytes: Buffer,
  message: ScannedMessage,
  messageIndex: number,
  sent: SentMessage,
  found: readonly FoundText[],
): Replayed[] {
  if (message.opaque) return [];
  const { annotateLines, includeMarkers, shortMarkers } = sent;
  const render = { annotateLines, includeMarkers, shortMarkers };
  return sent.texts
    .flatMap((one) => replayOne(bytes, message, messageIndex, one, render, found) ?? [])
    .sort((a, b) => inOrder(a.text, b.text));
}

function replayOne(
  bytes: Buffer,
  message: ScannedMessage,
  messageIndex: number,
  { decision, ...place }: SentText,
  render: RenderOptions,
  found: readonly FoundText[],
): Replayed | null {
  const today = found.find((text) => isAt(text, place));
  if (today && today.job.textHash === decision.textHash) {
    const text = { ...today, skip: '', render, markerIds: [] };
    return { text, decision: { ...decision, goal: today.job.goal } };
  }
  const literal = message.texts[place.text]?.literal;
  const decoded = literal ? decodeString(bytes, literal.start, literal.end) : null;
  const placed = decoded === null ? null : textAt(decoded, place);
  // equal prefixes imply equal texts; if the hash still differs, do not cut
  if (!literal || decoded === null || !placed || textHash(placed.text) !== decision.textHash) return null;
  const job = jobOf(placed.text, decision);
  const text: FoundText = {
    messageIndex,
    literal,
    start: place.json.length === 0 ? place.start : 0,
    entire: placed.text.length === decoded.length,
    place,
    lift: placed.lift,
    job,
    skip: '',
    render,
    markerIds: [],
    around: [],
  };
  return { text, decision: { ...decision, goal: '' } };
}

/** Whether a text is at the position of a sent text. */
function isAt({ place }: FoundText, { text, json, start, chars }: TextPlace): boolean {
  return (
    place.text === text && place.start === start && place.chars === chars && place.json.join(' ') === json.join(' ')
  );
}

/** Compares texts by their order in the conversation. */
function inOrder(a: FoundText, b: FoundText): number {
  if (a.messageIndex !== b.messageIndex) return a.messageIndex - b.messageIndex;
  if (a.literal.start !== b.literal.start) return a.literal.start - b.literal.start;
  for (let i = 0; i < Math.max(a.place.json.length, b.place.json.length); i++) {
    const by = (a.place.json[i] ?? -1) - (b.place.json[i] ?? -1);
    if (by !== 0) return by;
  }
  return a.place.start - b.place.start;
}

function jobOf(text: string, { textHash: hash, tool }: SentDecision): FoundText['job'] {
  // the decision exists already, so its limits and hints are not needed
  return {
    text,
    textHash: hash,
    goal: '',
    hints: { origin: 'unknown' },
    limits: { maxPruneRatio: 0, minKeepLines: 0 },
    tool,
    caller: 'proxy',
  };
}
