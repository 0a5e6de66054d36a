import { type Answer, bodyOf, name, queryOf } from 'mcp-pruner/app/page/answers.ts';
import type { Records } from 'mcp-pruner/core/ports/records.ts';
import { z } from 'zod';
import { FleetError } from '../errors.ts';
import type { Fleet } from '../fleet.ts';
import type { ChildRecord } from '../ports.ts';
import type { FleetStore } from '../tables/fleet-store.ts';
import type { BoardShown, ChildLogShown, ChildShown, FleetShown, GraphShown } from './page-shapes.ts';

const MOST_CHILDREN = 200;
const MOST_LISTED = 50;
const MOST_LOG_LINES = 500;
const MOST_NODES = 200;
const MOST_ENTRIES = 100;
const MAX_VALUE_CHARS = 2_000;

export function fleetReadings(fleet: Fleet, store: FleetStore, records: Records): Readonly<Record<string, Answer>> {
  return {
    fleet: () => fleetView(fleet, store),
    'fleet-graph': (req) => graphView(fleet, queryOf(req, z.object({ id: name })).id),
    'fleet-board': (req) => boardView(store, queryOf(req, z.object({ namespace: name })).namespace),
    'child-log': (req) => childLog(records, queryOf(req, z.object({ id: name })).id),
  };
}

export function fleetActions({ children, plans }: Fleet): Readonly<Record<string, Answer>> {
  const child = (req: Parameters<Answer>[0]) => bodyOf(req, z.strictObject({ child_id: name })).child_id;
  const byPerson = { why: 'cancelled on the page' };
  return {
    'plan-cancel': (req) => plans.cancelRun(bodyOf(req, z.strictObject({ run_id: name })).run_id, byPerson.why),
    ...(children !== null && {
      'child-cancel': (req) => children.cancel(child(req), undefined, byPerson),
      'child-kill': (req) => children.kill(child(req)),
    }),
  };
}

/** The latest version of a graph. @throws FleetError `E-GRAPH-NOT-FOUND` @throws StoreUnavailable */
async function graphView(fleet: Fleet, graphId: string): Promise<GraphShown> {
  const found = await fleet.graphs.payload(graphId, null);
  if (found === null) throw new FleetError('E-GRAPH-NOT-FOUND', { graph_id: graphId });
  const { nodes, edges } = found.graph;
  const drawn = nodes.slice(0, MOST_NODES);
  const ids = new Set(drawn.map(({ id }) => id));
  return {
    nodes: drawn.map(({ id, label, attributes }) => ({ id, label: label ?? id, attributes })),
    edges: edges
      .filter(({ from, to }) => ids.has(from) && ids.has(to))
      .map(({ from, to, label }) => ({ from, to, label: label ?? '' })),
    more: nodes.length - drawn.length,
  };
}

/** Entries of a namespace, newest first. @throws StoreUnavailable */
async function boardView({ board }: FleetStore, namespace: string): Promise<BoardShown> {
  const found = await board.query({ namespace, tags: [], before: null, limit: MOST_ENTRIES + 1 });
  return {
    entries: found.slice(0, MOST_ENTRIES).map(({ key, value, tags, version, updatedMs, expiresMs }) => ({
      ...{ key, tags, version, updatedMs, expiresMs },
      value: (JSON.stringify(value) ?? 'null').slice(0, MAX_VALUE_CHARS),
    })),
    more: found.length > MOST_ENTRIES,
  };
}

/** Children, graphs and namespaces of the fleet, newest first. @throws StoreUnavailable */
async function fleetView({ children: keeper, plans: running }: Fleet, fleet: FleetStore): Promise<FleetShown> {
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
    plans: plans.slice(0, MOST_LISTED).map(({ runId, mode, state, progress, startedMs }) => ({
      ...{ runId, mode, state, progress, startedMs },
      outline: running.outline(runId),
    })),
    endsChildren: keeper !== null,
  };
}

/** A child as shown on the page, without environment, folder and token. */
function childOf({ agent, command, usage, ...child }: ChildRecord): ChildShown {
  const { childId, state, role, createdMs, endedMs, stopReason, exitCode } = child;
  const { messages, tokensIn, tokensOut } = usage;
  const what = agent ?? command ?? '';
  return { childId, state, what, role, createdMs, endedMs, stopReason, exitCode, messages, tokensIn, tokensOut };
}

/** The last log lines of a child. @throws StoreUnavailable */
async function childLog(records: Records, childId: string): Promise<ChildLogShown> {
  const last = await records.lastSeqOfChild(childId);
  // sequence numbers are shared by all children, so older lines of this child may be missing, but no newer ones
  const entries = await records.childLogs({ childId, fromSeq: Math.max(0, last - 10_000), limit: 10_000 });
  return {
    lines: entries
      .slice(-MOST_LOG_LINES)
      .map(({ seq, tsMs, stream, message }) => ({ seq, atMs: tsMs, stream, text: message.slice(0, 2_000) })),
  };
}
