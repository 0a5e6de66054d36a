import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meaningOf } from '../../src/core/hash.ts';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';
import type { Dialect, ProviderUsage, Purpose, ScannedBody } from '../../src/wires/dialects/dialect.ts';
import { MAX_MESSAGES } from '../../src/wires/dialects/scan-body.ts';
import { decodeString, JsonShapeError } from '../../src/wires/json/cursor.ts';
import { openPipeline, openStore, restored } from '../helpers/rewriter.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

/** A turn of a conversation, as every wire can say it. */
export type Turn =
  | { readonly user: string }
  | { readonly said: string; readonly calls: readonly TurnCall[] }
  | { readonly results: readonly { readonly id: string; readonly text: string }[] };

export interface TurnCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a test needs to speak a wire. */
export interface DialectMaterial {
  readonly dialect: Dialect;
  readonly claims: readonly (readonly [method: string, path: string, purpose: Purpose | null])[];
  /** A request; its messages stand last unless `behind` gives fields to put behind them. */
  readonly body: (turns: readonly Turn[], behind?: Readonly<Record<string, unknown>>) => Buffer;
  /** The same conversation in the other spellings that clients use. */
  readonly respelled: (turns: readonly Turn[]) => readonly Buffer[];
  /** Bodies with a large text in which a key that matters stands twice; `text` is that text. */
  readonly ambiguous: (text: string) => readonly (readonly [name: string, body: Buffer])[];
  /** A body of so many of the smallest messages. */
  readonly many: (count: number) => Buffer;
  readonly answers: readonly {
    readonly name: string;
    readonly bytes: Buffer;
    readonly usage: ProviderUsage | null;
  }[];
}

const LOG = serverLog(150);
const FILE = sourceFile(80);
const QUESTION = 'Why does the checkout fail for some customers? Find the failing payment.';

/** Two calls at once, then a file: the results behind the last answer are what may be cut. */
const TURNS: readonly Turn[] = [
  { user: QUESTION },
  {
    said: 'I look at both. é 😀',
    calls: [
      { id: 'call_1', name: 'bash', args: { command: 'cat "server.log"' } },
      { id: 'call_2', name: 'read_file', args: { path: 'src/a.ts', context_focus_question: QUESTION } },
    ],
  },
  {
    results: [
      { id: 'call_1', text: `${LOG}\r\nünïcode 😀 \u0007 "quoted" \\ /` },
      { id: 'call_2', text: FILE },
    ],
  },
];

