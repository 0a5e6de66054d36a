import { type AskedCase, command, draws, places, saying, two } from './texts.ts';

const WORDS =
  'alpha bravo cedar delta ember fjord grove heron inlet jetty kelp lark mesa nectar otter pearl quartz reef sable tulip'.split(
    ' ',
  );
const name = (i: number): string => `${WORDS[i % 20]}-${WORDS[(i * 7 + (i >> 4)) % 20]}${i}`;

interface Shape {
  readonly name: string;
  readonly command: string;
  readonly head?: readonly string[];
  readonly goals: readonly string[];
  /** A line with an ordinary value (a draw from 0 to 1), or with the extreme one. */
  readonly line: (i: number, draw: number | null) => string;
  readonly n?: number;
  readonly tail?: readonly string[];
}

const SHAPES: readonly Shape[] = [
  {
    name: 'psql revenue',
    command: 'psql -c "select name, orders, revenue from shops"',
    head: [' name               | orders |   revenue', '--------------------+--------+-----------'],
    tail: ['(180 rows)'],
    goals: [
      'Which shop has the largest revenue?',
      'Which shop earns the most?',
      'Welcher Laden hat den höchsten Umsatz (revenue)?',
    ],
    line: (i, d) =>
      ` ${name(i).padEnd(18)} | ${String(40 + (i % 9)).padStart(6)} | ${(d === null ? 981_240.5 : 1_000 + d * 300_000).toFixed(2).padStart(9)}`,
  },
  {
    name: 'du -a',
    command: 'du -a .',
    goals: ['What takes the most space?', 'Which is the largest file?', 'Quel est le plus gros fichier ?'],
    line: (i, d) => `${d === null ? 83_641 : 4 * Math.ceil(d * 9_000)}\t./src/${WORDS[i % 20]}/${name(i)}.bin`,
  },
  {
    name: 'docker images',
    command: 'docker images',
    head: ['REPOSITORY                    TAG       IMAGE ID       CREATED        SIZE'],
    goals: ['Which image is the biggest?', '¿Cuál es la imagen más grande?'],
    line: (i, d) =>
      `registry/${name(i).padEnd(20)} ${`1.${i % 9}`.padEnd(9)} ${((i * 2_654_435_761) >>> 0).toString(16).padStart(12, 'a')}   ${1 + (i % 6)} weeks ago    ${d === null ? '41.2GB' : d < 0.5 ? `${Math.ceil(120 + d * 1_700)}MB` : `${(1 + d * 3).toFixed(2)}GB`}`,
  },
  {
    name: 'slowest test',
    command: 'npx vitest run --reporter verbose',
    goals: ['Which test is the slowest?', 'Find the test that took the longest.', 'Welcher Test ist der langsamste?'],
    line: (i, d) =>
      ` ✓ src/${WORDS[i % 20]}/${name(i)}.test.ts > handles ${WORDS[(i * 3) % 20]} case ${i} ${d === null ? '12.8s' : `${Math.ceil(d * 900)}ms`}`,
  },
  {
    name: 'pytest durations',
    command: 'pytest --durations=0',
    goals: ['What is the slowest test?', 'Quel test est le plus lent ?'],
    line: (i, d) =>
      `${(d === null ? 48.31 : d * 3).toFixed(2)}s call     tests/${WORDS[i % 20]}/test_${name(i).replace('-', '_')}.py::test_${WORDS[(i * 3) % 20]}`,
  },
  {
    name: 'ps aux',
    command: 'ps aux',
    head: ['USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND'],
    goals: ['Which process uses the most memory?', 'Which process has the highest RSS?'],
    line: (i, d) =>
      `app      ${String(1_000 + i * 3).padStart(7)}  0.${i % 9}  0.${(i * 3) % 9} ${String(90_000 + (i % 70) * 100).padStart(6)} ${String(d === null ? 88_210 : Math.ceil(2_000 + d * 30_000)).padStart(5)} ?        S    10:0${i % 9}   0:00 /usr/bin/${name(i)} --serve`,
  },
  {
    name: 'CSV',
    command: 'cat stations.csv',
    head: ['station,day,rain_mm,temp_c'],
    goals: ['Which station had the most rain?', 'What was the maximum rain_mm?'],
    line: (i, d) =>
      `${name(i)},2026-05-${two(1 + (i % 28))},${(d === null ? 211.4 : d * 90).toFixed(1)},${10 + (i % 9)}`,
  },
  {
    name: 'logfmt latency',
    command: 'cat gateway.log',
    goals: ['Which call has the highest latency_ms?', 'When was the latency spike?'],
    line: (i, d) =>
      `time=2026-05-11T10:${two(Math.floor(i / 4) % 60)}:${two((i * 15) % 60)}Z level=info route=/v1/${WORDS[i % 20]} latency_ms=${d === null ? 9_120 : Math.ceil(20 + d * 1_900)} bytes=${400 + (i % 50)}`,
  },
  {
    name: 'ls -l',
    command: 'ls -l',
    goals: ['Which file is the largest?', 'Which is the biggest archive?'],
    line: (i, d) =>
      `-rw-r--r-- 1 app app ${String(d === null ? 7_340_032_000 : Math.ceil(d * 900_000_000)).padStart(11)} May ${two(1 + (i % 28))} 10:${two(i % 60)} ${name(i)}.dump`,
  },
  {
    name: 'JSON lines',
    command: 'cat jobs.ndjson',
    goals: ['Which job ran the longest?', 'Which job has the highest durationMs?'],
    line: (i, d) =>
      `{"job":"${name(i)}","attempts":${1 + (i % 3)},"durationMs":${d === null ? 912_345 : Math.ceil(d * 200_000)},"state":"done"}`,
  },
  {
    name: 'fewest rows',
    command: 'cat partitions.txt',
    goals: ['Which partition has the fewest rows?', 'What is the smallest partition?'],
    line: (i, d) => `partition p${i} rows ${d === null ? 3 : 40_000 + Math.ceil(d * 9_000)} node n${i % 7}`,
  },
  {
    name: 'comparison with a unit',
    command: 'cat requests.txt',
    goals: [
      'Which requests took more than 20 seconds?',
      'Which requests exceed 20s?',
      'Quelles requêtes durent plus de 20 s ?',
    ],
    line: (i, d) =>
      `GET /v1/${name(i)} 200 ${d === null ? '31.4s' : `${Math.ceil(d * 9_000)}ms`} shard ${(i * 7) % 13}`,
  },
  {
    name: 'oldest branch',
    command: 'git for-each-ref',
    goals: ['Which branch is the oldest?', 'Welcher Branch ist der älteste?'],
    line: (i, d) =>
      `${d === null ? '2019-02-03' : `2026-0${1 + (i % 6)}-${two(1 + (i % 28))}`} origin/${name(i)} ${saying(i)}`,
  },
  {
    name: 'age of pods',
    command: 'kubectl get pods',
    head: ['NAME                             READY   STATUS    RESTARTS   AGE'],
    goals: ['Which pod is the oldest?'],
    line: (i, d) =>
      `${name(i).padEnd(32)} 1/1     Running   0          ${d === null ? '412d' : `${1 + Math.floor(d * 40)}d`}`,
  },
];

