import { ADVERSARIAL, KINDS } from '../../bench/engine-speed/texts.ts';
import type { Hints, SourceType } from '../../src/engine/types.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';
import { MADE } from './made.ts';
import { packageFile } from './packages.ts';

/** A text with what its caller would know of it. */
export interface GoldenText {
  readonly name: string;
  readonly text: string;
  /** Asks for something that the text has. */
  readonly goal: string;
  readonly hints: Hints;
  readonly sourceType: SourceType;
}

type Given = Pick<GoldenText, 'name' | 'text' | 'goal' | 'sourceType'> & Partial<Hints>;

function golden({ name, text, goal, sourceType, ...hints }: Given): GoldenText {
  return { name, text, goal, sourceType, hints: { origin: 'unknown', ...hints } };
}

const GOAL =
  'why does the retry of order_payload time out? look at retryLimit in src/worker/queue.ts and the 502 response';
const SIZE = 12_000;

function fromPackages(): GoldenText[] {
  const read = (name: Parameters<typeof packageFile>[0], path: string, goal: string, sourceType: SourceType) =>
    golden({
      name: `${name}/${path}`,
      text: packageFile(name, path).slice(0, 60_000),
      goal,
      sourceType,
      origin: 'read',
      path,
    });
  const schemas = packageFile('zod', 'src/v4/core/schemas.ts');
  const checks = packageFile('zod', 'src/v4/core/checks.ts');
  const sqlite = packageFile('better-sqlite3', 'deps/sqlite3/sqlite3.c');
  const numbered = checks
    .split('\n')
    .map((line, i) => `${String(i + 1).padStart(6)}\t${line}`)
    .join('\n');
  return [
    read('zod', 'src/v4/core/to-json-schema.ts', 'where are recursive references resolved in toJSONSchema?', 'code'),
    read('zod', 'src/v4/core/regexes.ts', 'does `ipv6` accept a zone id', 'code'),
    read('express', 'lib/response.js', 'res.redirect sends a wrong status for `redirect(301)`', 'code'),
    read('express', 'lib/application.js', 'app.set("trust proxy") is ignored', 'code'),
    read('undici', 'lib/dispatcher/client-h1.js', 'the parser times out: setTimeout of bodyTimeout', 'code'),
    read('better-sqlite3', 'src/better_sqlite3.cpp', 'how is the addon registered', 'code'),
    read('@types/node', 'fs.d.ts', 'signature of fs.cp and its options CopyOptions', 'code'),
    read('express', 'Readme.md', 'how do I run the tests?', 'docs'),
    read('pino', 'docs/api.md', 'How do I change the level of a child logger? `logger.child` with `level`', 'docs'),
    read('pino', 'docs/transports.md', 'send logs to datadog', 'docs'),
    read('undici', 'README.md', 'does fetch follow redirects, and how is keep-alive set', 'docs'),
    read('pino', 'package.json', 'which version of tap is used', 'docs'),
    golden({
      name: 'numbered zod checks',
      text: numbered,
      goal: 'checkGreaterThan',
      sourceType: 'code',
      path: 'checks.ts',
    }),
    golden({
      name: 'sqlite from 2 MB on',
      text: sqlite.slice(2_000_000, 2_050_000),
      goal: 'where does the pager sync the journal',
      sourceType: 'code',
    }),
    golden({
      name: 'grep over zod',
      text: grepped({ 'src/core/schemas.ts': schemas, 'src/core/checks.ts': checks }, /export const \$Zod/),
      goal: 'where is $ZodCheckMinLength defined',
      sourceType: 'code',
      origin: 'search',
      command: 'grep -rn "export const \\$Zod" src',
    }),
    golden({
      name: 'diff of zod',
      text: sparseDiff('src/core/checks.ts', checks),
      goal: 'what changed in checkMultipleOf',
      sourceType: 'code',
      command: 'git diff',
      origin: 'command',
    }),
  ];
}

/** Lines that match, as `grep -n` prints them. */
function grepped(files: Readonly<Record<string, string>>, pattern: RegExp): string {
  return Object.entries(files)
    .flatMap(([path, text]) =>
      text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}:${line}`] : [])),
    )
    .join('\n');
}

/** A diff that changes every fiftieth line of a text. */
function sparseDiff(path: string, text: string): string {
  const lines = text.split('\n');
  const out = [`diff --git a/${path} b/${path}`, 'index 0123456..789abcd 100644', `--- a/${path}`, `+++ b/${path}`];
  for (let at = 25; at + 4 < lines.length; at += 50) {
    out.push(`@@ -${at - 2},7 +${at - 2},7 @@`, ...lines.slice(at - 3, at).map((line) => ` ${line}`));
    out.push(`-${lines[at]}`, `+${lines[at]} // changed`, ...lines.slice(at + 1, at + 4).map((line) => ` ${line}`));
  }
  return out.join('\n');
}

/** All texts that plans are hashed of. */
export function goldenTexts(): GoldenText[] {
  const samples = [...KINDS, ...ADVERSARIAL].map(({ name, make, path, command }) =>
    golden({
      name,
      text: make(SIZE),
      goal: GOAL,
      sourceType: 'logs',
      ...(path === undefined ? {} : { path }),
      ...(command === undefined ? {} : { command, origin: 'command' as const }),
    }),
  );
  const helpers = [
    golden({
      name: 'server log',
      text: serverLog(400),
      goal: 'failing payment',
      sourceType: 'logs',
      origin: 'command',
    }),
    golden({
      name: 'source file',
      text: sourceFile(60),
      goal: 'retryOrder90 and loadBasket2',
      sourceType: 'code',
      path: 'a.ts',
    }),
    golden({
      name: 'long log',
      text: KINDS.find(({ name }) => name === 'service log')?.make(280_000) ?? '',
      goal: GOAL,
      sourceType: 'logs',
    }),
  ];
  const made = MADE.map((one) => golden(one));
  return [...samples, ...helpers, ...made, ...fromPackages()];
}
