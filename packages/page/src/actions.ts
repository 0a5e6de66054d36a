import { type Answer, bodyOf, InvalidRequest, name, pruneId } from 'mcp-pruner/app/page/answers.ts';
import type { ContextActions, Outcome } from 'mcp-pruner/core/ports/context-gc.ts';
import { z } from 'zod';
import type { PageParts } from './views.ts';

const MOST_SEGMENTS = 500;

const segments = z.strictObject({
  project: name,
  segments: z.array(z.string().min(1).max(100)).min(1).max(MOST_SEGMENTS),
});
const deletion = segments.extend({ confirm: z.boolean() });
const line = z.int().min(1);
const range = z.strictObject({ prune_id: pruneId, start_line: line, end_line: line });

/** Actions of the page: paths below `/page/api/` with handlers. */
export const actions: Readonly<Record<string, (parts: PageParts) => Answer>> = {
  recover:
    ({ pruner }) =>
    async (req) => {
      const { prune_id, start_line, end_line } = bodyOf(req, range);
      const ranges = [{ startLine: start_line, endLine: end_line }];
      return { text: await pruner.recover({ pruneId: prune_id, ranges, numbered: false }) };
    },
  pin: onSegments((gc, project, ids) => gc.pin(project, ids, 'user')),
  unpin: onSegments((gc, project, ids) => gc.unpin(project, ids, 'user')),
  stash: onSegments((gc, project, ids) => gc.prune(project, ids, 'stash', 'user')),
  delete:
    ({ contextGc }) =>
    async (req) => {
      const { project, segments: ids, confirm } = bodyOf(req, deletion);
      if (!confirm) throw new InvalidRequest('confirm: a deletion cannot be undone and must be confirmed');
      return answerOf(await contextGc.prune(project, ids, 'delete', 'user'));
    },
  doctor:
    ({ doctor }) =>
    async () => ({ findings: doctor === null ? [] : await doctor() }),
};

function onSegments(action: (gc: ContextActions, project: string, ids: readonly string[]) => Promise<Outcome>) {
  return ({ contextGc }: PageParts): Answer =>
    async (req) => {
      const { project, segments: ids } = bodyOf(req, segments);
      return answerOf(await action(contextGc, project, ids));
    };
}

function answerOf({ done, errors, tokens }: Outcome): object {
  return { done, errors, tokens };
}
