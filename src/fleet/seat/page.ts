import { z } from 'zod';
import type { Records } from '../../core/ports/records.ts';
import type { Answer } from '../../page/answers.ts';
import { name, queryOf } from '../../page/asked.ts';
import type { ChildRecord, FleetStore } from '../ports.ts';
import type { ChildLogShown, ChildShown, FleetShown } from './page-shapes.ts';

const MOST_CHILDREN = 200;
const MOST_LISTED = 50;
const MOST_LOG_LINES = 500;

/** What the page asks of the fleet. */
export function fleetReadings(fleet: FleetStore, records: Records): Readonly<Record<string, Answer>> {
  return {
    fleet: () => fleetView(fleet),
    'child-log': (req) => childLog(records, queryOf(req, z.object({ id: name })).id),
  };
}

/** Children, graphs and namespaces of the fleet, the newest first. @throws StoreUnavailable */
async function fleetView(fleet: FleetStore): Promise<FleetShown> {
  const all = { prefix: '', limit: MOST_LISTED };
  const [children, graphs, namespaces, plans] = await Promise.all([
    fleet.children.list({ limit: MOST_CHILDREN }),
    fleet.graphs.heads(all),
    fleet.board.namespaces(all),
    fleet.plans.open(),
  ]);
  return {
    children: children.map(childOf),
    graphs,
    namespaces,
    plans: plans
      .slice(0, MOST_LISTED)
      .map(({ runId, mode, state, progress, startedMs }) => ({ runId, mode, state, progress, startedMs })),
  };
}

/** Without its environment, its folder and its token. */
function childOf({
  childId,
  state,
  agent,
  command,
  role,
  createdMs,
  endedMs,
  stopReason,
  exitCode,
  usage,
}: ChildRecord): ChildShown {
  const { messages, tokensIn, tokensOut } = usage;
  const what = agent ?? command ?? '';
  return { childId, state, what, role, createdMs, endedMs, stopReason, exitCode, messages, tokensIn, tokensOut };
}

/** The last lines of a child. @throws StoreUnavailable */
async function childLog(records: Records, childId: string): Promise<ChildLogShown> {
  const last = await records.lastSeqOfChild(childId);
  // numbers are shared by all children: further back there may be more of this one, but these are the last for certain
  const entries = await records.childLogs({ childId, fromSeq: Math.max(0, last - 10_000), limit: 10_000 });
  return {
    lines: entries
      .slice(-MOST_LOG_LINES)
      .map(({ seq, tsMs, stream, message }) => ({ seq, atMs: tsMs, stream, text: message.slice(0, 2_000) })),
  };
}
