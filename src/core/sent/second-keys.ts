import { groupBy } from '../../engine/group-by.ts';
import type { Dialect, ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import { bytesHash, keyOf, meaningOf } from '../hash.ts';
import type { SentMessage } from '../ports.ts';

/**
 * Additional key of a message's record, independent of the preceding messages. If the provider stores the history, a
 * message is first sent alone, and later perhaps together with its history. Clients and providers serialise the model's
 * items differently, so a hash over all messages would not match.
 */
export interface SecondKey {
  readonly key: string;
  /** Indexes of the message's texts that the key stands for. */
  readonly texts: readonly number[];
  /** Nothing is recorded under it; it finds messages sent while their history was unknown. */
  readonly isOfOthers?: true;
}

/** A message being read. */
interface KeyedMessage {
  readonly dialect: Dialect;
  readonly body: Buffer;
  readonly message: ScannedMessage;
  /** State at the message. */
  readonly conversation: Conversation;
  /** Hash of project and account. */
  readonly owner: string;
}

/** Minimum size in bytes of a user text that gets its own key. */
const MIN_WORDS_BYTES = 200;

/** Second keys of a message; none if the wire's providers do not store the history. */
export function secondKeysOf(keyed: KeyedMessage): SecondKey[] {
  const { dialect, message } = keyed;
  if (dialect.keepsHistory === 'never') return [];
  return dialect.keepsHistory === 'items' ? keysOfItem(keyed, message) : keysOfBlocks(keyed, message);
}

/** Keys of a result or user text. Call ids do not suffice: some models restart numbering in each conversation. */
function keysOfItem(keyed: KeyedMessage, message: ScannedMessage): SecondKey[] {
  const { body, conversation, owner } = keyed;
  const [first] = message.texts;
  if (first === undefined) return [];
  const texts = message.texts.map((_, i) => i);
  const meaning = meaningOf(body, message);
  const { id, isDetached } = conversation;
  const isWords = message.role === 'user';
  if (!isWords && (message.role !== 'tool' || first.callId === '')) return [];
  const detached = keyOf('detached', owner, isWords ? '' : first.callId, meaning);
  const nth = conversation.callsUnder(first.callId);
  const key = isWords
    ? keyOf('words', id, conversation.newestCall, meaning)
    : keyOf('result', id, first.callId, String(nth), meaning);
  return withDetached({ key, texts }, detached, isDetached);
}

/** Texts of a detached conversation are recorded under a key without it; the other conversations find them there. */
function withDetached(own: SecondKey, detached: string, isDetached: boolean): SecondKey[] {
  const other = { ...own, key: detached };
  return isDetached ? [other] : [own, { ...other, isOfOthers: true }];
}

/** A message has several blocks. Ids of calls are unique, so that results need no conversation; words do. */
function keysOfBlocks({ body, conversation, owner }: KeyedMessage, message: ScannedMessage): SecondKey[] {
  if (message.role !== 'tool' && message.role !== 'user') return [];
  const results = new Map<string, number[]>();
  const keys: SecondKey[] = [];
  message.texts.forEach(({ use, callId, literal }, i) => {
    const raw = body.subarray(literal.start, literal.end);
    if (use === 'result' && callId !== '') results.set(callId, [...(results.get(callId) ?? []), i]);
    else if (raw.length >= MIN_WORDS_BYTES) {
      const hash = bytesHash([raw]);
      const key = keyOf('thread words', owner, conversation.id, conversation.newestCall, hash);
      keys.push(...withDetached({ key, texts: [i] }, keyOf('detached words', owner, hash), conversation.isDetached));
    }
  });
  for (const [callId, texts] of results) {
    const raw = texts.map((i) => message.texts[i]?.literal).map((span) => body.subarray(span?.start, span?.end));
    keys.push({ key: keyOf('thread result', owner, callId, bytesHash(raw)), texts });
  }
  return keys;
}

/** Copies records to the second keys of their messages. */
export function underSecondKeys(
  records: readonly SentMessage[],
  keys: ReadonlyMap<string, readonly SecondKey[]>,
): SentMessage[] {
  return records.flatMap((record) =>
    (keys.get(record.prefix) ?? [])
      .filter(({ isOfOthers }) => !isOfOthers)
      .map(({ key, texts }) => ({
        ...record,
        prefix: key,
        texts: record.texts.flatMap((text) => {
          const index = texts.indexOf(text.text);
          return index < 0 ? [] : { ...text, text: index };
        }),
      })),
  );
}

/** Assembles the record of a message from the records under its second keys; `undefined` if there is none. */
export function recordUnder(
  records: ReadonlyMap<string, SentMessage>,
  keys: readonly SecondKey[] = [],
): SentMessage | undefined {
  const withRecord = keys.filter(({ key }) => records.has(key));
  const ofSameTexts = groupBy(withRecord, ({ texts }) => texts.join(' '));
  const found = [...ofSameTexts.values()].flatMap((same) => {
    const one = same.find(({ isOfOthers }) => !isOfOthers) ?? same[0];
    const record = one && records.get(one.key);
    return record ? { record, texts: one.texts } : [];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  const texts = found.flatMap(({ record, texts: indexes }) =>
    record.texts.map((text) => ({ ...text, text: indexes[text.text] ?? text.text })),
  );
  return { ...first.record, texts };
}
