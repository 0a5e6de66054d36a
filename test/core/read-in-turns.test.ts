import { describe, expect, it } from 'vitest';
import { run } from '../../src/base/work.ts';
import { advanceFor, Turns } from '../../src/core/decide/turns.ts';
import { ConversationNames } from '../../src/core/request/conversation-names.ts';
import { always, PRUNE } from '../../src/core/request/policy.ts';
import { AnsweredConversations } from '../../src/core/request/provider-verdicts.ts';
import { ReadStage } from '../../src/core/request/read.ts';
import { NO_DIRECTIVES } from '../../src/core/segments/apply-directives.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { chatBody, toolTurn } from '../helpers/chat.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

class CountedTurns extends Turns {
  pieces = 0;

  override run<T>(piece: () => T | Promise<T>): T | Promise<T> {
    this.pieces++;
    return super.run(piece);
  }
}

const find = {
  minPruneChars: 4_000,
  maxInputChars: 2_000_000,
  limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  neverPruneTool: () => false,
  neverPrunePath: () => false,
};

async function piecesOf(calls: number): Promise<{ pieces: number; found: number }> {
  const turns = new CountedTurns();
  const answers = new AnsweredConversations(undefined, () => {});
  const names = new ConversationNames(manualClock());
  const stage = new ReadStage({ find, counting: false, answers, names, turns });
  const log = serverLog(80);
  const body = chatBody(
    Array.from({ length: calls }, (_, i) => toolTurn(`call_${i}`, 'bash', { command: 'npm test' }, log)).flat(),
  );
  const state = { epoch: '', directives: NO_DIRECTIVES, now: 0, failure: null };
  const { read } = await run(stage.run({ body, dialect: openaiChat }, always(PRUNE), state, null));
  return { pieces: turns.pieces, found: read.found.length };
}

describe('a request of many large messages', () => {
  it('is read in many turns, so that other requests are served in between', async () => {
    const { pieces, found } = await piecesOf(1_500);
    expect(found).toBe(1_500);
    expect(pieces).toBeGreaterThan(5);
  });

  it('is read without extra turns if it is small', async () => {
    expect(await piecesOf(3)).toEqual({ pieces: 0, found: 3 });
  });
});

describe('work of many steps', () => {
  it('stops when its time is over, and continues at the same step', () => {
    function* counting(): Generator<void, number> {
      for (let i = 0; i < 3; i++) yield;
      return 3;
    }
    const work = counting();
    expect([advanceFor(work, 0), advanceFor(work, 0), advanceFor(work, 0), advanceFor(work, 0)]).toEqual([
      null,
      null,
      null,
      3,
    ]);
    expect(advanceFor(counting(), 1_000)).toBe(3);
  });
});
