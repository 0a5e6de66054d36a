import { ScrollArea, Table } from '@mcp-pruner/ui/parts/pieces.tsx';
import { useMemo } from 'preact/hooks';
import type { GraphShown } from '../page-shapes.ts';

const NODE = { width: 150, height: 38 } as const;
const GAP = { across: 56, down: 14 } as const;
const MAX_LABEL_CHARS = 20;

interface Placed {
  readonly id: string;
  readonly label: string;
  readonly state: string;
  readonly x: number;
  readonly y: number;
}

/** Draws a task graph with each node to the right of its predecessors, and the same data as a table below. */
export function Drawing({ graph }: { graph: GraphShown }) {
  const { nodes, edges, more } = graph;
  const placed = useMemo(() => layout(graph), [graph]);
  const at = new Map(placed.map((node) => [node.id, node]));
  const width = Math.max(0, ...placed.map(({ x }) => x + NODE.width)) + 2;
  const height = Math.max(0, ...placed.map(({ y }) => y + NODE.height)) + 2;
  return (
    <>
      <ScrollArea class="scroll drawing" label="Graph, drawn">
        <svg width={width} height={height} aria-hidden="true">
          {edges.map(({ from, to }) => {
            const [a, b] = [at.get(from), at.get(to)];
            return a && b ? <path key={`${from} ${to}`} class="edge" d={curve(a, b)} /> : null;
          })}
          {placed.map(({ id, label, state, x, y }) => (
            <g key={id} class={`node ${state}`}>
              <rect x={x + 1} y={y + 1} width={NODE.width} height={NODE.height} rx={8} />
              <text x={x + 12} y={y + (state === '' ? 24 : 17)}>
                {label.length > MAX_LABEL_CHARS ? `${label.slice(0, MAX_LABEL_CHARS - 1)}…` : label}
              </text>
              {state !== '' && (
                <text x={x + 12} y={y + 31} class="state-of">
                  {state}
                </text>
              )}
            </g>
          ))}
        </svg>
      </ScrollArea>
      {more > 0 && <p class="quiet small">and {more} further nodes</p>}
      <details class="as-table">
        <summary>The same as a table</summary>
        <Table label="Graph" heads={['Node', 'Attributes', 'Leads to']}>
          {nodes.map(({ id, label, attributes }) => (
            <tr key={id}>
              <th scope="row" class="breaks">
                {label}
              </th>
              <td class="breaks">
                {Object.entries(attributes)
                  .map(([key, value]) => `${key}: ${value}`)
                  .join(', ')}
              </td>
              <td class="breaks">
                {edges
                  .filter(({ from }) => from === id)
                  .map(({ to }) => to)
                  .join(', ')}
              </td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}

/** Assigns each node a column by the longest path to it. In a cycle, the column is limited by the number of nodes. */
function layout({ nodes, edges }: GraphShown): readonly Placed[] {
  const column = new Map(nodes.map(({ id }) => [id, 0]));
  for (let round = 0, moved = true; moved && round < nodes.length; round++) {
    moved = false;
    for (const { from, to } of edges) {
      const next = (column.get(from) ?? 0) + 1;
      if (next <= (column.get(to) ?? 0) || next >= nodes.length) continue;
      column.set(to, next);
      moved = true;
    }
  }
  const used = [...new Set(column.values())].sort((a, b) => a - b);
  const rows = new Map<number, number>();
  return nodes.map(({ id, label, attributes }) => {
    const x = used.indexOf(column.get(id) ?? 0);
    const y = rows.get(x) ?? 0;
    rows.set(x, y + 1);
    const state = typeof attributes.state === 'string' ? attributes.state : '';
    return { id, label, state, x: x * (NODE.width + GAP.across), y: y * (NODE.height + GAP.down) };
  });
}

function curve(a: Placed, b: Placed): string {
  const [x1, y1] = [a.x + NODE.width, a.y + NODE.height / 2];
  const [x2, y2] = [b.x, b.y + NODE.height / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
