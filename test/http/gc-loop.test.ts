import { describe, expect, it } from 'vitest';
import { parseMarker } from '../../src/engine/marker.ts';
import { Agent, skeleton } from '../gc/agent.ts';
import { contentAt, messageBytes, messagesOf } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const LOG = serverLog(300);
const SOURCE = sourceFile(30);

async function setUp(env: Record<string, string> = {}) {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, { env });
  return { upstream, proxy, agent: new Agent(proxy, upstream) };
}

describe('an agent that collects the garbage of its context', () => {
  it('finds what can go, stashes it, sees the marker, and has it back', async () => {
    const { proxy, agent } = await setUp();
    const read = agent.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    agent.tool('edit_file', { path: 'src/orders.ts', old: 'a', new: 'b' }, 'The file was changed.');
    const log = agent.tool('bash', { command: 'npm start' }, LOG);
    agent.chatter();
    const before = await agent.send();
    expect(contentAt(before, log)).toContain('⟦PRUNÉ');

    const analysis = await agent.analyze({ target_tokens: 500 });
    expect(analysis.total_candidates).toBe(analysis.pruning_candidates.length);
    const [first] = analysis.pruning_candidates;
    expect(first?.reason).toContain('src/orders.ts');
    expect(first?.reason).toContain('edited later');
    expect(first?.segment_type).toBe('code');
    expect(analysis.pruning_plan?.segments).toEqual([first]);
    expect(messageBytes(await agent.send())).toEqual(messageBytes(before)); // analysing changed nothing

    const id = first?.segment_id ?? '';
    const pruned = await agent.prune([id]);
    expect(pruned).toEqual({ pruned_segments: [id], tokens_freed: first?.tokens, action: 'stashed', errors: [] });

    const after = await agent.send();
    const marker = parseMarker(contentAt(after, read).trimEnd());
    expect(marker).toMatchObject({ startLine: 1, reason: 'mis de côté' });
    expect(skeleton(after)).toEqual(skeleton(before));
    const others = (body: Buffer) => messagesOf(body).filter((_, i) => i !== read);
    expect(others(after)).toEqual(others(before));
    const recovered = await proxy.recover(marker?.pruneId ?? '', 1, marker?.endLine ?? 0);
    expect(recovered).toBe(SOURCE.replace(/\n$/, ''));
    expect((await agent.analyze()).pruning_candidates.map(({ segment_id }) => segment_id)).not.toContain(id);

    agent.chatter(1);
    const next = await agent.send();
    expect(next.subarray(0, messageBytes(after).length)).toEqual(messageBytes(after));

    expect(await agent.pin([id])).toEqual({ pinned_segments: [id], errors: [] });
    expect(await agent.sendAndSee(read)).toBe(SOURCE);
    expect((await agent.prune([id])).errors).toEqual([expect.stringContaining('pinned')]);
    expect(await agent.unpin([id])).toEqual({ unpinned_segments: [id], errors: [] });
    expect(contentAt(await agent.send(), read)).toBe(contentAt(before, read));
  });
});