/** What every wire format must keep to. */
export function describeDialect(material: DialectMaterial): void {
  const { dialect, body } = material;
  const scanned = (bytes: Buffer): ScannedBody => dialect.scan(bytes);

  describe(`the dialect ${dialect.name}`, () => {
    it.each(material.claims)('classifies %s %s as %s', (method, path, purpose) => {
      expect(dialect.claims(method, path)).toBe(purpose);
    });

    it('finds texts and calls, and the call of each result', () => {
      const bytes = body(TURNS);
      const { messages } = scanned(bytes);
      const texts = messages.flatMap(({ texts: list }) =>
        list.map(({ literal, use, callId }) => ({
          use,
          callId,
          text: decodeString(bytes, literal.start, literal.end),
        })),
      );
      const [, said, results] = TURNS;
      expect(texts.filter(({ use }) => use === 'words').map(({ text }) => text)).toEqual([QUESTION]);
      expect(texts.filter(({ use }) => use === 'said').map(({ text }) => text)).toEqual([
        said && 'said' in said ? said.said : '',
      ]);
      expect(texts.filter(({ use }) => use === 'result')).toEqual(
        (results && 'results' in results ? results.results : []).map(({ id, text }) => ({
          use: 'result',
          callId: id,
          text,
        })),
      );
      const calls = messages.flatMap(({ calls: list }) => list);
      expect(calls.map(({ id, name }) => ({ id, name }))).toEqual([
        { id: 'call_1', name: 'bash' },
        { id: 'call_2', name: 'read_file' },
      ]);
      for (const { args } of calls) {
        const raw = bytes.toString('utf8', args?.start, args?.end);
        const value: unknown = JSON.parse(raw);
        const json: unknown = typeof value === 'string' ? JSON.parse(value) : value;
        expect(json).toBeTypeOf('object');
      }
      // an answer of the model's stands before the results and none behind them
      const roles = messages.map(({ role }) => role);
      expect(roles.lastIndexOf('assistant')).toBeLessThan(
        messages.findLastIndex(({ texts: [text] }) => text?.use === 'result'),
      );
    });

    it('changes no byte outside the cuts, and cuts can be reverted', async () => {
      const store = openStore();
      for (const bytes of [
        body(TURNS),
        body(TURNS, { temperature: 1.0, top: [1, { a: null }] }),
        ...material.respelled(TURNS),
      ]) {
        const rewritten = await openPipeline({ store }).rewrite({ body: bytes, dialect });
        expect(rewritten.outcomes.map(({ pruneId }) => pruneId !== null)).toEqual([true, true]);
        expect(JSON.parse(rewritten.body.toString())).toBeTypeOf('object');
        await expectSameButCuts(bytes, rewritten.body);
      }
      async function expectSameButCuts(before: Buffer, after: Buffer): Promise<void> {
        const pieces = [before, after].map((bytes) => {
          const texts = scanned(bytes).messages.flatMap((message) => message.texts);
          const ends = [0, ...texts.map(({ literal }) => literal.end)];
          return {
            between: [
              ...texts.map(({ literal }, i) => bytes.toString('latin1', ends[i], literal.start)),
              bytes.toString('latin1', ends.at(-1)),
            ],
            texts: texts.map(({ literal }) => decodeString(bytes, literal.start, literal.end) ?? ''),
          };
        });
        expect(pieces[1]?.between).toEqual(pieces[0]?.between);
        const back = await Promise.all((pieces[1]?.texts ?? []).map((text) => restored(text, store)));
        expect(back).toEqual(pieces[0]?.texts);
      }
    });

    it('resumes after any message as if it had read the whole body', () => {
      for (const bytes of [body(TURNS), body(TURNS, { model: 'behind', stream: true }), ...material.respelled(TURNS)]) {
        const whole = scanned(bytes);
        for (let known = 1; known <= whole.messages.length; known++) {
          const at = whole.messages[known - 1]?.span.end ?? 0;
          const messages = whole.messages.slice(0, known);
          expect(dialect.scan(bytes, { at, before: whole.before, messages })).toEqual(whole);
        }
      }
    });

    it('resumes in the pipeline, and each forwarded body begins with the previous one', async () => {
      const pipeline = openPipeline();
      let last: Buffer = Buffer.alloc(0);
      for (const turns of [TURNS, [...TURNS, { said: 'It is the gateway.', calls: [] }, { user: 'Go on.' }]]) {
        const { body: sent } = await pipeline.rewrite({ body: body(turns), dialect });
        const end = scanned(last.length > 0 ? last : sent).messages.at(-1)?.span.end ?? 0;
        if (last.length > 0) expect(sent.subarray(0, end).equals(last.subarray(0, end))).toBe(true);
        last = sent;
      }
    });

    it('derives the same meaning from every spelling, and a different meaning from a different text', () => {
      const meanings = (bytes: Buffer): string[] =>
        scanned(bytes)
          .messages.filter(({ role }) => role !== 'other')
          .map((message) => meaningOf(bytes, message));
      const plain = meanings(body(TURNS));
      expect(new Set(plain).size).toBe(plain.length);
      const others = material.respelled(TURNS);
      expect(others.length).toBeGreaterThan(0);
      for (const bytes of others) expect(meanings(bytes)).toEqual(plain);
      const [user, said] = TURNS;
      const changed = meanings(
        body(
          [
            user,
            said,
            {
              results: [
                { id: 'call_1', text: `${LOG}!` },
                { id: 'call_2', text: FILE },
              ],
            },
          ].flatMap((turn) => turn ?? []),
        ),
      );
      expect(changed).not.toEqual(plain);
    });

    it.each(material.ambiguous(LOG))('never changes ambiguous texts: %s', async (_name, bytes) => {
      expect((await openPipeline().rewrite({ body: bytes, dialect })).body).toBe(bytes);
    });

    it('refuses mangled bodies with one kind of error, and never returns positions outside them', () => {
      const bytes = body([
        { user: 'Why?' },
        { said: '', calls: [{ id: 'c', name: 'ls', args: {} }] },
        { results: [{ id: 'c', text: 'a\nb' }] },
      ]);
      const change = fc.record({
        at: fc.nat(bytes.length),
        by: fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '[', ']', '0', 'x', ' ', '\u0000', 'null'),
      });
      fc.assert(
        fc.property(
          fc.array(change, { maxLength: 4 }),
          fc.option(fc.nat(bytes.length), { freq: 3 }),
          (changes, cut) => {
            let text = bytes.toString('latin1');
            for (const { at, by } of changes) text = text.slice(0, at) + by + text.slice(at + 1);
            const mangled = Buffer.from(cut === null ? text : text.slice(0, cut), 'latin1');
            try {
              for (const { span, texts, calls } of scanned(mangled).messages) {
                for (const { literal } of texts) expectString(mangled, literal, span);
                for (const { args } of calls) if (args) expect(args.end).toBeLessThanOrEqual(span.end);
              }
            } catch (error) {
              if (!(error instanceof JsonShapeError)) throw error;
            }
          },
        ),
        { numRuns: 300 },
      );
      for (const text of ['', '[]', 'null', '"x"', '{', '{}}', '\ufeff{}']) {
        expect(() => scanned(Buffer.from(text))).toThrow(JsonShapeError);
      }
    });

    it('refuses a body with too many messages without reading the rest', () => {
      expect(scanned(material.many(MAX_MESSAGES)).messages).toHaveLength(MAX_MESSAGES);
      // what comes behind the last that may be looked at is broken, and nobody sees it
      const hostile = material.many(40 * MAX_MESSAGES).subarray(0, -3);
      expect(() => scanned(hostile)).toThrow(expect.objectContaining({ code: 'too_many_messages' }));
    });

    it('reports an error as JSON with code and message', () => {
      const error = dialect.error(503, 'shutting_down', 'Try again in a moment.').toString();
      expect(JSON.parse(error)).toHaveProperty('error.message', expect.stringContaining('Try again in a moment.'));
    });

    it.each(material.answers)('reads the usage of $name, wherever its chunks are split', ({ bytes, usage }) => {
      for (const size of [bytes.length, 1, 7, 1_000]) {
        const reader = new AnswerReader();
        for (let at = 0; at < bytes.length; at += size) reader.data(bytes.subarray(at, at + size));
        expect(reader.end().usage).toEqual(usage);
      }
    });
  });
}

function expectString(bytes: Buffer, literal: { start: number; end: number }, within: { start: number; end: number }) {
  expect(literal.start).toBeGreaterThan(within.start);
  expect(literal.end).toBeLessThan(within.end);
  expect(bytes.toString('latin1', literal.start, literal.start + 1)).toBe('"');
  expect(bytes.toString('latin1', literal.end - 1, literal.end)).toBe('"');
}
