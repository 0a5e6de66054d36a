import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FailureReporter } from '../../failures.ts';
import { ownWords } from '../../transcript/file-blocks.ts';
import type { Turns } from '../decide/turns.ts';
import type { DirectivesView, RequestScope, SeenRequest, SeenSegment, SegmentPorts } from '../ports/segments.ts';
import type { FindSettings } from '../request/find-texts.ts';
import type { HeldSteps } from './apply-directives.ts';
import { ReportedBodies } from './reported-bodies.ts';
import { type ReadMessages, seenSegments } from './seen-segments.ts';

const MAX_CHARS = 60;
/** An injected part before the user's words may be long; characters beyond this limit are ignored. */
const MAX_READ_CHARS = 20_000;

/** The first words of the user among segments, on one line; `''` if there are only files and injected parts. */
export function openingOf(segments: readonly SeenSegment[]): string {
  for (const { role, effect, text } of segments) {
    if (role !== 'user' || effect !== 'asked') continue;
    const words = ownWords(text.slice(0, MAX_READ_CHARS), []).replace(/\s+/g, ' ').trim();
    if (words !== '') return Array.from(words).slice(0, MAX_CHARS).join('');
  }
  return '';
}

/** A request whose texts were decided. */
export interface ReportedRequest extends Omit<ReadMessages, 'directed'> {
  readonly body: Buffer;
  readonly conversationId: string;
  readonly steps: HeldSteps;
  readonly scope: RequestScope;
  readonly directives: DirectivesView;
}

export interface SegmentReporterOptions {
  readonly segments: SegmentPorts;
  readonly find: FindSettings;
  /** Larger bodies are remembered by their bytes, so that only their new messages were read. */
  readonly rememberedFrom: number;
  readonly onFailure: FailureReporter;
  /** Shared by all that works long on this thread. */
  readonly turns: Turns;
}

/** A smaller first request of a conversation contains nothing that could be collected. */
const MIN_REPORTED_BYTES = 4 * 1024;

/** Characters of texts that are described in one go: some 5 ms. */
const PIECE_CHARS = 128 * 1024;
/**
 * Most requests that wait to be reported in order. Each keeps its body in memory, so that further ones are not queued.
 */
const MAX_WAITING = 32;

/** Reports the segments of requests to their observers, once the requests are on their way. */
export class SegmentReporter {
  readonly #options: SegmentReporterOptions;
  readonly #reported = new ReportedBodies();
  /** Resolves when all requests so far are reported. */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: SegmentReporterOptions) {
    this.#options = options;
  }

  /** Reports the new segments of a request; neither throws nor waits. */
  report(request: ReportedRequest): void {
    if (hasOnlyBegun(request)) return;
    const first = this.#firstUnreported(request);
    if (first === request.messages.length) return;
    const done = this.#waiting < MAX_WAITING ? this.#last : Promise.resolve();
    this.#waiting++;
    const { segments, onFailure } = this.#options;
    const seen = done.then(() => this.#seenInTurns({ ...request, first }));
    this.#last = seen
      .then(noop, (cause: unknown) => onFailure('segments_not_noted', cause))
      .finally(() => {
        this.#waiting--;
      });
    segments.onSeen(seen);
  }

  /** Describes the texts piece by piece, so that other requests are served in between. */
  async #seenInTurns(request: ReportedRequest): Promise<SeenRequest> {
    const { turns } = this.#options;
    const messages = this.#byMessage(request);
    const seen: SeenSegment[] = [];
    const piece = (): boolean => {
      for (let chars = 0; chars < PIECE_CHARS; ) {
        const next = messages.next();
        if (next.done) return true;
        seen.push(...next.value);
        chars += next.value.reduce((sum, { text }) => sum + text.length, 1);
      }
      return false;
    };
    await nextTurn(); // the request itself has priority
    while (!(await turns.run(piece)));
    return seenRequest(request, seen);
  }

  /** The segments of a request's messages, from `first` on. */
  seen(request: ReportedRequest): SeenRequest {
    return seenRequest(request, [...this.#byMessage(request)].flat());
  }

  #byMessage(request: ReportedRequest): Generator<readonly SeenSegment[], void> {
    const { body, scope, directives, steps, messages, first, found, callOf, decisionOf } = request;
    const directed = (id: string, index: number) => directives.of(id, index, steps.scopes);
    const read = { messages, first, found, callOf, decisionOf, directed };
    return seenSegments(body, read, scope.project, this.#options.find);
  }

  #firstUnreported({ body, messages, first, conversationId, scope, directives, steps }: ReportedRequest): number {
    if (first > 0 || body.length >= this.#options.rememberedFrom) return first;
    const key = [conversationId, scope.task, directives.mark, steps.mark, scope.project].join(' ');
    return this.#reported.firstUnreported(key, body, messages);
  }
}

function noop(): void {}

function seenRequest(request: ReportedRequest, segments: readonly SeenSegment[]): SeenRequest {
  const { scope, conversationId, messages, first } = request;
  const { project, client } = scope;
  const task = scope.task || conversationId;
  const opening = first === 0 ? openingOf(segments) : '';
  return { project, task, client, opening, conversationId, messages: messages.length, whole: first === 0, segments };
}

/** A small request with the first words of a user: it contains nothing that could be collected. */
function hasOnlyBegun({ body, first, found, messages }: ReportedRequest): boolean {
  if (first > 0 || found.length > 0 || body.length >= MIN_REPORTED_BYTES) return false;
  return messages.every(({ role }) => role !== 'assistant' && role !== 'tool');
}
