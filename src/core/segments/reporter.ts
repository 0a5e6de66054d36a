import type { TellFailure } from '../../failures.ts';
import type { FindSettings } from '../find-texts.ts';
import type { DirectivesView, RequestScope, SeenRequest, SegmentPorts } from '../ports/segments.ts';
import type { HeldSteps } from './apply-directives.ts';
import { ReportedBodies } from './reported-bodies.ts';
import { type ReadMessages, seenSegments } from './seen-segments.ts';

/** A request that was decided about. */
export interface DecidedRequest extends Omit<ReadMessages, 'directed'> {
  readonly body: Buffer;
  readonly conversationId: string;
  readonly steps: HeldSteps;
  readonly scope: RequestScope;
  readonly directives: DirectivesView;
}

export interface SegmentReporterOptions {
  readonly segments: SegmentPorts;
  readonly find: FindSettings;
  /** A body of this size is remembered by its bytes, so that what was read of it is what is new. */
  readonly rememberedFrom: number;
  readonly onFailure: TellFailure;
}

/** From this size on the first request of a conversation may hold something that can be collected. */
const MIN_TOLD_BYTES = 4 * 1024;

/** Tells those who keep segments what requests show, once these are on their way. */
export class SegmentReporter {
  readonly #options: SegmentReporterOptions;
  readonly #told = new ReportedBodies();

  constructor(options: SegmentReporterOptions) {
    this.#options = options;
  }

  /** Tells of what is new in a request; neither throws nor waits. */
  tell(request: DecidedRequest): void {
    if (hasOnlyBegun(request)) return;
    const first = this.#firstUntold(request);
    if (first === request.messages.length) return;
    setImmediate(() => {
      try {
        this.#options.segments.onSeen(this.seen({ ...request, first }));
      } catch (cause) {
        this.#options.onFailure('segments_not_noted', cause);
      }
    });
  }

  /** What the messages of a request show, from `first` on. */
  seen(request: DecidedRequest): SeenRequest {
    const { body, scope, directives, steps, conversationId, messages, first, found, callOf, decisionOf } = request;
    const directed = (id: string, index: number) => directives.of(id, index, steps.scopes);
    const read = { messages, first, found, callOf, decisionOf, directed };
    return {
      project: scope.project,
      task: scope.task || conversationId,
      conversationId,
      messages: messages.length,
      whole: first === 0,
      segments: seenSegments(body, read, scope.project, this.#options.find),
    };
  }

  #firstUntold({ body, messages, first, conversationId, scope, directives, steps }: DecidedRequest): number {
    if (first > 0 || body.length >= this.#options.rememberedFrom) return first;
    const key = [conversationId, scope.task, directives.mark, steps.mark, scope.project].join(' ');
    return this.#told.tell(key, body, messages);
  }
}

/** A small request that brings the user's first words: there is nothing in it that could be collected. */
function hasOnlyBegun({ body, first, found, messages }: DecidedRequest): boolean {
  if (first > 0 || found.length > 0 || body.length >= MIN_TOLD_BYTES) return false;
  return messages.every(({ role }) => role !== 'assistant' && role !== 'tool');
}
