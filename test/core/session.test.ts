import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { contentIdOf, sessionIn } from '../../src/base/conversation-ids.ts';
import { ConversationNames, type IsKnown, type NamedRequest } from '../../src/core/request/conversation-names.ts';
import { type SessionHeaders, sessionOf } from '../../src/core/request/session.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { manualClock } from '../helpers/rewriter.ts';

const NONE: SessionHeaders = { claudeCode: '', codex: '', others: '' };

function namedIn(dialect: typeof anthropicMessages, fields: object, headers = NONE): string {
  const body = Buffer.from(JSON.stringify(fields));
  return sessionOf(headers, { body, ...dialect.scan(body) });
}

const messages = [{ role: 'user', content: 'session_id, "prompt_cache_key":"words"' }];
const tools = [{ name: 'x', description: '"prompt_cache_key":"a tool"', input_schema: {} }];
const userId = (user_id: string) => ({ tools, messages, metadata: { user_id } });

describe('the session of a request', () => {
  it('is read from either form of Claude Code’s metadata', () => {
    const json = JSON.stringify({ device_id: 'd', account_uuid: 'a', session_id: 's-1' });
    expect(namedIn(anthropicMessages, userId(json))).toBe('s-1');
    expect(namedIn(anthropicMessages, userId('user_0f_account_1-2_session_s-2'))).toBe('s-2');
    expect(namedIn(anthropicMessages, userId('somebody'))).toBe('');
    expect(namedIn(anthropicMessages, { messages, tools })).toBe('');
  });

  it('is taken from the first source that names one', () => {
    const of = { ...userId('user_0_session_in-metadata'), prompt_cache_key: 'key' };
    const all = { claudeCode: 'claude', codex: 'codex', others: 'affinity' };
    expect(namedIn(anthropicMessages, of, all)).toBe('claude');
    expect(namedIn(anthropicMessages, of, { ...all, claudeCode: '' })).toBe('in-metadata');
    const responses = { input: messages, prompt_cache_key: 'key' };
    expect(namedIn(openaiResponses, responses, { ...NONE, codex: 'codex' })).toBe('codex');
    expect(namedIn(openaiResponses, responses, { ...NONE, others: 'affinity' })).toBe('key');
    expect(namedIn(openaiResponses, { input: messages }, { ...NONE, others: 'affinity' })).toBe('affinity');
  });
});

const CONTENT = '0123456789abcdef0123456789abcdef';

function namesAt(clock = manualClock(), isKnown?: IsKnown) {
  const names = new ConversationNames(clock, isKnown);
  let requests = 0;
  const nameOf = (prefixes: string, over: Partial<NamedRequest> = {}): string =>
    names.nameOf({
      ...{
        bytes: prefixes.length,
        sum: crc32(prefixes),
        project: 'p',
        requestId: `r${requests++}`,
        session: '',
        origin: '',
        contentId: CONTENT,
      },
      ...{
        begins: prefixes.length === 1,
        prefixes: Array.from(prefixes, (_, i) => prefixes.slice(0, i + 1)),
        previous: '',
        ...{ purpose: 'generate', wire: 'chat' },
        ...over,
      },
    });
  return { names, clock, nameOf };
}

