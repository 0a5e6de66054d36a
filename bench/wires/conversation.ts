import { Pool } from 'undici';
import { end, startServer, startUpstream } from '../soak/stage.ts';
import { median } from '../speed/load.ts';
import { conversation } from '../speed/payloads.ts';
import { cpuMs } from '../speed/stacks.ts';

const WIRES = {
  chat: { path: '/v1/chat/completions', bodyOf: (messages: readonly Message[]) => ({ messages }) },
  messages: { path: '/v1/messages', bodyOf: asMessages },
  responses: { path: '/v1/responses', bodyOf: asResponses },
} as const;

type Wire = keyof typeof WIRES;
const NAMES: readonly Wire[] = ['chat', 'messages', 'responses'];

/** As `conversation` writes them. */
interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** What one conversation costs on a wire. */
export interface WireCost {
  readonly wire: Wire;
  /** CPU time of the proxy, in milliseconds; the median of all rounds. */
  readonly cpuMs: number;
  /** Ratio to chat, round by round; the median. */
  readonly timesChat: number;
}

/** The same conversations on each wire, in turn, through one proxy. */
export async function conversationCost(rounds: number, turns: number): Promise<WireCost[]> {
  const upstream = await startUpstream((_body, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  });
  const server = await startServer({
    MCP_PRUNER_UPSTREAM_URL: upstream.url,
    MCP_PRUNER_ANTHROPIC_URL: upstream.url,
    MCP_PRUNER_DB_PATH: ':memory:',
    MCP_PRUNER_LOG_LEVEL: 'info',
  });
  const pid = server.child.pid ?? 0;
  const pool = new Pool(server.url, { connections: 1 });
  const serve = async (wire: Wire, seed: number): Promise<number> => {
    const { path, bodyOf } = WIRES[wire];
    const bodies = conversation(turns, seed).map((body) => {
      const { messages } = JSON.parse(body.toString('utf8')) as { messages: Message[] };
      return Buffer.from(JSON.stringify({ model: 'bench', ...bodyOf(messages) }));
    });
    const before = cpuMs(pid);
    for (const body of bodies) {
      const answer = await pool.request({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`${wire} was answered with ${answer.statusCode}`);
    }
    return cpuMs(pid) - before;
  };
  const costs = new Map<Wire, number[]>(NAMES.map((wire) => [wire, []]));
  try {
    // compiled by what comes first
    for (const wire of [...NAMES, ...NAMES]) await serve(wire, 900 + NAMES.indexOf(wire));
    for (let round = 0; round < rounds; round++) {
      for (const wire of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
        costs.get(wire)?.push(await serve(wire, round * 10 + NAMES.indexOf(wire)));
      }
    }
  } finally {
    await pool.close();
    await end(server, 'SIGTERM');
    upstream.close();
  }
  const chat = costs.get('chat') ?? [];
  return NAMES.map((wire) => {
    const own = costs.get(wire) ?? [];
    return { wire, cpuMs: median(own), timesChat: median(own.map((ms, i) => ms / (chat[i] ?? 1))) };
  });
}

/** An answer that clients of all three wires would read. */
const ANSWER = JSON.stringify({
  id: 'answer_1',
  object: 'response',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'text', text: 'Done.' }],
  output: [],
  choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
  usage: { input_tokens: 9, output_tokens: 1, prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
});

function asMessages(messages: readonly Message[]): object {
  const [first, ...others] = messages;
  return {
    system: first?.content,
    max_tokens: 1_000,
    messages: others.map(({ role, content, tool_calls, tool_call_id }) => {
      if (role === 'tool')
        return { role: 'user', content: [{ type: 'tool_result', tool_use_id: tool_call_id, content }] };
      if (!tool_calls) return { role, content };
      const calls = tool_calls.map(({ id, function: { name, arguments: args } }) => ({
        type: 'tool_use',
        id,
        name,
        input: JSON.parse(args) as unknown,
      }));
      return { role, content: calls };
    }),
  };
}

function asResponses(messages: readonly Message[]): object {
  return {
    store: false,
    input: messages.flatMap(({ role, content, tool_calls, tool_call_id }): object[] => {
      if (role === 'tool') return [{ type: 'function_call_output', call_id: tool_call_id, output: content }];
      if (!tool_calls) return [{ type: 'message', role, content }];
      return tool_calls.map(({ id, function: { name, arguments: args } }) => ({
        type: 'function_call',
        call_id: id,
        name,
        arguments: args,
      }));
    }),
  };
}
