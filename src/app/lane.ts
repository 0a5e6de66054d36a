import { Heads } from '../proxy/lane/heads.ts';
import { Lane, type LaneOptions } from '../proxy/lane/lane.ts';
import { Ring } from '../proxy/lane/ring.ts';
import type { Reporter } from '../proxy/report/report.ts';
import type { WireOptions } from '../proxy/wire-handler.ts';
import type { Services } from './compose.ts';
import type { Guest } from './guest.ts';

type LaneParts = Pick<LaneOptions, 'rewriter' | 'received' | 'maxBodyBytes' | 'newRequestId' | 'begin' | 'heads'> & {
  readonly rewriter: WireOptions['rewriter'];
  readonly reporter: Reporter;
  readonly hasProjects: boolean;
};

/** The heads that the lane knows; forgotten when keys, budgets or settings of projects change. */
export function openHeads({ projectBook }: Services, opened: readonly Guest[]): Heads {
  const heads = new Heads();
  const forget = (): void => heads.clear();
  projectBook.onChanged(forget);
  for (const { access } of opened) access?.onChanged(forget);
  return heads;
}

/** Opens the lane, and the queue of all reports behind it. */
export function openLane(
  { seen, clock, behind, failures }: Services,
  { reporter, hasProjects, ...parts }: LaneParts,
): Lane {
  const { rewriter } = parts;
  const ring = new Ring({ reporter, rewriter, seen, clock, behind, hasProjects, onFailure: failures.of('reports') });
  reporter.fedBy(ring);
  for (const fed of [seen, behind]) fed.fedBy(() => ring.drain());
  return new Lane({ ...parts, ring, clock, onFailure: failures.of('forwarding') });
}
