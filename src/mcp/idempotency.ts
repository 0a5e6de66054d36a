import { createHash } from 'node:crypto';
import type { FailureReporter } from '../base/failures.ts';
import type { Records, Reply } from '../core/ports/records.ts';
import type { Clock, EventSink, Store } from '../core/ports.ts';
import { PrunerError, reasonOf } from '../errors/errors.ts';
import { invalidParams, isObject, type JsonObject } from './json-rpc.ts';
import type { Tool, ToolContext } from './tool.ts';

/** How long the answer to a call with an `idempotency_key` is replayed. */
export const IDEMPOTENCY_TTL_MS = 86_400_000;

export const IDEMPOTENCY_FLAG = '--enable-idempotency';
const MAX_KEY_CHARS = 256;
/** How long a key stays claimed after the claiming process was killed. */
const CLAIM_MS = 6_000;
const HOLD_EACH_MS = 2_000;
/** Interval of polling for another process's answer. */
const LOOK_EACH_MS = 50;

interface IdempotencyOptions {
  readonly records: Records;
  readonly store: Pick<Store, 'knownPruneIds'>;
  readonly clock: Clock;
  /** How long an answer can be replayed. */
  readonly ttlMs: number;
  readonly events: EventSink;
  readonly onReplayed: (tool: string) => void;
  /** Called on a store failure; the call then runs without idempotency. */
  readonly onFailure: FailureReporter;
}

interface Running {
  readonly argsHash: string;
  readonly answer: Promise<Answered>;
}

interface Answered {
  readonly text: string;
  readonly replayed: boolean;
}

interface Call {
  readonly tool: Tool;
  readonly key: string;
  readonly argsHash: string;
  readonly args: unknown;
  readonly context: ToolContext;
}

/**
 * Adds an `idempotency_key` to tools: a repeated call with the same key and arguments gets the first call's answer,
 * even if that call is still running, or ran in another process or before a restart. Failed calls are not stored.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  readonly #running = new Map<string, Running>();

  constructor(options: IdempotencyOptions) {
    this.#options = options;
  }

  /** Wraps a tool: adds the optional argument, and `idempotent` and `idempotency_key` to every answer. */
  wrap(tool: Tool): Tool {
    return {
      ...tool,
      inputSchema: withKey(tool.inputSchema),
      call: async (args, context) => {
        const { key, rest } = splitKey(args);
        if (key === null) return marked(await tool.call(rest, context), null, false);
        const call: Call = { tool, key, argsHash: hashOf(rest), args: rest, context };
        for (;;) {
          const done = await this.#once(call);
          if (done !== null) return marked(done.text, key, done.replayed);
        }
      },
    };
  }

  /** Returns `null` if the awaited call failed; the caller then runs the call itself. */
  async #once(call: Call): Promise<Answered | null> {
    const { tool, key, argsHash, context } = call;
    const name = `${tool.name}\0${key}`;
    const running = this.#running.get(name);
    if (running) {
      if (running.argsHash !== argsHash) throw conflict(tool.name);
      const done = await running.answer.catch(() => null); // errors are handled by the caller that started the call
      context.signal.throwIfAborted();
      if (done === null) return null;
      this.#logReplay(tool.name, argsHash);
      return { text: done.text, replayed: true };
    }
    const answer = this.#answer(call);
    this.#running.set(name, { argsHash, answer });
    try {
      return await answer;
    } finally {
      this.#running.delete(name);
    }
  }

  async #answer({ tool, key, argsHash, args, context }: Call): Promise<Answered> {
    const { records, ttlMs, onFailure } = this.#options;
    const taken = await this.#claim(tool.name, key, argsHash, context.signal);
    if (taken === undefined) return { text: await tool.call(args, context), replayed: false };
    if (taken && taken.argsHash !== argsHash) throw conflict(tool.name);
    if (taken && taken.text !== null) {
      if (await this.#holds(taken.text)) {
        this.#logReplay(tool.name, argsHash);
        return { text: taken.text, replayed: true };
      }
      await records.dropReply(tool.name, key, true).catch((cause: unknown) => onFailure(reasonOf(cause), cause));
    }
    const holding = setInterval(() => {
      records.holdReply(tool.name, key, CLAIM_MS).catch((cause: unknown) => onFailure(reasonOf(cause), cause));
    }, HOLD_EACH_MS);
    try {
      const text = await tool.call(args, context);
      const kept = await records.keepReply(tool.name, key, argsHash, text, ttlMs).catch((cause: unknown) => {
        onFailure(reasonOf(cause), cause);
        return text;
      });
      return { text: kept, replayed: false };
    } catch (cause) {
      await records.dropReply(tool.name, key, false).catch((cause: unknown) => onFailure(reasonOf(cause), cause));
      throw cause;
    } finally {
      clearInterval(holding);
    }
  }

  /**
   * Claims a key, or waits until the process that claimed it has answered, failed or ended.
   *
   * @returns `null` if this call now holds the claim, `undefined` if the store fails
   */
  async #claim(tool: string, key: string, argsHash: string, signal: AbortSignal): Promise<Reply | null | undefined> {
    const { records, onFailure } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const taken = await records.claimReply(tool, key, argsHash, CLAIM_MS).catch((cause: unknown) => {
        onFailure(reasonOf(cause), cause);
        return undefined;
      });
      if (!taken || taken.text !== null || taken.argsHash !== argsHash) return taken;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EACH_MS));
    }
  }

  /** Whether all originals behind an answer's markers are still stored; if so, extends their lifetime. */
  async #holds(text: string): Promise<boolean> {
    const ids = pruneIdsOf(text);
    if (ids.length === 0) return true;
    try {
      const known = await this.#options.store.knownPruneIds(ids);
      return ids.every((id) => known.has(id));
    } catch (cause) {
      this.#options.onFailure('event_not_kept', cause);
      return false;
    }
  }

  #logReplay(tool: string, argsHash: string): void {
    const { clock, events, onReplayed } = this.#options;
    const payload = { tool, args_hash: argsHash.slice(0, 16) };
    const about = { tsMs: clock.nowMs(), level: 'info', runId: 'mcp', opId: null } as const;
    events.add([{ ...about, kind: `${tool}_replayed`, payload }]);
    onReplayed(tool);
  }
}

