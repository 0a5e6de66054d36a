import { type Message, toolTurn } from './chat.ts';
import { serverLog, sourceFile } from './texts.ts';

const QUESTIONS = [
  'Why does the checkout fail for some customers? Find the failing payment in the log and its cause.',
  'Now the invoices: which function prints an invoice, and does it close its database connection?',
  'The vouchers are merged wrongly since Monday. Compare mergeVoucher with what the log says about it.',
  'Finally make the retry of a shipment wait longer each time, and show me where the limit is set.',
];

/** A text that only this turn brings, in one of the shapes in which tools answer. */
function result(turn: number): { name: string; args: object; content: unknown } {
  switch (turn % 5) {
    case 0:
      return { name: 'bash', args: { command: `npm run job-${turn}` }, content: serverLog(220, turn) };
    case 1:
      return { name: 'read_file', args: { path: `src/module-${turn}.ts` }, content: sourceFile(40, turn) };
    case 2:
      return {
        name: 'shell',
        args: { command: ['bash', '-lc', `cat /var/log/app-${turn}.log`] },
        content: JSON.stringify({ output: serverLog(180, turn), metadata: { exit_code: 0 } }),
      };
    case 3:
      return {
        name: 'search',
        args: { query: `voucher ${turn}` },
        content: [
          { type: 'text', text: serverLog(160, turn) },
          { type: 'text', text: 'done' },
        ],
      };
    default:
      return { name: 'list', args: { path: '.' }, content: 'a.ts\nb.ts\n' };
  }
}

/**
 * What an agent has sent by its n-th turn: a new question of the user every ten turns, a call with a large result in
 * each, now and then the same call again.
 *
 * @returns for each turn how many of the messages its request holds
 */
export function agentConversation(turns: number): { messages: Message[]; ends: number[] } {
  const messages: Message[] = [{ role: 'system', content: 'You are a careful engineer with tools.' }];
  const ends: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    if (turn % 10 === 0) messages.push({ role: 'user', content: QUESTIONS[Math.floor(turn / 10) % QUESTIONS.length] });
    const { name, args, content } = result(turn % 17 === 16 ? turn - 5 : turn);
    messages.push(...toolTurn(`call_${turn}`, name, args, content, turn % 3 === 0 ? `I look at step ${turn}.` : null));
    ends.push(messages.length);
  }
  return { messages, ends };
}

/** The same messages with the mark of the cache on the last one only, as some clients move it along. */
export function withMovingMark(messages: readonly Message[]): Message[] {
  return messages.map((message, i) =>
    i === messages.length - 1 ? { ...message, cache_control: { type: 'ephemeral' } } : message,
  );
}

/** Messages without the marks that clients move about. */
export function withoutMarks(messages: readonly Message[]): Message[] {
  return messages.map(({ cache_control: _, ...message }) => message as Message);
}
