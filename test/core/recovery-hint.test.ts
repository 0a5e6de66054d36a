import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recoverCommand } from '../../src/config/recover-command.ts';
import { addRecoveryHint } from '../../src/core/decide/decision.ts';
import { REASON_CHARS } from '../../src/engine/text/marker.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { settingsOf } from '../helpers/proxy.ts';
import { openPipeline, openStore, type RewriterParts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const TOOL = 'source intacte, lignes par recover_text';
const SHELL = 'source intacte, lignes par: mcp-pruner recover <prune_id> --lines a-b';
const ASKED = 'Why does the payment fail?';

const chat = (fields: object, text = serverLog(120), first: readonly object[] = []): object => ({
  ...fields,
  messages: [
    ...first,
    { role: 'user', content: ASKED },
    { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'bash', arguments: '{"command":"npm start"}' } }] },
    { role: 'tool', tool_call_id: 'a', content: text },
  ],
});
const messages = (fields: object, first: readonly object[] = []): object => ({
  ...fields,
  messages: [
    { role: 'user', content: ASKED },
    ...first,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'Bash', input: { command: 'npm start' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: serverLog(120) }] },
  ],
});
const responses = (fields: object, first: readonly object[] = []): object => ({
  ...fields,
  input: [
    ...first,
    { type: 'message', role: 'user', content: ASKED },
    { type: 'function_call', call_id: 'a', name: 'exec', arguments: '{"cmd":"npm start"}' },
    { type: 'function_call_output', call_id: 'a', output: serverLog(120) },
  ],
});
const named = { name: 'mcp__pruner__recover_text' };

async function reasonsOf(dialect: Dialect, body: object, parts: RewriterParts = {}): Promise<string[]> {
  const sent = await openPipeline(parts).rewrite({ body: Buffer.from(JSON.stringify(body)), dialect });
  return [...sent.body.toString().matchAll(/raison=([^⟧]*)⟧/g)].map(([, reason = '']) => reason);
}

describe('the recovery hint', () => {
  it.each<[string, Dialect, object]>([
    ['a tool of chat', openaiChat, chat({ tools: [{ type: 'function', function: named }] })],
    ['a tool of messages', anthropicMessages, messages({ tools: [named] })],
    ['a namespace of responses', openaiResponses, responses({ tools: [{ type: 'namespace', tools: [named] }] })],
    ['instructions', anthropicMessages, messages({ system: 'Call mcp__pruner__recover_text.' })],
    ['names to look up', anthropicMessages, messages({}, [{ role: 'system', content: 'mcp__pruner__recover_text' }])],
    [
      'a list of deferred tools in a user message',
      anthropicMessages,
      messages({}, [
        {
          role: 'user',
          content: '<system-reminder>\nDeferred tools:\nmcp__pruner__recover_text\n</system-reminder>\nWhy?',
        },
      ]),
    ],
    [
      'the namespace of the server in the description of a tool',
      openaiResponses,
      responses({ tools: [{ type: 'custom', name: 'exec', description: 'Global: tools.mcp__pruner' }] }),
    ],
    [
      'an item of tools',
      openaiResponses,
      responses({}, [{ type: 'additional_tools', role: 'developer', tools: [named] }]),
    ],
    [
      'a call that was made',
      openaiChat,
      chat({}, serverLog(120), [
        { role: 'assistant', tool_calls: [{ id: 'b', function: { name: 'recover_text', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'b', content: 'lines' },
      ]),
    ],
  ])('is recover_text if the client offers it: %s', async (_where, dialect, body) => {
    const [first, ...others] = await reasonsOf(dialect, body);
    expect(first).toContain(`; ${TOOL}`);
    expect(others.length).toBeGreaterThan(0);
    for (const reason of others) expect(reason).not.toContain('source');
  });

  it.each<[string, Dialect, object]>([
    ['chat', openaiChat, chat({ tools: [{ type: 'function', function: { name: 'bash' } }] })],
    ['messages', anthropicMessages, messages({ tools: [{ name: 'Bash' }] })],
    ['responses', openaiResponses, responses({ tools: [{ name: 'exec' }] })],
    [
      'a user who speaks of it',
      anthropicMessages,
      messages({}, [{ role: 'user', content: 'What does recover_text do?' }]),
    ],
    ['a result that names it', openaiChat, chat({}, `recover_text\n${serverLog(120)}`)],
  ])('is a command line if recover_text is not offered: %s', async (_wire, dialect, body) => {
    const [first] = await reasonsOf(dialect, body);
    expect(first).toContain(SHELL);
  });

  it('is in English if reasons are', async () => {
    const [first] = await reasonsOf(openaiChat, chat({ tools: [named] }), { reasonLanguage: 'en' });
    expect(first).toContain('source is whole, lines by recover_text');
  });

  it('stays as it was sent even if the tools change later', async () => {
    const store = openStore();
    const turn = (tools: object[]): Promise<string[]> => reasonsOf(openaiChat, chat({ tools }), { store });
    const sent = await turn([]);
    expect(await turn([named])).toEqual(sent);
  });

  it('names the file of the program if mcp-pruner is not on the PATH of this machine', () => {
    const file = '/home/me/mcp-pruner/dist/cli.js';
    const settings = settingsOf({ MCP_PRUNER_DB_PATH: ':memory:' });
    const elsewhere = tempFolder();
    expect(recoverCommand(settings, elsewhere, file)).toBe(`node ${file}`);
    writeFileSync(join(elsewhere, 'mcp-pruner'), '', { mode: 0o755 });
    expect(recoverCommand(settings, elsewhere, file)).toBeUndefined();
    for (const odd of ['/home/m e/dist/cli.js', `/${'x'.repeat(70)}/cli.js`, '/lib/vitest.mjs']) {
      expect(recoverCommand(settings, '', odd)).toBeUndefined();
    }
    const team = { ...settings, databaseUrl: 'postgres://db/x' };
    expect(recoverCommand(team, '', file)).toBeUndefined();
    const cuts = [{ startLine: 1, endLine: 9, reason: 'journal' }];
    const [cut] = addRecoveryHint(cuts, { way: 'shell', recoverCommand: `node ${file}` });
    expect(cut?.reason).toBe(`journal; source intacte, lignes par: node ${file} recover <prune_id> --lines a-b`);
  });

  it('takes precedence over the words of a long reason', () => {
    const reason = 'hors focus: '.padEnd(REASON_CHARS, 'x');
    const [cut] = addRecoveryHint([{ startLine: 1, endLine: 9, reason }], { way: 'shell' });
    expect(cut?.reason).toHaveLength(REASON_CHARS);
    expect(cut?.reason.endsWith(SHELL)).toBe(true);
  });
});
