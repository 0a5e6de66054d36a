import type { Recording } from '../recordings/conversation.ts';
import { agentFacts } from './agents.ts';
import type { Forwarder } from './forward.ts';
import { messagesBill } from './messages-bill.ts';
import { type Needs, needsOf, Sent } from './needs.ts';
import { cutAtRandom } from './random.ts';
import { charsPerToken, type RealBill, realBillOf } from './real-bill.ts';
import { recoveriesOf, recoveryCost } from './recoveries.ts';
import { SentTexts } from './sent-texts.ts';
import { keptOf, type Sums } from './sums.ts';

/** What was measured of one conversation. */
export interface Measured {
  readonly recording: Recording;
  readonly needs: Needs;
  readonly texts: SentTexts;
  readonly sent: Sent;
  readonly bill: RealBill;
  readonly sums: Sums;
}

/** Sends a recording through the proxy and measures what that saves and what it loses. */
export async function measure(recording: Recording, forwarder: Forwarder): Promise<Measured> {
  const { messages, name, agent, times } = recording;
  const needs = needsOf(messages);
  const perToken = charsPerToken(recording, agentFacts(agent).perToken);
  const texts = await forwarder.forward(recording, needs, perToken);
  const sent = new Sent(texts);
  const bill = realBillOf(recording, texts, perToken);
  const recoveries = recoveriesOf(needs, sent);
  const sums: Sums = {
    sessions: 1,
    untimed: times === undefined ? 1 : 0,
    requests: bill.requests,
    messagesBefore: messagesBill(recording, new SentTexts(messages)),
    messagesAfter: messagesBill(recording, texts),
    billBefore: bill.before,
    billAfter: bill.after,
    steps: texts.changes,
    recoveries: recoveries.length,
    recoveryCost: recoveryCost(recoveries, bill),
    used: {
      lines: needs.lines.length,
      edits: needs.edits.length,
      written: needs.written.length,
      literals: needs.literals.length,
      findings: needs.findings.length,
      answers: needs.answers.length,
      later: needs.later.length,
    },
    kept: keptOf(needs, sent),
    random: keptOf(needs, new Sent(cutAtRandom(name, texts))),
    peakBefore: bill.peakBefore,
    peakAfter: bill.peakAfter,
    compactionsBefore: [...bill.compactionsBefore],
    compactionsAfter: [...bill.compactionsAfter],
  };
  return { recording, needs, texts, sent, bill, sums };
}
