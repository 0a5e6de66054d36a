import type { FailureReporter } from '../base/failures.ts';
import { invalidParams, type JsonObject, RpcError, rpcCodes } from './json-rpc.ts';
import type { ResourceItem, Resources } from './resources/registry.ts';
import type { Method } from './server.ts';
import { Subscriptions } from './subscriptions.ts';
import { RESOURCES_FLAG } from './tools/resources-list.ts';

/** Maximum number of resources per answer, newest first. Others can be read by URI. */
const MAX_LISTED = 500;

const templates = [
  {
    uriTemplate: 'sc://runs/{runId}/events',
    name: 'run events',
    description: 'What the pruner did in one conversation, as events without any text.',
    mimeType: 'application/json',
  },
  {
    uriTemplate: 'sc://snapshots/{pruneId}',
    name: 'snapshot',
    description: 'The original text behind the prune_id of a marker, with what was cut and why.',
    mimeType: 'application/json',
  },
  {
    uriTemplate: 'sc://children/{childId}/logs',
    name: 'agent log',
    description: 'States and output of an agent that was started by mcp-pruner run or as a child.',
    mimeType: 'application/json',
  },
];

/** The protocol's resource methods, for clients that show resources to their user. */
export function resourceMethods(
  resources: Resources,
  stays: boolean,
  onFailure: FailureReporter,
): Readonly<Record<string, Method>> {
  const subscriptions = new Subscriptions(resources, onFailure);
  return {
    'resources/list': async () => ({ resources: (await resources.list('sc://', MAX_LISTED)).map(described) }),
    'resources/templates/list': () => ({ resourceTemplates: templates }),
    'resources/read': async (params) => {
      const uri = uriOf(params);
      const { payload } = await resources.read(uri);
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(payload) }] };
    },
    'resources/subscribe': async (params, { peer }) => {
      const uri = uriOf(params);
      if (!stays || peer === undefined) throw noSubscriptions();
      await subscriptions.add(peer, uri);
      return {};
    },
    'resources/unsubscribe': (params, { peer }) => {
      const uri = uriOf(params);
      if (!stays || peer === undefined) throw noSubscriptions();
      subscriptions.remove(peer, uri);
      return {};
    },
  };
}

/**
 * The capabilities for `initialize`. @param stays - whether connections persist and can receive update notifications
 */
export function resourceCapabilities(stays: boolean): JsonObject {
  return { resources: { subscribe: stays, listChanged: false } };
}

/** Methods while resources are disabled: an error that says how to enable them. Empty lists are in `server.ts`. */
export const withoutResources: Readonly<Record<string, Method>> = Object.fromEntries(
  ['resources/read', 'resources/subscribe', 'resources/unsubscribe'].map((name): [string, Method] => [
    name,
    () => {
      throw new RpcError(rpcCodes.methodNotFound, `Method not found: ${name}; start the server with ${RESOURCES_FLAG}`);
    },
  ]),
);

function noSubscriptions(): RpcError {
  const why = 'this connection ends with each answer; use resources_watch with wait_ms, or the server on stdio';
  return new RpcError(rpcCodes.methodNotFound, `No subscriptions here: ${why}`);
}

function uriOf({ uri }: JsonObject): string {
  if (typeof uri !== 'string' || uri === '')
    throw invalidParams({ field: 'uri', message: 'expected the URI of a resource' });
  return uri;
}

function described({ uri, kind, metadata }: ResourceItem): JsonObject {
  const name = `${kind} ${String(metadata.runId ?? metadata.pruneId ?? metadata.childId)}`;
  return { uri, name, mimeType: 'application/json', _meta: { 'mcp-pruner/kind': kind, ...prefixed(metadata) } };
}

/** Adds the required owner prefix to keys of `_meta`. */
function prefixed(metadata: ResourceItem['metadata']): JsonObject {
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`mcp-pruner/${key}`, value]));
}
