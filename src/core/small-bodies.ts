import { JsonShapeError } from '../dialects/json-cursor.ts';
import { type FindSettings, userWords } from './find-texts.ts';
import { textHash } from './hash.ts';
import type { LeftAlone } from './left-alone.ts';
import type { RequestScope, SegmentPorts } from './ports/segments.ts';

/** What decides whether there is anything to do for a small body. */
export interface SmallBodiesOptions {
  readonly find: FindSettings;
  readonly leftAlone: LeftAlone;
  readonly segments?: SegmentPorts;
}

/** What is told of a request, whatever became of it. */
export interface Described {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: number;
  /** Stands for the conversation: a hash of how it begins. */
  readonly conversationId: string;
}

/** From this size on the first request of a conversation may hold something that can be collected. */
export const MIN_TOLD_BYTES = 4 * 1024;

const ANSWERED = Buffer.from('"assistant"');
const MARKED = Buffer.from('prune_id=');

/**
 * Requests that have only begun and are smaller than any text that may be cut. Nothing that stands in them decides
 * what is forwarded, so that they can go at once and be read afterwards, for the report.
 */
export class SmallBodies {
  readonly #options: SmallBodiesOptions;
  readonly #below: number;

  constructor(options: SmallBodiesOptions) {
    this.#options = options;
    this.#below = Math.min(options.find.minPruneChars, MIN_TOLD_BYTES);
  }

  /** Whether a body is one, and neither directives nor refusals nor markers have a say. */
  has(body: Buffer, scope: RequestScope): boolean {
    const { leftAlone, segments } = this.#options;
    if (body.length >= this.#below || leftAlone.any || segments?.collector !== undefined) return false;
    if (segments && segments.directives.known(scope.project)?.empty !== true) return false;
    // one with an answer in it is taken down, and one with a marker keeps a prune alive
    return !body.includes(ANSWERED) && !body.includes(MARKED);
  }
}

/**
 * What is told of a small body. It goes out as it came, so that it is read the cheapest way: as a whole.
 *
 * @throws JsonShapeError when it is not understood
 */
export function describe(body: Buffer): Described {
  const { model, stream, messages } = objectIn(body);
  const list: readonly unknown[] = Array.isArray(messages) ? messages : [];
  return {
    model: typeof model === 'string' ? model : '',
    stream: stream === true,
    messages: list.length,
    conversationId: conversationIdOf(list),
  };
}

function objectIn(body: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch (cause) {
    throw new JsonShapeError('no JSON', { cause });
  }
  if (!isObject(value)) throw new JsonShapeError('no JSON object');
  return value;
}

/** The same as a conversation that reads all of them has. */
function conversationIdOf(messages: readonly unknown[]): string {
  for (const message of messages) {
    const words = isObject(message) && message.role === 'user' ? userWords(textsOf(message.content)) : '';
    if (words !== '') return textHash(words);
  }
  return '';
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  const parts = content.filter(isObject).filter(({ type }) => type === 'text');
  return parts.map(({ text }) => text).filter((text) => typeof text === 'string');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
