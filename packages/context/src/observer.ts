import type { Observer, Seen, SeenRequestHead } from 'mcp-pruner/core/ports/seen.ts';
import { openingOf } from 'mcp-pruner/core/segments/opening.ts';
import { type ReadSegment, type Recorder, readSegment } from './recorder.ts';

/** Records segments of requests as facts. A segment's text is released as soon as the facts are extracted. */
export class SegmentObserver implements Observer {
  readonly #recorder: Recorder;
  /** The request being processed, and its segments so far. */
  #request: SeenRequestHead | null = null;
  #segments: ReadSegment[] = [];
  #opening = '';
  #from = 0;

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  newFrom({ first, messages, segments }: SeenRequestHead): number {
    return segments === null || segments.hasOnlyBegun ? messages : first;
  }

  see({ request, messages, isLast }: Seen): void {
    if (this.#request !== request) {
      this.#request = request;
      this.#segments = [];
      this.#opening = '';
      this.#from = messages[0]?.index ?? 0;
    }
    for (const { segments } of messages) {
      if (this.#from === 0 && this.#opening === '') this.#opening = openingOf(segments);
      for (const segment of segments) this.#segments.push(readSegment(segment));
    }
    if (isLast) this.#note(request);
  }

  #note({ conversationId, messages, segments: head }: SeenRequestHead): void {
    const segments = this.#segments;
    this.#request = null;
    this.#segments = [];
    if (head === null) return;
    const { project, client, task } = head.scope;
    this.#recorder.note({
      task: task || conversationId,
      opening: this.#opening,
      whole: this.#from === 0,
      ...{ project, client, conversationId, messages, segments },
    });
  }
}
