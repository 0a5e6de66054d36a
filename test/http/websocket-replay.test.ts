import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type FakeSocketUpstream, startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { rebuild } from '../helpers/markers.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { openSocket } from '../helpers/socket-client.ts';

interface Recorded {
  readonly n: string;
  readonly connection: number;
  readonly frame: string;
  readonly events: string;
}

interface Item {
  readonly type: string;
  readonly call_id?: string;
  readonly output?: unknown;
}

function file(name: string): string {
  const bytes = readFileSync(new URL(`../fixtures/wires/codex-websocket/${name}`, import.meta.url));
  const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  // without a question, the file would stay whole
  return text.replaceAll('cmd: \\"cat', 'context_focus_question: \\"How is stock reserved?\\", cmd: \\"cat');
}

const { frames } = JSON.parse(file('index.json')) as { frames: readonly Recorded[] };
const eventsOf = ({ events }: Recorded): string[] => file(events).trimEnd().split('\n');

/** Sends what Codex sent, each frame once the one before is answered. @returns what the upstream got, by frame */
async function replay(proxy: TestProxy, upstream: FakeSocketUpstream): Promise<Map<string, string>> {
  const sent = new Map<string, string>();
  for (const connection of new Set(frames.map((frame) => frame.connection))) {
    const client = await openSocket(proxy.url);
    for (const recorded of frames.filter((frame) => frame.connection === connection)) {
      const events = eventsOf(recorded);
      upstream.onMessage = (socket, message) => {
        sent.set(recorded.n, message.toString());
        for (const event of events) socket.send(event);
      };
      client.messages.length = 0;
      client.socket.send(file(recorded.frame));
      expect((await client.received(events.length)).map(String)).toEqual(events);
    }
    client.socket.close(1000);
    await client.closed;
  }
  return sent;
}

function itemsOf(frame: string): readonly Item[] {
  return (JSON.parse(frame) as { input: readonly Item[] }).input;
}

/** The outputs of calls in frames, as JSON, by the id of their call. */
function outputsIn(all: readonly string[]): Map<string, string> {
  const outputs = all.flatMap(itemsOf).filter((item) => item.call_id !== undefined && item.output !== undefined);
  return new Map(outputs.map(({ call_id = '', output }) => [call_id, JSON.stringify(output)]));
}

describe('a recorded session of Codex over WebSocket', () => {
  it('is pruned with every byte accounted for, and its second connection repeats the bytes of the first', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    const sent = await replay(proxy, upstream);
    const came = new Map(frames.map((recorded) => [recorded.n, file(recorded.frame)]));
    let cut = 0;
    for (const [n, frame] of sent) {
      const raw = came.get(n) ?? '';
      if (frame === raw) continue;
      cut += raw.length - frame.length;
      const pruned = itemsOf(frame);
      for (const [i, item] of itemsOf(raw).entries()) {
        const other = pruned[i];
        if (JSON.stringify(item) === JSON.stringify(other)) continue;
        expect({ ...other, output: null }).toEqual({ ...item, output: null });
        expect(await rebuilt(other?.output, proxy)).toEqual(item.output);
      }
    }
    expect(cut).toBeGreaterThan(10_000);
    const first = frames.filter(({ connection }) => connection === 1).map(({ n }) => sent.get(n) ?? '');
    const second = frames.filter(({ connection }) => connection === 2).map(({ n }) => sent.get(n) ?? '');
    const before = outputsIn(first);
    const again = [...outputsIn(second)].filter(([id]) => before.has(id));
    expect(again.length).toBeGreaterThan(1);
    for (const [id, output] of again) expect(output).toBe(before.get(id));
    expect(await proxy.requestLines(frames.length)).toHaveLength(frames.length);
  });
});

/** An output with the lines back that were cut. */
async function rebuilt(output: unknown, proxy: TestProxy): Promise<unknown> {
  if (typeof output === 'string') return rebuild(output, proxy);
  if (!Array.isArray(output)) return output;
  const parts = output as readonly { readonly text?: string }[];
  return Promise.all(
    parts.map(async (part) => (part.text === undefined ? part : { ...part, text: await rebuild(part.text, proxy) })),
  );
}
