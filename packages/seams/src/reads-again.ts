import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { ScannedCall, ScannedMessage } from 'mcp-pruner/wires/dialects/dialect.ts';
import { isSameFile } from 'mcp-pruner/wires/goal/conversation.ts';
import { decodeString } from 'mcp-pruner/wires/json/cursor.ts';
import { shownFiles } from 'mcp-pruner/wires/transcript/call-targets.ts';

/** A file of the replaced part counts as read again within so many requests. */
const AGAIN_REQUESTS = 20;
const CHARS_PER_TOKEN = 4;
const MAX_FILES = 2_000;
const MAX_COMPACTIONS = 500;
const QUOTE = 0x22;

/** The messages of a client, and the part that a block stands for. */
export interface Replaced {
  /** Identifies the compaction. */
  readonly key: string;
  readonly body: Buffer;
  readonly messages: readonly ScannedMessage[];
  /** Number of messages that the block stands for. */
  readonly replaced: number;
  /** Number of messages in the first request with the block. */
  readonly usedMessages: number;
}

/** Finds files that the model read again although a summary stands for them. */
export class ReadsAgain {
  /** Files of the replaced part, by base name and compaction. */
  readonly #files = new BoundedMap<string, ReadonlyMap<string, readonly string[]>>(MAX_COMPACTIONS);

  /**
   * Tokens of results since the block that show a file of the replaced part, in the first requests with it. Estimated
   * from their length.
   */
  tokens({ key, body, messages, replaced, usedMessages }: Replaced): number {
    const files = this.#filesOf(key, body, messages.slice(0, replaced));
    if (files.size === 0) return 0;
    const again = new Set<string>();
    let [answers, chars] = [0, 0];
    for (const { role, calls, texts } of messages.slice(usedMessages)) {
      if (role === 'assistant' && calls.length > 0 && ++answers > AGAIN_REQUESTS) break;
      for (const call of calls) if (shownBy(body, call).some((path) => isIn(files, path))) again.add(call.id);
      for (const { use, callId, literal } of texts)
        if (use === 'result' && again.has(callId)) chars += literal.end - literal.start;
    }
    return Math.round(chars / CHARS_PER_TOKEN);
  }

  #filesOf(key: string, body: Buffer, messages: readonly ScannedMessage[]): ReadonlyMap<string, readonly string[]> {
    const known = this.#files.get(key);
    if (known !== undefined) return known;
    const files = new Map<string, string[]>();
    for (const path of messages.flatMap(({ calls }) => calls.flatMap((call) => shownBy(body, call)))) {
      if (files.size > MAX_FILES) break;
      const same = files.get(baseOf(path));
      if (same === undefined) files.set(baseOf(path), [path]);
      else if (!same.includes(path)) same.push(path);
    }
    this.#files.set(key, files);
    return files;
  }
}

function shownBy(body: Buffer, { name, args }: ScannedCall): string[] {
  if (args === null) return [];
  const isString = body[args.start] === QUOTE;
  const text = isString
    ? (decodeString(body, args.start, args.end) ?? '')
    : body.toString('utf8', args.start, args.end);
  return shownFiles({ name, args: text });
}

function isIn(files: ReadonlyMap<string, readonly string[]>, path: string): boolean {
  return files.get(baseOf(path))?.some((known) => isSameFile(known, path)) === true;
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
