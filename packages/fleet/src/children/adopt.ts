import type { ChildRecord } from '../ports.ts';
import { serverStates } from '../servers.ts';
import { hashToken } from './output.ts';
import { type ChildRecords, childEvent, meta } from './records.ts';
import { type ChildrenOptions, isActive, MAX_RECORDS } from './spec.ts';

const TOKEN_VARIABLE = 'MCP_PRUNER_CHILD_TOKEN';

/**
 * Takes over children whose server has ended. A child is lost if its process has ended too, or if it runs on another
 * host, where no other server can monitor it.
 *
 * @returns the children that are still running
 */
export async function adoptOrphans(
  { store, clock, instanceId, processes }: ChildrenOptions,
  records: ChildRecords,
): Promise<readonly ChildRecord[]> {
  const open = await store.children.list({ open: true, limit: MAX_RECORDS });
  const orphans = open.filter((record) => record.instanceId !== instanceId);
  if (orphans.length === 0) return [];
  const isThere = (pid: number): boolean => processes.startOf(pid) !== null;
  const stateOf = await serverStates(store.children, instanceId, clock.nowMs(), isThere);
  const adopted: ChildRecord[] = [];
  for (const { childId, instanceId: owner } of orphans) {
    const { lives, isHere } = stateOf(owner);
    if (lives) continue;
    const record = await records.update(childId, (found, nowMs) => {
      if (found.instanceId !== owner || !isActive(found)) return null;
      const pid =
        found.pid ?? processes.findByEnvironment(TOKEN_VARIABLE, (token) => hashToken(token) === found.tokenHash);
      const start = pid === null || !isHere ? null : processes.startOf(pid);
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
