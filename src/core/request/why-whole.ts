import { kindNamed, nameByPath } from '../../engine/kinds/all.ts';
import { splitLines } from '../../engine/text/lines.ts';
import type { Conversation } from '../../goal/conversation.ts';
import { askedLines } from '../../transcript/call-targets.ts';
import { callFacts, isReport, type ToolCall } from '../../transcript/tools.ts';

/** A result and what is known of it before its lines are looked at. */
interface ResultShown {
  readonly call: ToolCall | undefined;
  /** The files that it shows. */
  readonly files: readonly string[];
  /** It was shown before, or is of a file that was. */
  readonly again: boolean;
  readonly text: string;
  /** What was said before it. */
  readonly conversation: Conversation;
}

/** Lines of a window that an agent asks for by where it begins; with the lines that its tool may put around them. */
const WINDOW_LINES = 200;
const FRAME_LINES = 16;
/** Hits of a search and names of files: fewer win next to nothing, and each may be the next place to go. Chosen by `bench -- bill`. */
const SHORT_ENTRIES_CHARS = 6_000;
/** Diffs are read closely and quoted by the next edit: shorter ones win next to nothing. Chosen on recorded conversations. */
const SHORT_DIFF_CHARS = 10_000;
const HUNK = /^(?:diff --git |@@ -\d)/m;

/**
 * Why a result passes whole whatever its lines say: `reread`, a file that the user or the plan names (`named`), the report of
 * another agent (`report`), a short window that the agent chose itself (`window`), or a short diff or list of hits or
 * names (`short`). `''` for all others.
 */
export function whyWhole({ call, files, again, text, conversation }: ResultShown): string {
  if (again) return 'reread';
  if (isReport(call)) return 'report';
  if (conversation.names(files.filter((path) => !isLog(path)))) return 'named';
  if (isShortWindow(call, text)) return 'window';
  return isShort(call, text) ? 'short' : '';
}

/** A log repeats itself whoever names it. */
function isLog(path: string): boolean {
  const name = nameByPath(path);
  return name !== undefined && kindNamed(name).sourceType === 'logs';
}

function isShortWindow(call: ToolCall | undefined, text: string): boolean {
  const { startLine, endLine } = askedLines(call);
  if (startLine === 0 || endLine - startLine >= WINDOW_LINES) return false;
  return splitLines(text).count <= WINDOW_LINES + FRAME_LINES;
}

function isShort(call: ToolCall | undefined, text: string): boolean {
  const { origin, question } = callFacts(call).hints;
  if (question === true) return false;
  const isList = origin === 'search' || origin === 'listing';
  return isList ? text.length < SHORT_ENTRIES_CHARS : text.length < SHORT_DIFF_CHARS && HUNK.test(text);
}
