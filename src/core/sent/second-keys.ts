import { groupBy } from '../../engine/group-by.ts';
import type { Dialect, ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import { bytesHash, keyOf, meaningOf } from '../hash.ts';
import type { SentMessage } from '../ports/sent.ts';

/**
 * A key by which the record of a message, or of one result in it, is found if the messages before it are unknown. If
 * the provider keeps the history, a message is first sent without them, and may be sent again later together with them.
 * Clients and providers write the model's items differently, so that a hash over all messages would not find it.
 */
export interface SecondKey {
  readonly key: string;
  /** Indexes of the texts in the message that it stands for. */
  readonly texts: readonly number[];
  /** Nothing is recorded under it; it finds what was sent while the history of the conversation was unknown. */
  readonly isOfOthers?: true;
}

/** A message that is being read. */
export interface KeyedMessage {
  readonly dialect: Dialect;
  readonly body: Buffer;
  readonly message: ScannedMessage;
  /** Its state at the message. */
  readonly conversation: Conversation;
  /** Hash of the project and the account. */
  readonly owner: string;
}

/** Size in bytes of a user's text below which it needs no key of its own. */
const MIN_WORDS_BYTES = 200;

/** The second keys of a message; none if the wire's providers keep no history. */
export function secondKeysOf(keyed: KeyedMessage): SecondKey[] {
  const { dialect, message } = keyed;
  if (dialect.keepsHistory === 'never') return [];
  return dialect.keepsHistory === 'items' ? keysOfItem(keyed, message) : keysOfBlocks(keyed, message);
}

/** An item is one result, or words of the user. Some models number their calls anew in each conversation. */
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
  if (isDetached) return [{ key: detached, texts }];
  const nth = conversation.callsUnder(first.callId);
  const key = isWords
    ? keyOf('words', id, conversation.newestCall, meaning)
    : keyOf('result', id, first.callId, String(nth), meaning);
  return [
    { key, texts },
    { key: detached, texts, isOfOthers: true },
  ];
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
      const detached = { key: keyOf('detached words', owner, hash), texts: [i] };
      if (conversation.isDetached) keys.push(detached);
      else {
        const key = keyOf('thread words', owner, conversation.id, conversation.newestCall, hash);
        keys.push({ key, texts: [i] }, { ...detached, isOfOthers: true });
      }
    }
  });
  for (const [callId, texts] of results) {
    const raw = texts.map((i) => message.texts[i]?.literal).map((span) => body.subarray(span?.start, span?.end));
    keys.push({ key: keyOf('thread result', owner, callId, bytesHash(raw)), texts });
  }
  return keys;
}

/** Copies of records under the second keys of their messages. */
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

/** The record of a message, put together from those under its second keys; `undefined` if there is none. */
export function recordUnder(
  records: ReadonlyMap<string, SentMessage>,
  keys: readonly SecondKey[] = [],
): SentMessage | undefined {
  const withRecord = keys.filter(({ key }) => records.has(key));
  const ofSameTexts = groupBy(withRecord, ({ texts }) => texts.join(' '));
  const found = [...ofSameTexts.values()].flatMap((same) => {
    const { key, texts } = same.find(({ isOfOthers }) => !isOfOthers) ?? same[0] ?? { key: '', texts: [] };
    const record = records.get(key);
    return record ? { record, texts } : [];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  const texts = found.flatMap(({ record, texts: indexes }) =>
    record.texts.map((text) => ({ ...text, text: indexes[text.text] ?? text.text })),
  );
  return { ...first.record, texts };
}
