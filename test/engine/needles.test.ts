import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { callFacts } from '../../src/wires/transcript/tools.ts';

const WORDS =
  'order invoice basket customer payment shipment refund voucher address stock ledger mailer cache queue'.split(' ');
const VERBS = 'load store check merge print send count split parse retry'.split(' ');
const pick = (words: readonly string[], i: number): string => words[((i * 7_919) >>> 3) % words.length] ?? '';
const two = (number: number): string => String(number).padStart(2, '0');

/** Hits of a search in many files. */
const hit = (i: number): string =>
  `src/${pick(WORDS, i >> 4)}/${pick(VERBS, i >> 4)}-${(i >> 4) % 40}.ts:${1 + (i % 16) * 9}:  const ${pick(WORDS, i * 3)}${i % 50} = await ${pick(VERBS, i * 5)}(${pick(WORDS, i * 11)}.id, { limit: ${i % 100} });`;

/** Hits without their files, of which many hold a form of the word that is asked for. */
const thrown = (i: number): string =>
  `${1 + ((i * 37) % 900)}:    throw new ${['Type', 'Range', 'InvalidArgument', ''][i % 4]}Error(${i % 3 ? "'" : '`'}${pick(WORDS, i)} ${pick(WORDS, i * 3 + 1)}${i % 2 ? ' expected' : ' is not expected here'}, ${pick(VERBS, i * 5)} ${i % 7 ? pick(WORDS, i * 7) : 'it'}')`;

const packageRow = (name: string, version: string, about: string): string =>
  `ii  ${name.padEnd(40)} ${version.padEnd(24)} amd64        ${about}`;
const SYLLABLES = 'ga lo ri mun tas ke vor pel shi dra non bu fex qui zam wo'.split(' ');
const ABOUT =
  `utility library for directing compilation data shared type runtime command line tool support files header static
  development documentation fonts theme module server client network secure text image audio video format parser archive
  system service manager viewer editor common base extra simple fast small portable modern GNU version control build`.split(
    /\s+/,
  );
/** Names, versions and descriptions of which none is formed like the next, as on a real machine. */
const named = (i: number): string =>
  Array.from({ length: 2 + (i % 3) }, (_, k) => pick(SYLLABLES, i * 5 + k * 3 + 1)).join(i % 4 === 3 ? '-' : '') +
  (i % 5 === 0 ? `${i % 10}` : '');
const version = (i: number): string =>
  [`${i % 9}.${i % 30}-${i % 4}`, `1:${i % 40}.${i % 6}+dfsg-1`, `${2000 + (i % 20)}.${i % 12}~rc1`, `${i % 300}`][
    i % 4
  ] ?? '';
const varied = (i: number): string =>
  packageRow(
    named(i),
    version(i),
    Array.from({ length: 3 + (i % 6) }, (_, k) => pick(ABOUT, i * 13 + k * 7)).join(' '),
  );
/** Packages of which the name begins like the one that is asked for. */
const plugin = (i: number): string => varied(i).replace(/^ii {2}(\S+) {8}/, 'ii  python3-$1');
const versioned = (i: number): string => `${named(i)}\t${version(i)}`;
const listed = (i: number): string =>
  `${named(i)}/stable,now ${version(i)} ${i % 3 ? 'amd64' : 'all'} [installed${i % 2 ? ',automatic' : ''}]`;

const STATES = ['status unpacked', 'status half-configured', 'status installed', 'configure', 'install'];
const logged = (i: number): string =>
  `2026-05-${two(1 + ((i >> 10) % 28))} ${two((i >> 6) % 24)}:${two(i % 60)}:${two((i * 7) % 60)} ${STATES[i % 5]} lib${pick(WORDS, i)}${i >> 3}:amd64 ${1 + (i % 9)}.${i % 30}-${i % 4}`;

/** A command, what its lines look like, the one line that answers the goal, and the goal. */
const needles: readonly (readonly [string, (i: number) => string, string, string])[] = [
  [
    'grep -rn voucher src',
    hit,
    'src/voucher/merge-12.ts:88:  if (voucher.expiresAt < now) throw new VoucherExpired(voucher.code);',
    'Where is VoucherExpired thrown?',
  ],
  [
    "grep -rn 'retry' src",
    hit,
    'src/payment/retry-3.ts:41:  const delay = backoff(attempt, { base: 250 });',
    'How is the backoff of a payment retry computed?',
  ],
  [
    'dpkg -l',
    varied,
    packageRow('openssl', '3.0.2-0ubuntu1.15', 'Secure Sockets Layer toolkit - cryptographic utility'),
    'Which version of openssl is installed?',
  ],
  [
    'dpkg -l',
    varied,
    packageRow('postgresql-14', '14.9-0ubuntu0.22.04.1', 'Open Source Relational Database'),
    'Check whether postgresql is installed.',
  ],
  [
    "grep -rhn 'throw new' src",
    thrown,
    "479:    throw new NotSupportedError('expect header not supported')",
    'Where is expect used?',
  ],
  // names that are also words of any question, or hold signs
  ['dpkg -l', varied, packageRow('make', '4.3-4.1', 'utility for directing compilation'), 'Which make is installed?'],
  ['dpkg -l', varied, packageRow('file', '1:5.44-3', 'command line tool type data'), 'Quelle version de file ?'],
  ['dpkg -l', varied, packageRow('g++', '4:12.2.0-3', 'GNU build support'), 'Which version of g++ do we have?'],
  ['dpkg -l', plugin, packageRow('python3', '3.11.2-1', 'high-level language'), 'Is python3 installed?'],
  ['dpkg-query -W', versioned, 'less\t590-2', 'Is less installed?'],
  ['apt list --installed', listed, 'make/stable,now 4.3-4.1 amd64 [installed]', 'Do we have make?'],
  [
    'cat /var/log/dpkg.log',
    logged,
    '2026-05-11 08:12:09 upgrade openssl:amd64 3.0.2-0ubuntu1.10 3.0.2-0ubuntu1.15',
    'When was openssl upgraded?',
  ],
];

/** What an agent says with a call. */
const TASK =
  'I will check the orders first, then the payments and the retry of the queue, and print what the customer sees in the basket.';

describe('the one line that the goal requests among thousands', () => {
  it.each(needles.flatMap((needle) => ['', 'Let me look at that.', TASK].map((words) => [...needle, words] as const)))(
    'stays in the output of `%s`',
    (command, line, needle, goal, words) => {
      const far = words === TASK ? 3_993 : 1_480;
      for (const [count, at] of [
        [400, 150],
        [4_000, far],
      ] as const) {
        const lines = Array.from({ length: count }, (_, i) => (i === at ? needle : line(i)));
        // as the proxy asks: the call's own words, what the agent says with it, and the user's task
        const { hints, said } = callFacts({ name: 'bash', args: JSON.stringify({ command }) });
        const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
        const asked = `${said}\n${words}\n${goal}`.replaceAll(/\n{2,}/g, '\n');
        const { cuts } = planPrune({ text: lines.join('\n'), goal: asked, hints, limits });
        const gone = cuts.flatMap(({ startLine, endLine }) => lines.slice(startLine - 1, endLine));
        expect(gone.length).toBeGreaterThan(count / 2);
        expect(gone).not.toContain(needle);
      }
    },
  );
});
