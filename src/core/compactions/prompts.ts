/**
 * How clients ask for a summary of their own history, taken from the programs: Claude Code 2.1, Codex 0.169, opencode 1.18,
 * Gemini CLI 0.61, Cline 3. `ends` is looked for at the end of the text, behind the history that some put before it.
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
  { client: 'cline', begins: 'Summarize this session for continuation. Be concise and factual.' },
  {
    client: 'cline',
    begins: 'The current conversation is rapidly running out of context. Now, your urgent task is to create',
  },
];
/** Precedes the prompt of Claude Code. */
const PREAMBLE = /^CRITICAL: Respond with TEXT ONLY\. Do NOT call any tools\.[\s\S]{0,1000}?(?=Your task is to create)/;
/** Stands before the prompt of Cline. */
const INSTRUCTIONS = /^<explicit_instructions type="(?:summarize_task|condense)">\s{0,20}/;
/** How far from the end of a text its last sentence may begin. */
const TAIL_CHARS = 8_000;

/** The client whose own prompt for a summary a text is; `null` for every other text, a user's words about summaries too. */
export function compactingClient(text: string): string | null {
  const asked = text.trimStart().replace(PREAMBLE, '').replace(INSTRUCTIONS, '');
  const tail = asked.slice(-TAIL_CHARS);
  const found = PROMPTS.find(({ begins, ends }) =>
    begins === undefined ? ends !== undefined && lineBegins(tail, ends) : asked.startsWith(begins),
  );
  return found?.client ?? null;
}

function lineBegins(text: string, words: string): boolean {
  return text.startsWith(words) || text.includes(`\n${words}`);
}

/** How a history begins that a client put in the place of what it summarised. */
const SUMMARIES: readonly string[] = [
  'This session is being continued from a previous conversation',
  'Another language model started to solve this problem and produced a summary',
  'What did we do so far?',
  '<state_snapshot>',
];

/** Whether a user's text brings a client's summary of what was said before. */
export function bringsSummary(text: string): boolean {
  const start = text.trimStart().slice(0, 400);
  return SUMMARIES.some((words) => start.startsWith(words)) || start.includes('<state_snapshot>');
}
