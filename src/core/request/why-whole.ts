import { kindNamed, nameByPath } from '../../engine/kinds/all.ts';
import { splitLines } from '../../engine/text/lines.ts';
import type { Dial } from '../../engine/types.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import { askedLimit, askedLines } from '../../wires/transcript/call-targets.ts';
import { callFacts, isReport, type ToolCall } from '../../wires/transcript/tools.ts';

/** A result and the facts known before its lines are read. */
interface ResultShown {
  readonly call: ToolCall | undefined;
  /** Files shown in the result. */
  readonly files: readonly string[];
  /** The text, or the file shown in it, occurred earlier in the conversation. */
  readonly isRepeated: boolean;
  readonly text: string;
  /** The conversation before the result. */
  readonly conversation: Conversation;
  readonly dial?: Dial | undefined;
}

/**
 * Maximum number of lines in a window requested by first and last line, or of entries requested by number, plus lines
 * added by the tool.
 */
const WINDOW_LINES = 200;
const FRAME_LINES = 16;
/**
 * Shorter lists of hits or file names stay whole: cutting saves next to nothing, and the agent may open any entry next.
 * Tuned with `bench -- bill`.
 */
const SHORT_ENTRIES_CHARS = 6_000;
/**
 * Shorter diffs stay whole: agents read them closely and quote them in the next edit. Tuned on recorded conversations.
 */
const SHORT_DIFF_CHARS = 10_000;
const HUNK = /^(?:diff --git |@@ -\d)/m;

/**
 * Why a result stays whole whatever its lines contain: `reread`, a file that the user or the plan names (`named`), the
 * report of another agent (`report`), a short window or few entries chosen by the agent (`window`), or a short diff or
 * list of hits or names (`short`). `''` for all others.
 */
export function whyWhole({ call, files, isRepeated, text, conversation, dial }: ResultShown): string {
  if (isRepeated) return 'reread';
  if (isReport(call)) return 'report';
  // a question is an order to be bold, whatever was asked for
  if (callFacts(call).hints.question === true) return '';
  if (conversation.names(files.filter((path) => !isLog(path)))) return 'named';
  if (isShortWindow(call, text)) return 'window';
  // dials beyond `careful` have their own bound in the engine
  return dial === undefined && isShort(call, text) ? 'short' : '';
}

/** Whether a path names a log file. Logs are cut even if the user names them, because they are repetitive. */
function isLog(path: string): boolean {
  const name = nameByPath(path);
  return name !== undefined && kindNamed(name).sourceType === 'logs';
}

function isShortWindow(call: ToolCall | undefined, text: string): boolean {
  const limit = askedLimit(call);
  if (limit > 0 && limit <= WINDOW_LINES) return true;
  const { startLine, endLine } = askedLines(call);
  if (startLine === 0 || endLine - startLine >= WINDOW_LINES) return false;
  return splitLines(text).count <= WINDOW_LINES + FRAME_LINES;
}

function isShort(call: ToolCall | undefined, text: string): boolean {
  const { origin } = callFacts(call).hints;
  const isList = origin === 'search' || origin === 'listing';
  return isList ? text.length < SHORT_ENTRIES_CHARS : text.length < SHORT_DIFF_CHARS && HUNK.test(text);
}
