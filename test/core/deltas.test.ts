import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestPipeline } from '../../src/core/request/pipeline.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { openPipeline, openStore, type RewriterParts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

type Item = Readonly<Record<string, unknown>>;

/** One answer of the model: what it said before its calls, and the calls. */
interface Turn {
  readonly said: string;
  readonly commands: readonly string[];
  readonly outputs: readonly string[];
  /** Whether the client reports each result before the next call. */
  readonly interleaved: boolean;
}

const ASKED = 'Why does the checkout fail for some customers? Find the failing payment and its gateway.';

/** An answer's items as the provider streams them. */
function answerOf({ said, commands }: Turn, n: number): Item[] {
  const message = { id: `msg_${n}`, type: 'message', status: 'completed', content: [part(said)], role: 'assistant' };
  const calls = commands.map((command, i) => ({
    id: `fc_${n}_${i}`,
    type: 'function_call',
    status: 'completed',
    arguments: JSON.stringify({ cmd: command }),
    call_id: `call_${n}_${i}`,
    name: 'exec_command',
  }));
  return [{ id: `rs_${n}`, type: 'reasoning', summary: [] }, ...(said === '' ? [] : [message]), ...calls];
}

function part(text: string): Item {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

/** The same items as Codex sends them back: other keys, another order of keys, nothing for what it does not keep. */
function respelled(item: Item, metadata: boolean): Item {
  if (item.type === 'reasoning') return { type: 'reasoning', summary: [], content: null, encrypted_content: 'gAAA' };
  if (item.type === 'message') {
    const [{ text = '' } = {}] = item.content as { text?: string }[];
    const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
    return metadata ? { ...message, phase: 'commentary' } : message;
  }
  const { name, arguments: args, call_id } = item;
  return { type: 'function_call', name, arguments: args, call_id, ...(metadata && { metadata: { turn: 1 } }) };
}

function resultsOf({ outputs }: Turn, n: number): Item[] {
  return outputs.map((output, i) => ({ type: 'function_call_output', call_id: `call_${n}_${i}`, output }));
}

/** What the model thinks it said, as a client that kept it sends it. */
function historyOf(turns: readonly Turn[], metadata: boolean): Item[] {
  return turns.flatMap((turn, n) => {
    const answer = answerOf(turn, n).map((item) => respelled(item, metadata));
    const results = resultsOf(turn, n);
    if (!turn.interleaved) return [...answer, ...results];
    const first = answer.length - results.length;
    return [...answer.slice(0, first), ...results.flatMap((result, i) => [answer[first + i] ?? {}, result])];
  });
}

const QUESTION: Item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: ASKED }] };

class Client {
  readonly #turns: readonly Turn[];
  readonly #metadata: boolean;
  /** What was forwarded of each result, by its call. */
  readonly forwarded = new Map<string, string>();

  constructor(turns: readonly Turn[], metadata = false) {
    this.#turns = turns;
    this.#metadata = metadata;
  }

