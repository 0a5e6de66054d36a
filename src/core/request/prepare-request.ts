import type { Dialect, ScannedText } from '../../dialects/dialect.ts';
import { kindOf } from '../../engine/plan.ts';
import type { Job } from '../decide/decision.ts';
import type { Turns } from '../decide/turns.ts';
import type { BoldnessSteps } from '../ports/boldness.ts';
import type { DirectivesView, RequestScope } from '../ports/segments.ts';
import { direct, type HeldSteps, heldSteps } from '../segments/apply-directives.ts';
import type { SentMemory } from '../sent/memory.ts';
import { type KnownPast, knownPast, NOTHING_NEW } from '../sent/past.ts';
import type { AnsweredConversations } from './answered-conversations.ts';
import type { FindSettings, FoundText } from './find-texts.ts';
import type { PrefixMatch } from './prefix-memo.ts';
import { type IncomingRequest, type ReadBody, type ReadOptions, readRequest } from './read-request.ts';

/** A request, and what is known of it before anything new is decided. */
export interface PreparedRequest {
  readonly body: Buffer;
  readonly read: ReadBody;
  readonly known: KnownPast;
  /** The texts of its new messages, once records and directives have had their say. */
  readonly found: readonly FoundText[];
  readonly steps: HeldSteps;
  /** What goes out now must go out again, whole texts among it. */
  readonly bound: boolean;
  /** Whose it is. */
  readonly project: string;
  /** As in `IncomingRequest`. */
  readonly isOver: IncomingRequest['isOver'];
  /** As in `IncomingRequest`. */
  readonly unknownPast: IncomingRequest['unknownPast'];
}

export interface PrepareOptions {
  readonly find: FindSettings;
  /** Whether the tokens of all messages are counted. */
  readonly counting: boolean;
  readonly answers: AnsweredConversations;
  readonly sent: SentMemory;
  readonly turns: Turns;
  /** Which boldness steps hold; without them all is as configured. */
  readonly boldness?: BoldnessSteps;
  /** The keys of the decisions about jobs. */
  readonly keysOf: (jobs: readonly Job[]) => readonly string[];
}

export const NO_SCOPE: RequestScope = { project: 'default', task: '', requestId: '' };
const NO_STEPS: HeldSteps = { scopes: new Set(), mark: '' };

/** Reading takes some 5 ms for each MB: a smaller body is nothing that others would notice. */
const MIN_TURN_BYTES = 256 * 1024;

/** Does what takes long for large bodies in turn with others; what is small does not wait. */
export function inTurn<T>(turns: Turns, bytes: number, piece: () => T): T | Promise<T> {
  return bytes < MIN_TURN_BYTES ? piece() : turns.run(piece);
}

/** Reads requests and finds out what was sent of them before; then directives have their say. */
export class Preparer {
  readonly #options: PrepareOptions;
  readonly #readOptions: ReadOptions;

  constructor(options: PrepareOptions) {
    const { find, counting, answers } = options;
    this.#options = options;
    this.#readOptions = { find, counting, conversationOf: (answerId) => answers.get(answerId) };
  }

  /**
   * @param unasked - why the store is not to be asked; `null` when it is
   * @throws JsonShapeError when the body is not understood
   */
  async prepare(
    request: IncomingRequest,
    match: PrefixMatch | null,
    all: DirectivesView,
    unasked: unknown,
  ): Promise<PreparedRequest> {
    const { body, dialect, scope = NO_SCOPE, newTexts, isOver, unknownPast } = request;
    const { turns, answers, sent, keysOf } = this.#options;
    let read = await inTurn(turns, body.length - (match?.checkpoint.at ?? 0), () => this.#read(request, match));
    const { previous } = read.scanned;
    if (previous !== '' && unasked === null && (await answers.learn(previous))) read = this.#read(request, match);
    const directives = viewFor(dialect, all);
    let steps = NO_STEPS;
    if (!directives.empty) {
      steps = heldSteps(directives.stepsOf(read.conversationId), read.prefixes, match);
      // the remembered body had others
      if (match && match.body.steps !== steps.mark) read = this.#read(request, null);
    }
    const known = await knownPast(request, read, sent, keysOf, unasked);
    const found = directives.empty ? known.found : this.#direct(body, read, known, scope.project, directives, steps);
    const bound = dialect.binding === 'must' && newTexts !== 'replay';
    return { body, read, known, found, steps, bound, project: scope.project, isOver, unknownPast };
  }

  /** As if nothing were known. */
  prepareDry(request: IncomingRequest): PreparedRequest {
    const read = this.#read(request, null);
    const known = { ...NOTHING_NEW, found: read.found };
    const { body, scope = NO_SCOPE } = request;
    const rest = { project: scope.project, isOver: undefined, unknownPast: undefined };
    return { body, read, known, found: read.found, steps: NO_STEPS, bound: false, ...rest };
  }

  #read(request: IncomingRequest, match: PrefixMatch | null): ReadBody {
    const read = readRequest(request, match, this.#readOptions);
    const { boldness } = this.#options;
    if (!boldness) return read;
    const { project } = request.scope ?? NO_SCOPE;
    return { ...read, found: read.found.map((text) => withBoldness(text, project, boldness)) };
  }

  #direct(
    body: Buffer,
    { messages, first, callOf }: ReadBody,
    { found }: KnownPast,
    project: string,
    directives: DirectivesView,
    steps: HeldSteps,
  ): FoundText[] {
    const toolOf = (text: ScannedText): string => (text.use === 'result' ? (callOf(text)?.name ?? text.name) : '');
    const texts = { messages, first, found, toolOf };
    return direct(body, texts, project, directives, steps, this.#options.find.reasonLanguage);
  }
}

/** A text with the boldness step of its tool and kind. Kinds are looked for only where there is a step for one. */
function withBoldness(text: FoundText, project: string, steps: BoldnessSteps): FoundText {
  const { job, skip } = text;
  const ofTool = skip === '' && job.keepWhole === undefined ? steps.of(project, job.tool) : null;
  const boldness = ofTool?.get(kindOf(job));
  return boldness ? { ...text, job: { ...job, boldness } } : text;
}

/** Where the provider checks the past, nothing of it may give way later: only pins hold. */
export function viewFor({ binding }: Dialect, directives: DirectivesView): DirectivesView {
  if (binding === 'should' || directives.empty) return directives;
  const of: DirectivesView['of'] = (...about) => (directives.of(...about) === 'pin' ? 'pin' : null);
  return { mark: directives.mark, empty: false, stepsOf: () => [], of };
}
