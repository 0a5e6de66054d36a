import type { RequestListener } from 'node:http';
import type { Services } from 'mcp-pruner/app/compose.ts';
import { type Guest, memberOf } from 'mcp-pruner/app/guest.ts';
import { SPENT_BY } from 'mcp-pruner/core/ports/spend.ts';
import { z } from 'zod';
import { adminRouter } from '../../admin/router.ts';
import type { AdminAnswer, AdminRoute } from '../../admin/routes.ts';
import { KeyDesk } from '../key-desk.ts';
import { issuedKey, keyChange, keyInput, shownKey } from '../key-input.ts';

const MAX_PAGE = 1_000;
const MAX_ISSUED = 1_000;
const DAY_MS = 86_400_000;

export function openAdmin(
  { store, events, clock, ledgerView, version, failures }: Services,
  opened: readonly Guest[],
): RequestListener {
  const keys = () => store.keys();
  const desk = new KeyDesk({ keys, clock, by: 'admin_api', record: async (added) => events.add(added) });
  const spend = async (query: z.infer<typeof spendQuery>) => {
    const since = query.since ?? new Date(clock.nowMs() - 29 * DAY_MS).toISOString().slice(0, 10);
    const of = { by: query.by, sinceDay: since, project: query.project };
    return { since, rows: await ledgerView.spend(await keys(), of) };
  };
  const limits = async () => (await memberOf(opened, 'limits')?.now()) ?? { accounts: [] };
  return adminRouter(
    [...keysRoutes(desk), ...oneKeyRoutes(desk), spendRoute(spend), limitsRoute(limits)],
    version,
    failures.of('admin'),
  );
}

const pageQuery = z.strictObject({
  after: z.string().optional().describe('The id of the last key of the previous page.'),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
});

const spendQuery = z.strictObject({
  by: z.enum(SPENT_BY).default('key'),
  since: z.iso.date().optional().describe('First day (UTC); default: 29 days ago, so that 30 days are covered.'),
  project: z.string().optional(),
});

const spendAnswer = z.object({
  since: z.string(),
  rows: z.array(
    z.looseObject({
      name: z.string(),
      requests: z.number(),
      dollars: z.number(),
      dollarsWithout: z.number(),
      saved: z.number(),
    }),
  ),
});

const issueBody = z.strictObject({ keys: z.array(keyInput).min(1).max(MAX_ISSUED) });

function keysRoutes(desk: KeyDesk): AdminRoute[] {
  return [
    {
      method: 'get',
      path: '/keys',
      summary: 'Lists keys in the order of their creation, a page at a time.',
      query: pageQuery,
      status: 200,
      answer: z.object({
        keys: z.array(shownKey),
        next: z.string().nullable().describe('For `after`; null at the end.'),
      }),
      async handle({ query }) {
        const { after, limit } = pageQuery.parse(query);
        const page = await desk.list(after, limit);
        return { status: 200, body: { keys: page, next: page.length < limit ? null : (page.at(-1)?.id ?? null) } };
      },
    },
    {
      method: 'post',
      path: '/keys',
      summary: 'Issues keys, all or none. The texts are in this answer and nowhere else.',
      body: issueBody,
      status: 201,
      answer: z.object({ keys: z.array(issuedKey) }),
      async handle({ body }) {
        const issued = await desk.issue(issueBody.parse(body).keys);
        return issued === null ? FULL : { status: 201, body: { keys: issued } };
      },
    },
  ];
}

function oneKeyRoutes(desk: KeyDesk): AdminRoute[] {
  return [
    {
      method: 'patch',
      path: '/keys/{id}',
      summary: 'Changes name, projects, limits or lifetime; absent fields stay unchanged.',
      body: keyChange,
      status: 200,
      answer: shownKey,
      async handle({ params: { id = '' }, body }) {
        const changed = await desk.change(id, keyChange.parse(body));
        return changed === null ? UNKNOWN : { status: 200, body: changed };
      },
    },
    {
      method: 'post',
      path: '/keys/{id}/rotate',
      summary: 'Gives a key a new text; the old one stops working within a second.',
      status: 200,
      answer: issuedKey,
      async handle({ params: { id = '' } }) {
        const key = await desk.rotate(id);
        return key === null ? UNKNOWN : { status: 200, body: key };
      },
    },
    {
      method: 'delete',
      path: '/keys/{id}',
      summary: 'Revokes a key within a second on every proxy.',
      status: 200,
      answer: z.object({ id: z.string(), revoked: z.literal(true) }),
      async handle({ params: { id = '' } }) {
        return (await desk.revoke(id)) !== null ? { status: 200, body: { id, revoked: true } } : UNKNOWN;
      },
    },
  ];
}

function spendRoute(spend: (query: z.infer<typeof spendQuery>) => Promise<unknown>): AdminRoute {
  return {
    method: 'get',
    path: '/spend',
    summary: 'Tokens, dollars and savings by key, project, model or day.',
    query: spendQuery,
    status: 200,
    answer: spendAnswer,
    handle: async ({ query }) => ({ status: 200, body: await spend(spendQuery.parse(query)) }),
  };
}

function limitsRoute(limits: () => Promise<object>): AdminRoute {
  return {
    method: 'get',
    path: '/limits',
    summary:
      'What subscriptions have left, and which sessions, projects and keys used it. Shares are ratios of a window.',
    status: 200,
    answer: z.object({
      accounts: z.array(
        z.looseObject({
          account: z.string().describe('A hash.'),
          provider: z.string(),
          windows: z.array(
            z.looseObject({ window: z.string(), used: z.number(), resetsAt: z.string(), elsewhere: z.number() }),
          ),
        }),
      ),
    }),
    handle: async () => ({ status: 200, body: await limits() }),
  };
}

const UNKNOWN: AdminAnswer = {
  refused: 'not_found',
  message: 'There is no such key, or it was revoked: GET /admin/v1/keys lists them.',
};
const FULL: AdminAnswer = {
  refused: 'conflict',
  message: 'The store has reached its maximum number of keys: revoke some; revoked keys are deleted after 90 days.',
};
