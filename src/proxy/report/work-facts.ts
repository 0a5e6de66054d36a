import { crc32 } from 'node:zlib';
import type { WorkFacts } from '../../core/ports/request-facts.ts';
import type { Rewritten } from '../../core/request/rewritten.ts';
import { userTexts } from '../../core/request/user-texts.ts';
import type { ScannedMessage, ScannedText } from '../../dialects/dialect.ts';
import { groupBy } from '../../engine/group-by.ts';
import type { Conversation } from '../../goal/conversation.ts';
import type { Span } from '../../json/cursor.ts';
import { isRecovery } from '../../transcript/tools.ts';
import {
  editFailed,
  isCorrection,
  isEdit,
  isTestRun,
  type TestOutcome,
  testOutcome,
} from '../../transcript/work-signs.ts';

/** Bytes at both ends of a result that are read, because they show how a call ended. */
const HEAD_BYTES = 1_000;
const TAIL_BYTES = 4_000;

type Counts = { -readonly [Field in keyof WorkFacts]: WorkFacts[Field] } & { calls: string[]; tests: TestOutcome[] };

/**
 * Counts signs of progress in the messages from the model's last answer on. Texts are read and not kept.
 *
 * @param since - index of the first of these messages
 * @param corrections - whether the user's words are searched for corrections
 */
export function workOf(rewritten: Rewritten, since: number, corrections: boolean): WorkFacts {
  const { received, messages, conversation } = rewritten;
  const work: Counts = {
    since,
    userMessages: 0,
    corrections: 0,
    calls: [],
    recoveries: 0,
    edits: 0,
    failedEdits: 0,
    tests: [],
  };
  for (const message of messages.slice(since)) {
    if (message.role === 'assistant') addCalls(work, received, message, conversation);
    else addAnswers(work, received, message, conversation);
    if (message.role !== 'user') continue;
    const words = userTexts(received, message).map((text) => text.words);
    if (words.every((part) => part === '')) continue;
    work.userMessages++;
    // the first message of a conversation has nothing to correct
    if (corrections && since > 0 && isCorrection(words.join('\n').trim())) work.corrections++;
  }
  return work;
}

function addCalls(work: Counts, body: Buffer, { calls }: ScannedMessage, conversation: Conversation): void {
  for (const { id, name, args } of calls) {
    work.calls.push(crc32(body.subarray(args?.start ?? 0, args?.end ?? 0), crc32(name)).toString(36));
    if (isRecovery(conversation.callOf(id, name))) work.recoveries++;
  }
}

function addAnswers(work: Counts, body: Buffer, { texts }: ScannedMessage, conversation: Conversation): void {
  const results = texts.filter(({ use }) => use === 'result');
  for (const answer of groupBy(results, ({ callId, name }) => `${callId}\n${name}`).values()) {
    const [first] = answer;
    const call = first && conversation.callOf(first.callId, first.name);
    if (!call) continue;
    if (isEdit(call)) {
      work.edits++;
      if (editFailed(endsOf(body, answer))) work.failedEdits++;
    } else if (isTestRun(call)) {
      const outcome = testOutcome(endsOf(body, answer));
      if (outcome !== null) work.tests.push(outcome);
    }
  }
}

/** Both ends of an answer, by line, in the spelling of the body. */
function endsOf(body: Buffer, texts: readonly ScannedText[]): string {
  const first = texts[0]?.literal;
  const last = texts.at(-1)?.literal;
  if (!first || !last) return '';
  const whole: Span = { start: first.start + 1, end: last.end - 1 };
  const head = body.toString('utf8', whole.start, Math.min(whole.end, whole.start + HEAD_BYTES));
  const tail = body.toString('utf8', Math.max(whole.start + HEAD_BYTES, whole.end - TAIL_BYTES), whole.end);
  return `${head}${tail}`.replaceAll(/\\{1,3}n/g, '\n');
}
