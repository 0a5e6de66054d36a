/**
 * What the tool shelf takes from the declarations of requests, and from recorded sessions:
 *   node bench/run.mjs shelf <request.json[.gz]>… [--recordings <recordings.jsonl>]… [--declared "Claude Code=<request>"]…
 *
 * Of each request: its tokens as they are and with every tool shortened that may be, estimated as the product estimates
 * them. Of recorded sessions, by agent: the tools are those that `--declared` names for it, and a tool is on the shelf
 * once five sessions of the same file did not call it. The rule of two days is left out, because recordings have no
 * common calendar. A recorded session may have called a tool by an earlier name, so that this is an upper bound.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { declaredTools } from '../../src/core/shelf/declarations.ts';
import { shorten } from '../../src/core/shelf/shorten.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import type { Recording } from '../recordings/conversation.ts';
import { recordingsIn } from '../recordings/play.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    recordings: { type: 'string', multiple: true, default: [] },
    declared: { type: 'string', multiple: true, default: [] },
  },
});
if (positionals.length + values.recordings.length === 0) {
  process.stderr.write(
    'usage: node bench/run.mjs shelf <request.json[.gz]>… [--recordings <recordings.jsonl>]… [--declared "<agent>=<request>"]…\n',
  );
  process.exit(2);
}
/** Sessions without a call before a tool is put on the shelf. */
const SESSIONS = 5;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Tool {
  readonly name: string;
  readonly kind: string;
  readonly tokens: number;
  readonly saved: number;
}

function bodyOf(file: string): Buffer {
  const bytes = readFileSync(file);
  return file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

function wireOf(body: Buffer): Dialect['name'] {
  const request: { contents?: unknown; input?: unknown; tools?: readonly object[] } = JSON.parse(body.toString());
  if (request.contents !== undefined) return 'gemini';
  if (request.input !== undefined) return 'responses';
  return request.tools?.some((tool) => 'input_schema' in tool) ? 'messages' : 'chat';
}

function toolsOf(body: Buffer): Tool[] {
  const declared = declaredTools(body, wireOf(body));
  return declared.declarations.map((declaration) => ({
    name: declaration.name,
    kind: declaration.kind,
    tokens: estimateTokens(body.toString('utf8', declaration.span.start, declaration.span.end)),
    saved: shorten(declaration, declared).reduce((sum, { cut }) => sum + cut.tokensSaved, 0),
  }));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

for (const file of positionals) {
  const body = bodyOf(file);
  const tools = toolsOf(body);
  const request = estimateTokens(body.toString());
  const [declared, saved] = [sum(tools, ({ tokens }) => tokens), sum(tools, (tool) => tool.saved)];
  const shortened = tools.filter((tool) => tool.saved > 0).length;
  const deferred = tools.filter(({ kind }) => kind === 'deferred').length;
  say(
    `${basename(dirname(file))} ${basename(file)}: request ${request} → ${request - saved} tokens, tools ${declared} → ${declared - saved}; ${shortened} of ${tools.length} shortened, ${deferred} deferred`,
  );
}

interface Played {
  sessions: number;
  requests: number;
  declared: number;
  saved: number;
  shelved: number;
  called: number;
}

const declaredBy = new Map(
  values.declared.map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), toolsOf(bodyOf(pair.slice(at + 1)))];
  }),
);

/** Calls of a session by the tool's name, behind any prefix of a server. */
function callsOf({ messages }: Recording): Map<string, number> {
  const calls = new Map<string, number>();
  for (const { tool_calls } of messages) {
    for (const { function: called } of Array.isArray(tool_calls) ? tool_calls : []) {
      const name = called.name.split('__').at(-1) ?? '';
      calls.set(name, (calls.get(name) ?? 0) + 1);
    }
  }
  return calls;
}

const played = new Map<string, Played>();
for (const path of values.recordings) {
  const before = new Map<string, { sessions: number; readonly called: Set<string> }>();
  for await (const recording of recordingsIn([path])) {
    const { agent, messages } = recording;
    const tools = declaredBy.get(agent);
    const requests = messages.filter(({ role }) => role === 'assistant').length;
    if (!tools || requests === 0) continue;
    const calls = callsOf(recording);
    const nameOf = ({ name }: Tool): string => name.split('__').at(-1) ?? '';
    const evidence = before.get(agent) ?? { sessions: 0, called: new Set<string>() };
    const isUnused = (tool: Tool): boolean => tool.saved > 0 && !evidence.called.has(nameOf(tool));
    const shelf = evidence.sessions >= SESSIONS ? tools.filter(isUnused) : [];
    const total = played.get(agent) ?? { sessions: 0, requests: 0, declared: 0, saved: 0, shelved: 0, called: 0 };
    total.sessions++;
    total.requests += requests;
    total.declared += requests * sum(tools, ({ tokens }) => tokens);
    total.saved += requests * sum(shelf, ({ saved }) => saved);
    total.shelved += shelf.length;
    total.called += shelf.filter((tool) => calls.has(nameOf(tool))).length;
    played.set(agent, total);
    evidence.sessions++;
    for (const name of calls.keys()) evidence.called.add(name);
    before.set(agent, evidence);
  }
}
for (const [agent, { sessions, requests, declared, saved, shelved, called }] of played) {
  const each = (tokens: number): number => Math.round(tokens / requests);
  say(
    `${agent}: ${sessions} sessions, ${requests} requests: tools ${each(declared)} → ${each(declared - saved)} tokens a request (-${((100 * saved) / declared).toFixed(0)} %); ${called} of ${shelved} shelved tools were called after all`,
  );
}