describe('the shown id of a conversation', () => {
  it('is the hash of the first words if there is no session, else begins with the session’s hash', () => {
    const { nameOf } = namesAt();
    expect(nameOf('a')).toBe(CONTENT);
    const [one, other] = [nameOf('a', { session: 's1' }), nameOf('a', { session: 's2' })];
    expect([one, other].map(contentIdOf)).toEqual([CONTENT, CONTENT]);
    expect(new Set([CONTENT, one, other]).size).toBe(3);
    expect([CONTENT, one].map(sessionIn)).toEqual(['', one.slice(0, 12)]);
    expect(nameOf('ab1', { session: 's1' })).toBe(one);
    expect(nameOf('', { contentId: '', session: 's1' })).toBe('');
  });

  it('differs on another wire, in every process', () => {
    const wires = ['chat', 'messages', 'responses', 'gemini', 'interactions', 'converse'] as const;
    const { names, nameOf } = namesAt();
    const ids = wires.map((wire) => nameOf('a', { wire }));
    expect(ids).toEqual([CONTENT, ...wires.slice(1).map((wire) => `${wire}-${CONTENT}`)]);
    expect([ids.map(contentIdOf), ids.map(sessionIn)]).toEqual([wires.map(() => CONTENT), wires.map(() => '')]);
    expect(wires.map((wire) => nameOf('ab1', { wire }))).toEqual(ids);
    names.answered('p', ids[1] ?? '');
    expect(nameOf('a', { wire: 'messages' })).toMatch(new RegExp(`^messages-[0-9a-f]{8}-${CONTENT}$`));
    const { nameOf: later } = namesAt();
    expect(wires.map((wire) => later('ab1', { wire }))).toEqual(ids);
    // a session needs no wire
    expect(nameOf('a', { wire: 'gemini', session: 's' })).toMatch(/^[0-9a-f]{12}-[0-9a-f]{32}$/);
  });

  it('stays the same for ten minutes for a retry of a first request that is in progress or failed', () => {
    const { names, clock, nameOf } = namesAt();
    const first = nameOf('a');
    expect(nameOf('a')).toBe(first);
    clock.now += 599_000;
    expect(nameOf('a')).toBe(first);
    clock.now += 600_000;
    expect(nameOf('a')).not.toBe(first);
    const other = nameOf('a', { session: 's' });
    names.answered('p', other);
    expect(nameOf('a', { session: 's' })).not.toBe(other);
  });

  it('is new if the same first words come in different bytes, or were already answered', () => {
    const { names, nameOf } = namesAt();
    const first = nameOf('a');
    const second = nameOf('a', { sum: crc32('another model') });
    names.answered('p', first);
    const third = nameOf('a');
    expect(new Set([first, second, third]).size).toBe(3);
    expect([second, third].map(sessionIn)).toEqual(['', '']);
  });

  it('identifies the newest conversation that a later request continues', () => {
    const { names, nameOf } = namesAt();
    const first = nameOf('a');
    names.answered('p', first);
    const second = nameOf('a');
    expect(nameOf('ab1')).toBe(second);
    // the second one went on, so that these are the first one's
    expect(nameOf('ac1')).toBe(first);
    expect([nameOf('ab1b2'), nameOf('ac1c2')]).toEqual([second, first]);
    // a step back
    expect(nameOf('ab1d3')).toBe(second);
  });

  it('of a side conversation with the same first words belongs to the session', () => {
    const { nameOf } = namesAt();
    const main = nameOf('a', { session: 's' });
    nameOf('ab1', { session: 's' });
    const side = nameOf('a', { session: 's', sum: crc32('sub-agent') });
    expect(side).not.toBe(main);
    expect(sessionIn(side)).toBe(sessionIn(main));
    expect(nameOf('ab1c2', { session: 's' })).toBe(main);
    expect(nameOf('ad1', { session: 's' })).toBe(side);
  });

  it('stays the same if words are added to a first request that was not answered', () => {
    const { nameOf } = namesAt();
    const first = nameOf('a');
    expect(nameOf('az', { begins: true })).toBe(first);
    expect(nameOf('azb1')).toBe(first);
  });

  it('is found by the answer that a request continues', () => {
    const { names, nameOf } = namesAt();
    const first = nameOf('a');
    names.answered('p', first);
    const second = nameOf('a');
    names.kept('p', first, 'resp_1');
    names.kept('p', second, 'resp_2');
    const continuing = { begins: false, prefixes: ['x'] };
    expect(nameOf('x', { ...continuing, previous: 'resp_1' })).toBe(first);
    expect(nameOf('y', { ...continuing, prefixes: ['y'], previous: 'resp_2' })).toBe(second);
  });

  it('is not changed by a request that only counts tokens', () => {
    const { nameOf } = namesAt();
    const first = nameOf('a', { purpose: 'count' });
    expect([nameOf('a'), nameOf('a', { sum: crc32('counted'), purpose: 'count' })]).toEqual([first, first]);
  });

  it('is the usual one in a process that has not seen the conversation, and is not reused later', () => {
    const { nameOf } = namesAt();
    expect(nameOf('ab1')).toBe(CONTENT);
    expect(nameOf('z', { begins: true })).not.toBe(CONTENT);
  });
});

describe('conversations without a session that begin with the same words', () => {
  const ORIGINS = [
    'Cline\n\n',
    'OpenAI\nCline\n',
    'OpenAI\nCopilot\n',
    'QwenCode\n\n',
    'QwenCode\n\nabc',
    'QwenCode\n\ndef',
  ];
  const named = (nameOf: ReturnType<typeof namesAt>['nameOf'], prefixes: string, over: Partial<NamedRequest> = {}) =>
    ORIGINS.map((origin) => nameOf(prefixes, { origin, ...over }));

  it('are apart if client, title or run differ, in one process and in several', () => {
    const { nameOf } = namesAt();
    const first = named(nameOf, 'a');
    expect(new Set([...first, nameOf('a')]).size).toBe(ORIGINS.length + 1);
    expect(first.map(contentIdOf)).toEqual(ORIGINS.map(() => CONTENT));
    expect(first.map(sessionIn)).toEqual(ORIGINS.map(() => ''));
    expect(named(nameOf, 'ab1')).toEqual(first);
    // other processes see a later request only
    expect(ORIGINS.map((origin) => namesAt().nameOf('ab1', { origin }))).toEqual(first);
    expect(named(namesAt().nameOf, 'ab1')).toEqual(first);
  });

  it('are apart on each wire, and one conversation within a session', () => {
    const wires = ['chat', 'messages', 'responses', 'gemini'] as const;
    const { nameOf } = namesAt();
    const names = wires.flatMap((wire) => named(nameOf, 'a', { wire }));
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(named(nameOf, 'a', { session: 's' })).size).toBe(1);
  });

  it('go on under the name that an earlier version gave them', () => {
    const stored: IsKnown = (project, name) => project === 'p' && name === CONTENT;
    const { nameOf } = namesAt(manualClock(), stored);
    const origin = 'Cline\n\n';
    expect(nameOf('ab1', { origin })).toBe(CONTENT);
    expect(nameOf('ab1c2', { origin })).toBe(CONTENT);
    expect(nameOf('ab1', { origin, project: 'other' })).not.toBe(CONTENT);
    // a new conversation, and one whose own name is stored
    const begun = nameOf('a', { origin: 'Qwen\n\n' });
    expect(begun).not.toBe(CONTENT);
    expect(nameOf('az9', { origin: 'Qwen\n\n' })).toBe(begun);
    const both: IsKnown = (_, name) => name === CONTENT || name === begun;
    expect(namesAt(manualClock(), both).nameOf('az9', { origin: 'Qwen\n\n' })).toBe(begun);
  });
});
