import { type AskedCase, command, draws, mixed, saying, two } from './texts.ts';

const words = 'amber basil cobalt dune ebony flint ginger hazel indigo jade khaki lilac maroon navy ochre plum'.split(
  ' ',
);
const word = (i: number): string => words[(i * 7 + (i >> 3)) % 16] ?? '';
const one = (
  name: string,
  goal: string,
  hints: string,
  lines: readonly string[],
  answers: readonly number[],
  mayStay = false,
): AskedCase => ({ name, goal, lines, answers, hints: command(hints), ...(mayStay && { mayStay }) });
const sizes = draws(11);

/** What people reported in public about other tools that shorten output: the line that was lost must stay here. */
export const publicCases: readonly AskedCase[] = [
  // rtk#3486: the largest of 312 folders, without a word such as "largest" next to the number
  one(
    'du -sk of caches',
    'Which cache takes up the most disk space?',
    'du -sk Caches/*',
    mixed(
      312,
      [203],
      (i) => `${Math.ceil(sizes() * 250_000)}\t./Caches/com.${word(i)}.${word(i * 3)}${i}`,
      () => '4385248\t./Caches/com.apple.cds',
    ),
    [203],
  ),
  // rtk#3153: a cell that looks like the footer of a table
  one(
    'a cell like a footer',
    'Which backup took (12.34 sec)?',
    'mysql -t -e "select * from notes"',
    [
      '+-----+--------------------------------+',
      '| id  | note                           |',
      '+-----+--------------------------------+',
      ...mixed(
        200,
        [141],
        (i) => `| ${String(i).padStart(3)} | ${`${saying(i)} ok`.padEnd(30)} |`,
        (i) => `| ${String(i).padStart(3)} | backup done (12.34 sec) ok     |`,
      ),
      '+-----+--------------------------------+',
      '200 rows in set (0.01 sec)',
    ],
    [0, 1, 2, 144, 204],
  ),
  // rtk#2271: headers of folders in `ls -R`
  one(
    'folders of ls -R',
    'Where is the module for maroon payments?',
    'ls -R src',
    Array.from({ length: 40 }, (_, i) => [
      `src/${word(i)}${i}:`,
      ...Array.from({ length: 6 }, (_, k) =>
        i === 22 && k === 3 ? 'maroon_payments.rs' : `${word(i * 5 + k)}_${k}.rs`,
      ),
      '',
    ]).flat(),
    [22 * 8, 22 * 8 + 4],
  ),
  // omni#111: a pod in trouble at row 180 of 250
  one(
    'a pod far down',
    'Are all pods fine?',
    'kubectl get pods -A',
    [
      'NAMESPACE   NAME                     READY   STATUS             RESTARTS   AGE',
      ...mixed(
        250,
        [180],
        (i) =>
          `team-${String(i % 9).padEnd(6)} ${`${word(i)}-${word(i * 3)}-${i}`.padEnd(24)} 1/1     Running            0          ${1 + (i % 9)}d`,
        () => 'team-3      payments-7d9f-x2v1       0/1     CrashLoopBackOff   212        3d',
      ),
    ],
    [181],
  ),
  // codex#9502: the error in the middle of a long build
  one(
    'an error in the middle of a build',
    'did it build?',
    'msbuild app.sln',
    mixed(
      900,
      [431],
      (i) => `  ClCompile: ${word(i)}\\${word(i * 3)}_${i}.cpp -> obj\\${word(i)}_${i}.obj`,
      () => "src\\parser.cpp(212): error C2065: 'tokn': undeclared identifier",
    ),
    [431],
  ),
  // codex#6415: few but long lines, with the failure at the end
  one(
    'few long lines with the failure last',
    'run it',
    'cargo run',
    [
      ...Array.from(
        { length: 60 },
        (_, i) => `   Compiling ${word(i)}${i} v0.${i % 9}.1 ${`(/home/me/${word(i)}) `.repeat(12)}`,
      ),
      'error: could not compile `app` (bin "app") due to 2 previous errors',
    ],
    [60],
    true,
  ),
  // rtk#1313: files that must be staged, all of them changed
  one(
    'git status with 34 changes',
    'Stage everything that belongs to the fix.',
    'git status',
    [
      'On branch main',
      'Changes not staged for commit:',
      '  (use "git add <file>..." to update what will be committed)',
      ...Array.from({ length: 33 }, (_, i) => `\tmodified:   src/${word(i)}/${word(i * 3)}_${i}.ts`),
      '\tdeleted:    migrations/0042_fix.sql',
    ],
    [36 - 0],
    true,
  ),
  // headroom#3634 again, with `jq -c` lines
  one(
    'tags of a task on one line',
    'Which tags has task 79?',
    'jq -c .[] tasks.json',
    mixed(
      150,
      [79],
      (i) => `{"id":${i},"title":"${saying(i)}","tags":["${word(i)}","${word(i * 3)}"]}`,
      (i) => `{"id":${i},"title":"${saying(i)}","tags":["urgent","billing"]}`,
    ),
    [79],
  ),
  // a question about a span in another zone than the log's
  one(
    'a span in Tokyo time',
    'What happened between 23:10 and 23:20 JST?',
    'kubectl logs api',
    Array.from(
      { length: 400 },
      (_, i) => `2026-05-11T${two(11 + Math.floor(i / 60))}:${two(i % 60)}:07Z INFO ${saying(i)}`,
    ),
    Array.from({ length: 10 }, (_, k) => (14 - 11) * 60 + 10 + k),
  ),
  // rtk#2376 again: images sorted by name
  one(
    'the image that fills the disk',
    'Why is the disk full? Which image is the largest?',
    'podman images',
    [
      'REPOSITORY                 TAG      IMAGE ID      CREATED      SIZE',
      ...mixed(
        90,
        [37],
        (i) =>
          `localhost/${word(i).padEnd(16)} v${i % 9}       ${(0xabcdef0 + i * 7919).toString(16).padEnd(12, '0')}  ${1 + (i % 9)} days ago   ${100 + (i % 80)} MB`,
        () => 'localhost/train-cuda       v3       9f8e7d6c5b4a  2 days ago   41.2 GB',
      ),
    ],
    [38],
  ),
];
