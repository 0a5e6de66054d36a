import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { Refusal } from 'mcp-pruner/app/page/access.ts';
import {
  type Answer,
  answering,
  bodyOf,
  count,
  name,
  pruneId,
  queryOf,
  Refused,
  refuse,
  securityHeaders,
} from 'mcp-pruner/app/page/answers.ts';
import { z } from 'zod';
import { actions } from './actions.ts';
import { conversationPage, conversationsFrom, conversationsQuery } from './conversations.ts';
import { LiveFeed } from './live.ts';
import { requestsBefore, withCost } from './requests.ts';
import { pieceOfLine, textPart, whyOf } from './texts.ts';
import { timelineOf } from './timeline.ts';
import {
  contextsView,
  ledgerView,
  linesQuery,
  linesView,
  type PageParts,
  prunesFrom,
  span,
  storeView,
} from './views.ts';

interface Asset {
  readonly type: string;
  readonly body: Buffer;
  /** Changes with the content. */
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/** Possible locations of the built page, relative to `dist/parts` or the sources. */
const PLACES = ['../page', '../../../dist/page'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/**
 * Reads all files of the page at once, so that an upgrade on disk cannot mix two versions.
 *
 * @param folder - location of the files; default: the build output
 * @throws file system errors
 */
async function readAssets(folder: string = placeOf()): Promise<ReadonlyMap<string, Asset>> {
  const files = Object.entries(TYPES).map(async ([file, type]): Promise<[string, Asset]> => {
    const body = await readFile(join(folder, file));
    return [file, { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }];
  });
  return new Map(await Promise.all(files));
}

function placeOf(): string {
  const [first = ''] = PLACES;
  return PLACES.find((place) => existsSync(join(place, 'app.js'))) ?? first;
}

/** Action bodies are small; the largest is a list of segments. */
const MAX_BODY_BYTES = 64 * 1024;
const REQUESTS_OF_A_PAGE = 50;
const MOST_CHANGES = 100;
const MOST_COSTS = 100;
const requestsQuery = z.object({
  ...{ before: count.optional(), project: name.optional(), client: name.optional(), model: name.optional() },
  only: z.enum(['cut', 'fault']).optional(),
});

/** Readings of the page: paths below `/page/api/` with handlers. A new view is a row. */
const readings: Readonly<Record<string, (parts: PageParts) => Answer>> = {
  ledger: (parts) => async (req) => {
    const { days, project } = queryOf(req, z.object({ days: span, project: name.optional() }));
    await parts.flush();
    return ledgerView(parts, days, project);
  },
  lines: (parts) => (req) => linesView(parts, queryOf(req, linesQuery)),
  requests: (parts) => async (req) => {
    const { before, ...filters } = queryOf(req, requestsQuery);
    await parts.flush();
    const from = before ?? (await parts.store.records.lastSeq()) + 1;
    const page = await requestsBefore(parts.store, from, REQUESTS_OF_A_PAGE, filters);
    const costs = await parts.store.browse.costs(page.requests.map(({ requestId }) => requestId));
    const requests = page.requests.map((one) => withCost(one, costs.get(one.requestId)));
    return { ...page, requests, newest: from - 1 };
  },
  costs: (parts) => async (req) => {
    const { ids } = queryOf(req, z.object({ ids: z.string().max(10_000) }));
    return { costs: Object.fromEntries(await parts.store.browse.costs(ids.split(',').slice(0, MOST_COSTS))) };
  },
  conversations: (parts) => (req) => conversationsFrom(parts, queryOf(req, conversationsQuery)),
  facets: (parts) => async () => ({ ...(await parts.store.browse.facets()), titles: parts.keepsTitles }),
  timeline: (parts) => (req) => {
    const query = queryOf(req, z.object({ name, project: name.optional() }));
    return timelineOf(parts, query.name, query.project);
  },
  conversation: (parts) => (req) => {
    const schema = z.object({ name, project: name.optional(), ordinal: count.optional(), row: count.optional() });
    const { ordinal, row, ...query } = queryOf(req, schema);
    const before = ordinal === undefined || row === undefined ? undefined : { ordinal, row };
    const which = { name: query.name, project: query.project ?? null };
    return conversationPage(parts, which, before);
  },
  text: (parts) => (req) => {
    const query = queryOf(req, z.object({ id: pruneId, from: count.default(1), count: count.default(400) }));
    return textPart(parts, query.id, query.from, query.count);
  },
  line: (parts) => (req) => {
    const query = queryOf(req, z.object({ id: pruneId, n: count, at: count.default(0) }));
    return pieceOfLine(parts.store, query.id, query.n, query.at);
  },
  why: (parts) => (req) => whyOf(parts, queryOf(req, z.object({ id: pruneId })).id),
  store: (parts) => () => storeView(parts),
  prunes: (parts) => (req) => prunesFrom(parts, queryOf(req, z.object({ before: count.optional() })).before),
  recall: (parts) => (req) => {
    const schema = z.object({ query: z.string().max(2_000), project: name.optional(), limit: count.default(20) });
    const { query, project = parts.project, limit } = queryOf(req, schema);
    return parts.recall.search({ query, scope: 'project', limit, project, task: '' });
  },
  contexts: (parts) => (req) => {
    const { days, project } = queryOf(req, z.object({ days: span, project: name.optional() }));
    return contextsView(parts, days, project);
  },
  projects: (parts) => async (req) => {
    const { of } = queryOf(req, z.object({ of: name.optional() }));
    const { projectSettings } = parts.store;
    return {
      rows: of === undefined ? await projectSettings.current() : await projectSettings.history(of, MOST_CHANGES),
    };
  },
  settings: (parts) => () => ({ settings: parts.settings(), warnings: parts.warnings }),
};

/**
 * Serves the page: `/`, its files below `/page/`, and its API below `/page/api/`.
 *
 * @param folder - location of the built files; default: the build output
 */
export async function openPage(parts: PageParts, folder?: string): Promise<RequestListener> {
  const assets = await readAssets(folder);
  const { access } = parts;
  const app = express().disable('x-powered-by');
  app.use((_req, res, next) => {
    securityHeaders(res);
    next();
  });
  app.use(only((req) => access.foreign(req, req.path === '/')));
  app.get('/', (req, res) => sendAsset(assets.get('index.html'), req, res));
  app.get('/page/:file', (req, res, next) => {
    const asset = assets.get(req.params.file ?? '');
    if (asset === undefined || req.params.file === 'index.html') next();
    else sendAsset(asset, req, res);
  });
  app.use('/page/api', apiOf(parts));
  app.use((_req, res) => refuse(res, 'not_found', 'The page has nothing at this path.'));
  app.use(unreadable);
  return app;
}

function apiOf(parts: PageParts): Router {
  const { access, onFailure } = parts;
  const answer = (what: Answer): RequestHandler => answering(what, onFailure);
  const body = express.json({ limit: MAX_BODY_BYTES });
  const api = express.Router();
  const session = answer((req) => sessionOf(parts, req));
  api.get('/session', session);
  api.post('/session', body, answer(enter(parts)));
  api.use(only((req) => access.unknown(req)));
  for (const [path, reading] of Object.entries(readings)) api.get(`/${path}`, answer(reading(parts)));
  for (const [path, reading] of Object.entries(parts.partReadings))
    api.get(`/${path}`, answer(reading ?? (async () => ({ off: true }))));
  api.get('/live', answer(live(parts)));
  api.use(only((req) => (req.method === 'POST' ? access.unproven(req) : null)));
  api.post('/leave', (req, res) => {
    res.setHeader('Set-Cookie', access.leave(req));
    res.status(204).end();
  });
  for (const [path, action] of Object.entries(actions)) api.post(`/${path}`, body, answer(action(parts)));
  for (const [path, action] of Object.entries(parts.partActions)) api.post(`/${path}`, body, answer(action));
  return api;
}

function only(reason: (req: Request) => Refusal | null): RequestHandler {
  return (req, res, next) => {
    const refused = reason(req);
    if (refused === null) next();
    else refuse(res, refused);
  };
}

function enter({ access }: PageParts): Answer {
  return async (req, res) => {
    const { token } = bodyOf(req, z.strictObject({ token: z.string().max(1_000) }));
    const cookie = await access.enter(req, token);
    if (cookie === null)
      throw new Refused('unauthorized', access.takesKeys ? 'This key is not valid here.' : 'The token is wrong.');
    res.setHeader('Set-Cookie', cookie);
    return {};
  };
}

function live(parts: PageParts): Answer {
  const feed = new LiveFeed(parts);
  return async (req, res) => {
    if (feed.isFull) throw new Refused('shutting_down', 'Too many pages are open already, or the server is stopping.');
    const since = Number(req.headers['last-event-id'] ?? Number.NaN);
    const { from } = queryOf(req, z.object({ from: count.optional() }));
    await feed.stream(req, res, Number.isSafeInteger(since) ? since + 1 : (from ?? null));
    return {};
  };
}

/** Session facts visible to a caller. Without a sign-in, only whether a token or key is required. */
function sessionOf({ access, version, health, partReadings, clock, doctor }: PageParts, req: Request): object {
  if (access.unknown(req) !== null) return { known: false, asksForToken: true };
  return {
    known: true,
    asksForToken: access.asksForToken,
    pageToken: access.pageToken(req),
    version,
    nowMs: clock.nowMs(),
    health: health(),
    has: {
      views: Object.keys(partReadings).filter((path) => partReadings[path] !== null),
      doctor: doctor !== null,
    },
  };
}

function sendAsset(asset: Asset | undefined, req: Request, res: Response): void {
  if (asset === undefined) {
    refuse(res, 'not_found');
    return;
  }
  res.setHeader('Cache-Control', 'no-cache');
  res.setHeader('ETag', asset.etag);
  if (req.headers['if-none-match'] === asset.etag) {
    res.status(304).end();
    return;
  }
  res.setHeader('Content-Type', asset.type);
  res.setHeader('Content-Length', asset.body.length);
  res.end(req.method === 'HEAD' ? undefined : asset.body);
}

/** Answers bodies that are not JSON, or too large. */
const unreadable: ErrorRequestHandler = (cause: unknown, _req, res, next) => {
  const status = cause instanceof Error && 'status' in cause && typeof cause.status === 'number' ? cause.status : 500;
  if (status >= 500) next(cause);
  else refuse(res, status === 413 ? 'body_too_large' : 'invalid_request', 'The body cannot be read.', status);
};
