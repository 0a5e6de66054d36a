import { readFileSync } from 'node:fs';
import { openServices, type Services } from '../../src/app/compose.ts';
import { openContext } from '../../src/app/context.ts';
import { decisionCacheOf, rewriterOf } from '../../src/app/pipeline.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { RequestPipeline } from '../../src/core/request/pipeline.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import type { RewrittenRequest } from '../../src/core/request/rewritten.ts';
import { edition } from '../../src/edition.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { createLog } from '../../src/observe/log.ts';
import { endedFacts, factsOf } from '../../src/proxy/report/ledger-facts.ts';
import type { ProviderUsage } from '../../src/wires/dialects/dialect.ts';
import {
  type Message,
  type Recording,
  type RequestTime,
  requestTimes,
  type Usage,
} from '../recordings/conversation.ts';
import { agentFacts, historyOf } from './agents.ts';
import { type Bodies, bodiesOf } from './bodies.ts';
import { type Needs, Sent } from './needs.ts';
import { lostAt } from './recoveries.ts';
import { SentTexts } from './sent-texts.ts';
import { contentOf, textOf } from './shown.ts';

/** Texts below this are never cut, so a request that brings only such ones changes nothing. */
const LEAST_CHARS = 600;

/** Sends recordings through the proxy's own code. */
export interface Forwarder {
  /**
   * The texts of a recording as the proxy sent them in each request, at the recorded times. A result of which an answer
   * needs lines that are gone is recovered after that answer, as an agent would.
   *
   * @param perToken - characters
   */
  readonly forward: (recording: Recording, needs: Needs, perToken: number) => Promise<SentTexts>;
  readonly close: () => Promise<void>;
}

/**
 * Opens a proxy without a network, on a store in memory and with the clock of the recordings. Nothing that was sent
 * changes later unless `env` says so.
 *
 * @param env - settings as in the environment
 */
export async function forwarderOf(env: Readonly<Record<string, string>>): Promise<Forwarder> {
  const settings = settingsOf({ MCP_PRUNER_COLD_STASH: 'off', ...env });
  const clock = { now: 0, nowMs: () => clock.now };
  const failures: string[] = [];
  const render = (line: string): string => {
    failures.push(line);
    return '';
  };
  const log = createLog({ level: 'warn', fd: 2, render });
  const services = await openServices(await openContext({ edition, settings, log, version: 'bench', clock }));
  const { store } = services;
  const rewriter = rewriterOf(settings, {
    ...{ store, clock, decisionCache: decisionCacheOf(settings, store, clock) },
    refused: new RefusedConversations(store),
    onFailure: (reason: string, cause: unknown): never => {
      throw new Error(reason, { cause });
    },
    segments: services.own.context.segments(false),
  });
  const forward = async (recording: Recording, needs: Needs, perToken: number): Promise<SentTexts> => {
    const player = new Player({ services, rewriter, recording, perToken });
    const sent = new Sent(player.texts);
    const lost = lostAt(needs, sent);
    for (const time of requestsThatMatter(recording, mayChangeLater(settings))) {
      clock.now = time.arrivedMs;
      await player.send(time);
      clock.now = time.answeredMs;
      for (const { from } of lost(time.at)) await player.recover(from, time.at);
      await services.own.context.flush?.();
      if (failures.length > 0) throw new Error(failures.join(''));
    }
    return player.texts;
  };
  const close = async (): Promise<void> => {
    await rewriter.flush();
    await services.close();
  };
  return { forward, close };
}

function settingsOf(env: Readonly<Record<string, string>>): Settings {
  const { settings } = loadSettings({
    table: edition.settings,
    env,
    platform: process.platform,
    homeDir: '/nowhere',
    cwd: '/nowhere',
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  return { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: 600_000 };
}

function mayChangeLater({ coldStash, contextBudgetTokens }: Settings): boolean {
  return coldStash !== 'off' || contextBudgetTokens !== 0;
}

interface PlayerParts {
  readonly services: Services;
  readonly rewriter: RequestPipeline;
  readonly recording: Recording;
  readonly perToken: number;
}

/** One recording on its way through the proxy. */
class Player {
  readonly texts: SentTexts;
  readonly #parts: PlayerParts;
  readonly #bodies: Bodies;
  readonly #models: ReadonlyMap<number, string>;
  readonly #usage: ReadonlyMap<number, Usage>;
  readonly #userAgent: string;
  #model = 'm';

  constructor(parts: PlayerParts) {
    const { messages, agent, usage = [] } = parts.recording;
    this.#parts = parts;
    this.texts = new SentTexts(messages);
    this.#bodies = bodiesOf(parts.recording);
    this.#models = new Map(usage.flatMap(({ at, model = '' }) => (model === '' ? [] : [[at, model] as const])));
    this.#usage = new Map(usage.map((one) => [one.at, one]));
    this.#userAgent = agentFacts(agent).userAgent;
  }

  async send({ at, arrivedMs, answeredMs }: RequestTime): Promise<void> {
    const { rewriter, services, recording } = this.#parts;
    const { wire, dialect } = this.#bodies;
    this.#model = this.#models.get(at) ?? this.#model;
    const [client = ''] = this.#userAgent.split('/');
    const project = recording.name;
    const scope = { project, task: '', requestId: `${at}`, client, agent: this.#userAgent };
    const sender = {
      client,
      isSubscription: false,
      toAnthropic: historyOf(recording) === 'anthropic',
      account: 'bench',
    };
    const rewritten = await rewriter.rewrite({ body: this.#bodies.bodyAt(at, this.#model), dialect, scope, sender });
    await rewriter.accepted(rewritten);
    rewriter.completed(project, rewritten);
    this.#note(at, rewritten);
    const about = { requestId: scope.requestId, project, wire, forwardedOriginal: false };
    const facts = endedFacts(factsOf(rewritten, about), answeredMs, this.#usageAt(at));
    services.own.context.cold.answered({ facts, atMs: answeredMs, tookMs: answeredMs - arrivedMs, wire });
  }

  /** What the provider reported. The cache of what was sent instead is as warm. */
  #usageAt(at: number): ProviderUsage | null {
    const one = this.#usage.get(at);
    if (one === undefined) return null;
    return { promptTokens: one.fresh + one.read + one.written, completionTokens: one.output, cachedTokens: one.read };
  }

  #note(at: number, { body, received }: RewrittenRequest): void {
    const { messages } = this.#parts.recording;
    const texts = body === received ? messages.slice(0, at).map(textOf) : this.#bodies.textsIn(body);
    if (texts.length !== at) throw new Error(`${texts.length} messages were sent instead of ${at}`);
    this.texts.note(at, texts);
  }

  /** Asks for lines that were cut from a result. */
  async recover(result: number, at: number): Promise<void> {
    const markers = this.texts
      .textAt(result, at)
      .split('\n')
      .flatMap((line) => parseMarker(line.trim()) ?? []);
    const [first] = markers;
    if (first === undefined) return;
    const { pruneId, startLine } = first;
    const ranges = [{ startLine, endLine: startLine }];
    await this.#parts.services.pruner.recover({ pruneId, ranges, numbered: false });
  }
}

/** The requests that may change something: if nothing changes later, those that bring a text that may be cut. */
function requestsThatMatter(recording: Recording, all: boolean): RequestTime[] {
  const times = requestTimes(recording);
  if (all) return times;
  let from = 0;
  return times.filter(({ at }) => {
    const brings = recording.messages.slice(from, at).some(isLarge);
    from = at;
    return brings;
  });
}

function isLarge(message: Message): boolean {
  return message.role !== 'assistant' && contentOf(message).length >= LEAST_CHARS;
}
