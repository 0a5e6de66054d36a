import { resolve } from 'node:path';
import { linesOf } from '@mcp-pruner/sessions/file-lines.ts';
import { type Command, configOption, type Io } from 'mcp-pruner/cli/command.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { anthropicMessages } from 'mcp-pruner/wires/dialects/anthropic-messages/dialect.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from 'mcp-pruner/wires/dialects/openai-responses/dialect.ts';
import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { callFacts } from 'mcp-pruner/wires/transcript/tools.ts';
import type { RecordedMessage } from './messages.ts';
import { type RecordedRequest, Replay, type ReplayParts } from './replay.ts';
import { renderReplay, replayReport } from './report.ts';

/** Possible wires of recorded bodies. */
const DIALECTS = { chat: openaiChat, messages: anthropicMessages, responses: openaiResponses };

/** Practically unlimited, because no client waits. */
const TIMEOUT_MS = 600_000;

/** `mcp-pruner replay`: measures the effect of pruning on recorded conversations. */
export const replay: Command = {
  usage: 'replay <file.jsonl>… [options]',
  about: [
    'Sends recorded conversations through the very code of the proxy, offline: nothing is forwarded and nothing is',
    'stored. A line of a file is a request (chat, messages or responses), or an object with "request" and optionally "response".',
    'Reports tokens before and after, the bill with a prompt cache, dollars by the table of prices (of the usage in a',
    'recorded response, else estimated), whether every request begins with the one before it, and how many of the lines',
    'that a conversation needed later had been kept.',
  ].join('\n'),
  options: {
    ...configOption,
    lost: { type: 'boolean', doc: 'print the lines that were needed later and had been cut' },
    json: { type: 'boolean', doc: 'print the report as JSON' },
  },
  arguments: { min: 1, max: 1000 },

  async run(call, io) {
    const { settings } = readSettings(call, io);
    const [{ rewriterOf }, { decisionCacheOf }, { openStore }, { RefusedConversations }, { Bills }] = await Promise.all(
      [
        import('mcp-pruner/app/pipeline.ts'),
        import('mcp-pruner/app/pipeline.ts'),
        import('mcp-pruner/app/store.ts'),
        import('mcp-pruner/core/request/provider-verdicts.ts'),
        import('./bills.ts'),
      ],
    );
    const offline = { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: TIMEOUT_MS };
    const store = await openStore(offline, { edition: io.edition, clock: io.clock });
    let fault: unknown;
    const rewriter = rewriterOf(offline, {
      store,
      clock: io.clock,
      decisionCache: decisionCacheOf(offline, store, io.clock),
      refused: new RefusedConversations(store),
      onFailure: (_, cause) => (fault ??= cause),
    });
    const bills = new Bills(settings, io.clock);
    try {
      const parts: ReplayParts = {
        rewrite: async (body, wire, response) => {
          const dialect = DIALECTS[wire];
          const rewritten = await rewriter.rewrite({ body, dialect });
          bills.add(rewritten, dialect, response);
          return rewritten.body;
        },
        targetOf: (made) => {
          const { origin, path = '' } = callFacts(made).hints;
          return { reads: origin === 'read', path };
        },
      };
      const report = replayReport(await replayFiles(call.positionals, parts, io));
      if (fault !== undefined) throw fault;
      const dollars = await bills.dollars();
      const { lost, ...sums } = { ...report, dollars };
      const shown = call.values.lost === true ? { ...sums, lost } : { ...sums, lost: lost.length };
      io.out(
        call.values.json === true
          ? `${JSON.stringify(shown, null, 2)}\n`
          : renderReplay(report, dollars, call.values.lost === true),
      );
      return 0;
    } finally {
      await store.close();
    }
  },
};

async function replayFiles(
  paths: readonly string[],
  parts: ReplayParts,
  io: Io,
): Promise<ReturnType<Replay['finish']>> {
  const run = new Replay(parts);
  for (const path of paths) {
    try {
      for await (const request of readLog(resolve(io.cwd, path))) await run.add(request);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code === undefined) throw cause;
      throw new UserError(`cannot read ${path}: ${code}`, { cause });
    }
  }
  const totals = run.finish();
  if (totals.requests === 0) throw new UserError(`no request to a model in ${paths.join(', ')}`);
  return totals;
}

/** The message in a recorded answer. */
function answerOf(response: unknown): RecordedMessage | null {
  const message = field(field(field(response, 'choices'), '0'), 'message');
  return typeof field(message, 'role') === 'string' ? (message as RecordedMessage) : null;
}

/** Parses a log line: a request, or an object with `request` and optionally `response`. */
export function parseRecord(line: string): RecordedRequest {
  const value = parsed(line);
  const request = field(value, 'request');
  if (request === undefined) return { body: value };
  const response = field(value, 'response');
  const answer = answerOf(response);
  return { body: request, response, answer: answer ?? undefined };
}

/**
 * Reads a log line by line, skipping empty lines.
 *
 * @throws the error of the file system if the file cannot be read
 */
async function* readLog(path: string): AsyncGenerator<RecordedRequest> {
  for await (const line of linesOf(path, () => {}, Number.POSITIVE_INFINITY)) {
    if (line.trim() !== '') yield parseRecord(line);
  }
}