function conflict(tool: string): PrunerError {
  return new PrunerError('idempotency_conflict', { tool });
}

function withKey(schema: JsonObject): JsonObject {
  const idempotency_key = {
    type: 'string',
    minLength: 1,
    maxLength: MAX_KEY_CHARS,
    description: 'Repeating a call with the same key and arguments returns the first answer again.',
  };
  return { ...schema, properties: { ...(isObject(schema.properties) ? schema.properties : {}), idempotency_key } };
}

function splitKey(args: unknown): { readonly key: string | null; readonly rest: unknown } {
  if (!isObject(args) || args.idempotency_key === undefined) return { key: null, rest: args };
  const { idempotency_key: key, ...rest } = args;
  if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_CHARS || !key.isWellFormed()) {
    const message = `expected a text of 1 to ${MAX_KEY_CHARS} characters`;
    throw invalidParams({ field: 'idempotency_key', message });
  }
  return { key, rest };
}

/** Hash of arguments, independent of field order. */
function hashOf(args: unknown): string {
  const sorted = (_: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  try {
    return createHash('sha256').update(JSON.stringify(args, sorted)).digest('hex').slice(0, 32);
  } catch {
    throw invalidParams({ field: 'arguments', message: 'nested too deeply' });
  }
}

/** Appends both fields to a JSON object without changing its other bytes. */
function marked(text: string, key: string | null, idempotent: boolean): string {
  const fields = `"idempotent":${idempotent},"idempotency_key":${JSON.stringify(key)}}`;
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}${fields}`;
}

/** Prune ids in an answer: of its cuts, and of originals whose lines it contains. */
function pruneIdsOf(text: string): string[] {
  const answer: unknown = JSON.parse(text);
  if (!isObject(answer)) return [];
  const parts: readonly unknown[] = Array.isArray(answer.results) ? answer.results : [answer];
  const ids = parts.map((part) => {
    if (!isObject(part)) return undefined;
    return isObject(part.metadata) ? part.metadata.prune_id : part.prune_id;
  });
  return [...new Set(ids.filter((id): id is string => typeof id === 'string' && id !== ''))];
}
