import type { ChildRecord } from '../../core/ports/fleet.ts';
import { type ChildrenOptions, MAX_RECORDS } from './options.ts';
import { hashToken } from './output.ts';
import { type ChildRecords, childEvent, meta } from './records.ts';
import { isActive } from './spec.ts';

/** A server that was not heard of for so long no longer looks after its children. */
const STALE_MS = 10_000;
const TOKEN_VARIABLE = 'MCP_PRUNER_CHILD_TOKEN';

/** Takes over children whose server is gone; those whose process is gone, too, are lost. @returns those that live */
export async function adoptOrphans(
  { store, clock, instanceId, processes }: ChildrenOptions,
  records: ChildRecords,
): Promise<readonly ChildRecord[]> {
  const open = await store.children.list({ open: true, limit: MAX_RECORDS });
  const orphans = open.filter((record) => record.instanceId !== instanceId);
  if (orphans.length === 0) return [];
  const alive = await store.children.aliveSince(Math.trunc(clock.nowMs()) - STALE_MS);
  const adopted: ChildRecord[] = [];
  for (const { childId, instanceId: owner } of orphans) {
    const ownerPid = alive.get(owner);
    if (ownerPid !== undefined && processes.startOf(ownerPid) !== null) continue;
    const record = await records.update(childId, (found, nowMs) => {
      if (found.instanceId !== owner || !isActive(found)) return null;
      const pid =
        found.pid ?? processes.findByEnvironment(TOKEN_VARIABLE, (token) => hashToken(token) === found.tokenHash);
      const start = pid === null ? null : processes.startOf(pid);
      const isSame = start !== null && (found.pid === null || start === found.processStart);
      if (!isSame) {
        const lost: ChildRecord = { ...found, instanceId, state: 'lost', endedMs: nowMs };
        return { record: lost, events: [childEvent('child_lost', lost, {}, 'warn')], logs: [meta('lost')] };
      }
      const next: ChildRecord = { ...found, instanceId, pid, processStart: start, state: 'running' };
      return { record: next, events: [childEvent('child_adopted', next, { pid })], logs: [meta('adopted')] };
    });
    if (record.instanceId === instanceId && record.state === 'running') adopted.push(record);
  }
  return adopted;
}
