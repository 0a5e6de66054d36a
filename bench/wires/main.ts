/**
 * The three wires beside each other, and long sessions over WebSocket. Needs a build:
 *   npm run build && node bench/run.mjs wires [--only conversation,websocket] [--rounds 5] [--turns 40] [--session 250,1000,3000]
 *
 * conversation: CPU time of the proxy for one conversation whose requests repeat it all, wire by wire in turn; a ratio to
 * chat for each round, and the median. websocket: resident memory after so many turns of one connection, whose requests
 * bring what is new alone. Exits with 1 when a wire costs more than 1.3 times as much as chat, or memory grows by more than
 * a tenth from one number of turns to the next.
 */
import { parseArgs } from 'node:util';
import { conversationCost } from './conversation.ts';
import { sessionMemory } from './session.ts';

const MOST_TIMES_CHAT = 1.3;
const MOST_GROWTH = 1.1;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'conversation,websocket' },
    rounds: { type: 'string', default: '5' },
    turns: { type: 'string', default: '40' },
    session: { type: 'string', default: '250,1000,3000' },
  },
});
const wanted = values.only.split(',');
let failed = false;
const say = (ok: boolean, words: string): void => {
  failed ||= !ok;
  process.stdout.write(`${ok ? 'ok    ' : 'MISSED'} ${words}\n`);
};

if (wanted.includes('conversation')) {
  for (const { wire, cpuMs, timesChat } of await conversationCost(Number(values.rounds), Number(values.turns))) {
    say(timesChat <= MOST_TIMES_CHAT, `${wire}: ${cpuMs.toFixed(0)} ms of CPU, ${timesChat.toFixed(2)} x chat`);
  }
}
if (wanted.includes('websocket')) {
  const stops = values.session.split(',').map(Number);
  let before = Number.POSITIVE_INFINITY;
  for await (const { turns, mib } of sessionMemory(stops)) {
    say(mib <= before * MOST_GROWTH, `websocket, ${turns} turns: ${mib.toFixed(0)} MiB`);
    before = mib;
  }
}
process.exitCode = failed ? 1 : 0;
