import type { ScannedMessage } from '../../wires/dialects/dialect.ts';

/**
 * Prompts by which clients request a summary of their own history, taken from the programs: Claude Code 2.1, Codex
 * 0.169, opencode 1.18, Gemini CLI 0.61, Cline 3, pi 1.5. `ends` starts a line near the end of the text, because some
 * clients put the history before the prompt.
 */
const PROMPTS: readonly { readonly client: string; readonly begins?: string; readonly ends?: string }[] = [
  { client: 'claude-code', begins: 'Your task is to create a detailed summary of the conversation so far' },
  { client: 'claude-code', begins: 'Your task is to create a detailed summary of this conversation' },
  { client: 'claude-code', begins: 'Your task is to create a detailed summary of the RECENT portion' },
  { client: 'codex', begins: 'You are performing a CONTEXT CHECKPOINT COMPACTION' },
  {
    client: 'opencode',
    ends: 'Create a new anchored summary from the conversation history in the <conversation> tags above',
  },
  { client: 'opencode', begins: 'Here is the conversation so far:\n\n<conversation>' },
  { client: 'opencode', begins: 'Provide a detailed prompt for continuing our conversation above' },
  { client: 'gemini-cli', ends: 'First, reason in your scratchpad. Then, generate the' },
  { client: 'gemini-cli', begins: 'Critically evaluate the <state_snapshot> you just generated' },
  {
    client: 'pi',
    begins: '<conversation>',
    ends: 'The messages above are a conversation to summarize. Create a structured context checkpoint summary',
  },
  {
    client: 'pi',
    begins: '<conversation>',
    ends: 'The messages above are NEW conversation messages to incorporate into the existing summary',
  },
  {
    client: 'pi',
    begins: '<conversation>',
    ends: 'The messages above are earlier context from an ongoing conversation. Later messages are stored separately',
  },
  { client: 'cline', begins: 'Summarize this session for continuation. Be concise and factual.' },
  {
    client: 'cline',
    begins: 'The current conversation is rapidly running out of context. Now, your urgent task is to create',
  },
];
/** Precedes Claude Code's summary prompt. */
const PREAMBLE = /^CRITICAL: Respond with TEXT ONLY\. Do NOT call any tools\.[\s\S]{0,1000}?(?=Your task is to create)/;
/** Precedes Cline's summary prompt. */
const INSTRUCTIONS = /^<explicit_instructions type="(?:summarize_task|condense)">\s{0,20}/;
/** Maximum distance of `ends` from the end of a text, in characters. */
const TAIL_CHARS = 8_000;

/**
 * Returns the client whose built-in summary prompt this text is; `null` for other texts, including a user's own request
 * for a summary.
 */
export function compactingClient(text: string): string | null {
  const asked = text.trimStart().replace(PREAMBLE, '').replace(INSTRUCTIONS, '');
  const tail = asked.slice(-TAIL_CHARS);
  const found = PROMPTS.find(
    ({ begins = '', ends }) => asked.startsWith(begins) && (ends === undefined || lineBegins(tail, ends)),
  );
  return found?.client ?? null;
}

function lineBegins(text: string, words: string): boolean {
  return text.startsWith(words) || text.includes(`\n${words}`);
}

/** Opening words of the summaries that clients substitute for a history. */
const SUMMARIES: readonly string[] = [
  'This session is being continued from a previous conversation',
  'Another language model started to solve this problem and produced a summary',
  'What did we do so far?',
  '<state_snapshot>',
  'The conversation history before this point was compacted into the following summary:',
];

/** Whether a user message contains a client's summary of the earlier history. */
export function containsSummary(text: string): boolean {
  const start = text.trimStart().slice(0, 400);
  return SUMMARIES.some((words) => start.startsWith(words)) || start.includes('<state_snapshot>');
}

/** Messages at the beginning of a conversation that may contain a client's summary. */
const OPENING = 12;
/** Maximum number of leading items, such as instructions, that are skipped before these messages. */
const MAX_OPENING = 100;

/** Index of the first message after the opening of a conversation. */
export function openingEnd(messages: readonly ScannedMessage[]): number {
  const end = Math.min(messages.length, MAX_OPENING);
  for (let i = 0, count = 0; i < end; i++) if (messages[i]?.role !== 'other' && ++count === OPENING) return i + 1;
  return end;
}
