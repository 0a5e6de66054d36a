import type { RegretFacts } from '../../core/ports/request-facts.ts';
import type { BodyEdit } from '../../core/request/prefix-memo.ts';
import { tailOf } from '../../core/request/read.ts';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { ScannedCall } from '../../wires/dialects/dialect.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import { field, parsed } from '../../wires/json/value.ts';
import { outcomeAt } from './message-facts.ts';

/** Tools whose calls contain old text: `old_string`, the context of a patch. */
const EDITING = /edit|replace|patch|write|update/i;
const QUOTING = ['old_string', 'old_str', 'oldText', 'old_text', 'search', 'patch', 'input', 'diff'];
/** Shorter lines (`}`, `return None`) occur in many files by coincidence. */
const MIN_LINE = 12;
const MAX_LINES = 200;
const MAX_CALLS = 16;
const MAX_ARGS_BYTES = 256 * 1024;

/**
 * Finds pruned lines that an agent quotes in an edit, having known them from elsewhere or guessed them. Examines only
 * the newest answer of requests with cuts.
 */
export function quotedCuts(rewritten: RewrittenRequest): RegretFacts[] {
  const { received, messages, edits } = rewritten;
  const tail = tailOf(messages);
  const message = messages[tail - 1];
  const calls = edits.length === 0 ? [] : (message?.calls.filter(({ name }) => EDITING.test(name)) ?? []);
  if (!message || calls.length === 0) return [];
  const before = edits.filter(({ end }) => end <= message.span.start);
  if (before.length === 0) return [];
  const regrets: RegretFacts[] = [];
  for (const call of calls.slice(0, MAX_CALLS)) {
    for (const line of quotedLines(received, call)) {
      const cut = cutLine(received, message.span.start, before, line);
      const outcome = cut && outcomeAt(rewritten, cut);
      if (!outcome?.pruneId) continue;
      const { tool, kind, pruneId } = outcome;
      const tokens = estimateTokens(line);
      // the answer itself is older than this request, so the regret is counted at the first message after it
      regrets.push({ how: 'quoted', tool, kind, pruneId, tokens, message: tail });
    }
  }
  return regrets;
}

/** Distinctive (long enough) lines of an edit's old text. */
function quotedLines(received: Buffer, { args }: ScannedCall): string[] {
  if (args === null || args.end - args.start > MAX_ARGS_BYTES) return [];
  const plain = decodeString(received, args.start, args.end) ?? received.toString('utf8', args.start, args.end);
  const said = parsed(plain) ?? { patch: plain }; // not JSON, so a literal patch
  const texts = QUOTING.map((key) => field(said, key)).filter((text) => typeof text === 'string');
  const lines = texts.flatMap((text) => text.split('\n')).map((line) => line.replace(/^[-+ ]/, '').trim());
  return [...new Set(lines.filter((line) => line.length >= MIN_LINE))].slice(0, MAX_LINES);
}

/** The edit that removed a line, if no text forwarded before the answer contains it. */
function cutLine(received: Buffer, until: number, edits: readonly BodyEdit[], line: string): BodyEdit | null {
  // the line as encoded in a JSON string; in nested JSON, quotes have more escapes
  const needle = Buffer.from(JSON.stringify(line).slice(1, -1));
  let cut: BodyEdit | null = null;
  for (let at = received.indexOf(needle); at >= 0 && at < until; at = received.indexOf(needle, at + needle.length)) {
    const edit = edits.find(({ start, end }) => start <= at && at < end);
    if (!edit || edit.bytes.includes(needle)) return null; // still visible next to the cut
    cut ??= edit;
  }
  return cut;
}
