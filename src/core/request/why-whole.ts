import { kindNamed, nameByPath } from '../../engine/kinds/all.ts';
import { splitLines } from '../../engine/text/lines.ts';
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
}

/**
 * Maximum number of lines in a window requested by first and last line, or of entries requested by number, plus lines
 * added by the tool.
 */
const WINDOW_LINES = 200;
const FRAME_LINES = 16;

/**
 * Why a result stays whole whatever its lines contain: `reread`, a file that the user or the plan names (`named`), the
 * report of another agent (`report`), or a short window or few entries chosen by the agent (`window`). `''` for all others.
 */
export function whyWhole({ call, files, isRepeated, text, conversation }: ResultShown): string {
  if (isRepeated) return 'reread';
  if (isReport(call)) return 'report';
  // a question is an order to be bold, whatever was asked for
  if (callFacts(call).hints.question === true) return '';
  if (conversation.names(files.filter((path) => !isLog(path)))) return 'named';
  return isShortWindow(call, text) ? 'window' : '';
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