  /** Sends the results of turn `n - 1`, or the question, alone or with all before; then the model answers. */
  async send(pipeline: RequestPipeline, n: number, how: 'delta' | 'whole', answered = true): Promise<void> {
    const before = this.#turns[n - 1];
    const delta = how === 'delta' && before !== undefined;
    const input = delta ? resultsOf(before, n - 1) : [QUESTION, ...historyOf(this.#turns.slice(0, n), this.#metadata)];
    const body = { model: 'gpt-test', ...(delta && { previous_response_id: `resp_${n - 1}` }), input };
    const rewritten = await pipeline.rewrite({ body: Buffer.from(JSON.stringify(body)), dialect: openaiResponses });
    this.#compare(rewritten.body);
    const turn = this.#turns[n];
    if (!answered || turn === undefined) return;
    const reader = new AnswerReader();
    const events = [
      ...answerOf(turn, n).map((item) => ({ type: 'response.output_item.done', item })),
      { type: 'response.completed', response: { id: `resp_${n}`, output: n % 2 === 0 ? [] : answerOf(turn, n) } },
    ];
    reader.data(Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')));
    await pipeline.answered('default', rewritten, reader.end().turn);
    pipeline.accepted(rewritten);
    await pipeline.flush();
  }

  #compare(body: Buffer): void {
    const { input } = JSON.parse(body.toString('utf8')) as { input: readonly Item[] };
    for (const { type, call_id, output } of input) {
      if (type !== 'function_call_output') continue;
      const id = String(call_id);
      const first = this.forwarded.get(id) ?? String(output);
      expect({ id, output }).toEqual({ id, output: first });
      this.forwarded.set(id, first);
    }
  }
}

function turnOf(n: number, parts: Partial<Turn> = {}): Turn {
  return { said: '', commands: [`cat logs/${n}.log`], outputs: [serverLog(150, n + 1)], interleaved: false, ...parts };
}

describe('a conversation in deltas that is sent whole after its connection broke', () => {
  it('repeats each result as it was first forwarded, even after an answer that contains words', async () => {
    const turns = [turnOf(0, { said: 'Step 0: the logs next.' }), ...[1, 2, 3].map((n) => turnOf(n))];
    const pipeline = openPipeline();
    const client = new Client(turns, true);
    for (let n = 0; n < 4; n++) await client.send(pipeline, n, 'delta');
    expect([...client.forwarded.values()].every((output) => output.includes('⟦PRUNÉ'))).toBe(true);
    await client.send(pipeline, 4, 'whole');
    expect(client.forwarded.size).toBe(4);
  });

  it('gets the same decisions as a conversation that was always sent whole', async () => {
    const turns = [turnOf(0, { said: 'Look for voucher_refund_7 in the payments.' }), turnOf(1)];
    const clients = { delta: new Client(turns), whole: new Client(turns) };
    for (const how of ['delta', 'whole'] as const) {
      const pipeline = openPipeline();
      for (const n of [0, 1]) await clients[how].send(pipeline, n, how);
    }
    expect([...clients.delta.forwarded]).toEqual([...clients.whole.forwarded]);
  });

  it('repeats sent results even if the settings have changed, also in another process on the same store', async () => {
    const path = join(tempFolder(), 'store.db');
    const turns = [0, 1].map((n) => turnOf(n, { said: n === 0 ? 'The logs.' : '' }));
    const client = new Client(turns);
    const first = openPipeline({ store: openStore(path) });
    for (const n of [0, 1, 2]) await client.send(first, n, 'delta', n < 2);
    const changed = { limits: { maxPruneRatio: 0.3, minKeepLines: 5 } };
    await client.send(openPipeline({ store: openStore(path), ...changed }), 2, 'whole');
    expect([...client.forwarded.values()].every((output) => output.includes('⟦PRUNÉ'))).toBe(true);
  });

  it('is left unpruned if the provider refused one of its deltas', async () => {
    const turns = [turnOf(0)];
    const store = openStore();
    const refused = new RefusedConversations(store);
    const pipeline = openPipeline({ store, refused });
    const client = new Client(turns);
    await client.send(pipeline, 0, 'delta');
    const delta = { model: 'gpt-test', previous_response_id: 'resp_0', input: resultsOf(turns[0] ?? turnOf(0), 0) };
    const request = { body: Buffer.from(JSON.stringify(delta)), dialect: openaiResponses };
    const cut = await pipeline.rewrite(request);
    expect(cut.body).not.toBe(request.body);
    await refused.add(cut.refusalKeys);
    const whole = Buffer.from(JSON.stringify({ model: 'gpt-test', input: [QUESTION, ...historyOf(turns, true)] }));
    const rewritten = await pipeline.rewrite({ body: whole, dialect: openaiResponses });
    expect([rewritten.refusedBefore, rewritten.body]).toEqual([true, whole]);
  });

  it('keeps apart results of calls that share an id', async () => {
    const same = serverLog(150, 1);
    const item = (output: string): Item => ({ type: 'function_call_output', call_id: 'call', output });
    const call = { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"cat a.log"}', call_id: 'call' };
    const pipeline = openPipeline();
    const send = async (...items: Item[]) => {
      const body = Buffer.from(JSON.stringify({ model: 'm', input: [QUESTION, ...items] }));
      const rewritten = await pipeline.rewrite({ body, dialect: openaiResponses });
      return rewritten.outcomes.map(({ pruneId, whole }) => (pruneId === null ? whole : 'cut'));
    };
    await send(call, item(same));
    expect(await send(call, item(same), call, item(same))).toEqual(['cut', 'reread']);
  });
});

describe('random conversations', () => {
  const said = fc.constantFrom('', 'Step: the logs next.', 'Look for the “voucher” of customer 12.', 'é\n');
  const turn = fc.record({
    said,
    count: fc.integer({ min: 1, max: 2 }),
    file: fc.integer({ min: 0, max: 3 }),
    interleaved: fc.boolean(),
  });
  const step = fc.record({
    how: fc.constantFrom('delta', 'delta', 'whole'),
    lost: fc.boolean(),
    restart: fc.boolean(),
    parts: fc.constantFrom<RewriterParts>({}, {}, { limits: { maxPruneRatio: 0.4, minKeepLines: 5 } }),
  });

  it('forward each result as it was first forwarded: in deltas, after drops, whole, with other settings', async () => {
    const conversation = fc.record({
      turns: fc.array(turn, { minLength: 2, maxLength: 6 }),
      steps: fc.array(step, { minLength: 7, maxLength: 7 }),
      metadata: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(conversation, async ({ turns: shapes, steps, metadata }) => {
        const turns = shapes.map(({ said: words, count, file, interleaved }): Turn => {
          const ids = Array.from({ length: count }, (_, i) => file + i);
          const commands = ids.map((id) => `cat logs/${id}.log`);
          return { said: words, commands, outputs: ids.map((id) => serverLog(90, id + 1)), interleaved };
        });
        const store = openStore();
        const client = new Client(turns, metadata);
        let pipeline = openPipeline({ store });
        let known = true;
        for (let n = 0; n <= turns.length; n++) {
          const { how, lost, restart, parts } = steps[n] ?? {
            how: 'whole' as const,
            lost: false,
            restart: true,
            parts: {},
          };
          // a process that was restarted has not kept the answer here: its client sends all of it
          if (restart) pipeline = openPipeline({ store, ...parts });
          const kind = known && !restart ? (how as 'delta' | 'whole') : 'whole';
          await client.send(pipeline, n, kind, !lost);
          if (lost) await client.send(pipeline, n, 'whole');
          known = true;
        }
      }),
      { numRuns: 25 },
    );
  });
});
