import { type Form, outputPriceOf, timeOf, toolCall, type Usage } from './conversation.ts';
import { recordingsOf, Thread } from './entries.ts';

interface Tokens {
  readonly input?: number;
  readonly output?: number;
  readonly reasoning?: number;
  readonly cache?: { readonly read?: number; readonly write?: number };
}

/** In epoch milliseconds. */
interface Time {
  readonly created?: number;
  readonly completed?: number;
  readonly end?: number;
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly tool?: string;
  readonly tokens?: Tokens;
  readonly state?: {
    readonly input?: unknown;
    readonly output?: string;
    readonly error?: string;
    readonly time?: Time;
  };
}

interface Session {
  readonly info?: { readonly id?: string };
  readonly messages?: readonly {
    readonly info: { readonly role: string; readonly modelID?: string; readonly time?: Time };
    readonly parts: readonly Part[];
  }[];
}

/** Sessions of opencode: one JSON object, a message for each step of the model's, results inside of it. */
export const opencode: Form = {
  about: 'sessions of opencode (full.jsonl with info and messages)',
  matches: (path) => path.endsWith('full.jsonl'),
  read: (text) => {
    if (!text.slice(0, 200).includes('"ses_')) return [];
    const { info, messages = [] } = JSON.parse(text) as Session;
    const threads = [new Thread()];
    let model = '';
    let calls = 0;
    for (const { info: about, parts } of messages) {
      if (parts.some(({ type }) => type === 'compaction')) threads.push(new Thread());
      const thread = threads.at(-1) ?? new Thread();
      if (about.role === 'user') thread.words('user', textIn(parts), timeOf(about.time?.created));
      else calls = addStep(thread, parts, calls, about);
      model = about.modelID ?? model;
    }
    return recordingsOf(threads, {
      agent: 'opencode',
      session: info?.id ?? '',
      outputPrice: outputPriceOf(model),
    });
  },
};

/** Adds what the model said in a step, its calls and their results; ids of calls are redacted, so each gets its number. */
function addStep(
  thread: Thread,
  parts: readonly Part[],
  from: number,
  { modelID, time }: { readonly modelID?: string; readonly time?: Time },
): number {
  const tools = parts.filter(({ type }) => type === 'tool');
  const said = textIn(parts);
  if (said === '' && tools.length === 0) return from;
  const ids = tools.map((_, i) => `call_${from + i}`);
  const tool_calls = tools.map(({ tool = '', state }, i) => toolCall(ids[i] ?? '', tool, state?.input ?? {}));
  const message = { role: 'assistant', content: said, ...(tools.length > 0 && { tool_calls }) };
  // a step is complete with its tools; the answer was there before the first of them ended
  const ends = tools.map(({ state }) => timeOf(state?.time?.end)).filter((endMs) => endMs > 0);
  const at = thread.answer(message, ends.length > 0 ? Math.min(...ends) : timeOf(time?.completed ?? time?.created));
  const tokens = parts.findLast(({ type }) => type === 'step-finish')?.tokens;
  if (tokens !== undefined) thread.bill({ ...usageOf(at, tokens), ...(modelID && { model: modelID }) });
  for (const [i, { state }] of tools.entries())
    thread.result(ids[i] ?? '', state?.output ?? state?.error ?? '', timeOf(state?.time?.end));
  return from + tools.length;
}

function usageOf(at: number, { input = 0, output = 0, cache }: Tokens): Usage {
  return { at, fresh: input, read: cache?.read ?? 0, written: cache?.write ?? 0, written1h: 0, output };
}

function textIn(parts: readonly Part[]): string {
  return parts.flatMap(({ type, text = '' }) => (type === 'text' ? text : [])).join('\n');
}