const listed: readonly AskedCase[] = SHAPES.flatMap(
  ({ name: title, command: line, head = [], tail = [], goals, line: row, n = 180 }, k) =>
    goals.map((goal, g): AskedCase => {
      const draw = draws(k * 10 + g + 1);
      const [at = 0] = places(n - 40, 1, k + g * 7);
      const rows = Array.from({ length: n }, (_, i) => row(i, i === at + 20 ? null : draw()));
      return {
        name: `${title}: ${goal}`,
        goal,
        lines: [...head, ...rows, ...tail],
        answers: [head.length + at + 20],
        hints: command(line),
      };
    }),
);

/** CloudWatch's data points, one of them far above the others. */
const points = (goal: string, seed: number): AskedCase => {
  const draw = draws(seed);
  const at = 40 + Math.floor(draw() * 120);
  const body = Array.from({ length: 200 }, (_, i) => [
    '        {',
    `            "Timestamp": "2026-05-11T${two(Math.floor(i / 12))}:${two((i % 12) * 5)}:00Z",`,
    `            "Maximum": ${i === at ? '83641.0' : (120 + Math.floor(draw() * 60)).toFixed(1)},`,
    '            "Unit": "Count"',
    `        }${i < 199 ? ',' : ''}`,
  ]);
  const lines = ['{', '    "Label": "Requests",', '    "Datapoints": [', ...body.flat(), '    ]', '}'];
  return {
    name: `CloudWatch: ${goal}`,
    goal,
    lines,
    answers: [3 + at * 5 + 1, 3 + at * 5 + 2],
    hints: command('aws cloudwatch get-metric-statistics'),
  };
};

export const extremeCases: readonly AskedCase[] = [
  ...listed,
  points('When was the spike?', 3),
  points('When did the number of requests peak?', 4),
  points('What do the metrics say about the deployment?', 5),
];
