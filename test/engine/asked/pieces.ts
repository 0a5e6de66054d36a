import { type AskedCase, command, mixed, saying, two } from './texts.ts';

const words = 'amber basil cobalt dune ebony flint ginger hazel indigo jade khaki lilac maroon navy ochre plum'.split(
  ' ',
);
const word = (i: number): string => words[(i * 7 + (i >> 3)) % 16] ?? '';

/** Records of a task list as JSON. `wide` records have more lines than an element that is never divided. */
function tasks(asked: number, indent: number | string, wide: number): { lines: string[]; values: string[] } {
  const tags = (i: number): string[] =>
    Array.from(
      { length: 3 + (i % 3) },
      (_, k) => `${word(i)}-${word(i * 3 + k)}-${word(i * 11 + k * 5)}-${'abcdefghij'[k]}`,
    );
  const all = Array.from({ length: 120 }, (_, i) => ({
    id: i,
    title: `${saying(i)}`,
    tags: tags(i),
    notes: Array.from({ length: wide }, (_, k) => `${saying(i * 3 + k)} by ${word(i + k)}`),
    owner: { name: word(i), team: word(i * 3) },
  }));
  return { lines: JSON.stringify(all, null, indent).split('\n'), values: tags(asked) };
}

const jsonCases: readonly AskedCase[] = [
  ['two blanks', 2, 4],
  ['four blanks', 4, 22],
  ['tabs', '\t', 30],
  ['wide records', 2, 40],
].flatMap(([name, indent, wide]) =>
  [79, 23].map((id): AskedCase => {
    const { lines, values } = tasks(id, indent as number | string, Number(wide));
    const answers = values.map((value) => lines.findIndex((line) => line.includes(`"${value}"`)));
    return {
      name: `JSON, ${name}, task ${id}`,
      goal: `Which tags has task ${id}?`,
      lines,
      answers,
      hints: command('curl -s localhost/tasks | jq .'),
    };
  }),
);

const migration = (i: number): string =>
  `202${3 + (i >> 7)}${two(1 + ((i >> 4) % 12))}${two(1 + (i % 28))}1${two(i % 24)}0${two(i % 60)}`.slice(0, 14);
const listed = (
  name: string,
  line: string,
  entry: (i: number, number: string) => string,
  number: (i: number) => string,
): AskedCase => {
  const again = 140;
  const lines = mixed(
    220,
    [again],
    (i) => entry(i, number(i)),
    () => entry(again, number(61)),
  );
  return {
    name,
    goal: 'Why does it raise DuplicateMigrationVersionError?',
    lines,
    answers: [61, again],
    hints: command(line),
  };
};
const numberCases: readonly AskedCase[] = [
  listed('ls db/migrate', 'ls db/migrate', (i, n) => `${n}_create_${word(i)}_${word(i * 3)}.rb`, migration),
  listed(
    'numbers of four digits',
    'ls -1 migrations',
    (i, n) => `${n}_${word(i)}_${word(i * 5)}.py`,
    (i) => String(i + 1).padStart(4, '0'),
  ),
  listed(
    'find with folders',
    'find db -name "*.sql"',
    (i, n) => `db/migrations/V${n}__${word(i)}_${word(i * 5)}.sql`,
    (i) => String(i + 1),
  ),
  listed(
    'ls -l',
    'ls -l db/migrate',
    (i, n) =>
      `-rw-r--r-- 1 app app ${String(300 + (i % 90)).padStart(5)} May 11 10:${two(i % 60)} ${n}-${word(i)}-${word(i * 3)}.js`,
    migration,
  ),
];

const sha = (i: number): string => (0xabc0000 + i * 7919).toString(16);
const goneCases: readonly AskedCase[] = [
  [
    'git branch -vv',
    'git branch -vv',
    (i: number, gone: boolean) =>
      `  ${`feature/${word(i)}-${i}`.padEnd(24)} ${sha(i)} [origin/feature/${word(i)}-${i}${gone ? ': gone' : i % 9 === 0 ? ': behind 2' : ''}] ${saying(i)} and more of the work on it`,
  ],
  [
    'upstream:track',
    "git for-each-ref --format='%(refname:short) %(upstream:track)' refs/heads",
    (i: number, gone: boolean) => `feature/${word(i)}-${i} ${gone ? '[gone]' : i % 3 === 0 ? '[ahead 1]' : ''}`,
  ],
  [
    'without padding',
    'git branch -vv',
    (i: number, gone: boolean) => `  topic-${i} ${sha(i)} [upstream/topic-${i}${gone ? ': gone' : ''}] ${saying(i)}`,
  ],
  [
    'German',
    'git branch -vv',
    (i: number, gone: boolean) => `  thema-${i} ${sha(i)} [origin/thema-${i}${gone ? ': entfernt' : ''}] ${saying(i)}`,
  ],
].map(([name, line, row]) => {
  const answers = [31, 77, 120, 141];
  const make = row as (i: number, gone: boolean) => string;
  return {
    name: `gone branches, ${String(name)}`,
    goal: 'Which local branches can be deleted?',
    lines: mixed(
      200,
      answers,
      (i) => make(i, false),
      (i) => make(i, true),
    ),
    answers,
    hints: command(String(line)),
  };
});

/** Two tables in one output. */
const twoTables = (
  name: string,
  line: string,
  head: readonly string[],
  row: (i: number) => string,
  foot: readonly string[],
  again: readonly string[],
): AskedCase => {
  const lines = [
    ...head,
    ...Array.from({ length: 150 }, (_, i) => row(i)),
    ...foot,
    '',
    ...again,
    ...Array.from({ length: 150 }, (_, i) => row(i + 200)),
    ...foot,
  ];
  const answers = [
    ...head.keys(),
    ...foot.flatMap((text, k) => (/\d|-{3}/.test(text) ? [head.length + 150 + k] : [])),
    ...again.map((_, k) => head.length + 150 + foot.length + 1 + k),
  ];
  return {
    name: `two tables, ${name}`,
    goal: 'How many rows are in both tables?',
    lines,
    answers,
    hints: command(line),
  };
};
const tableCases: readonly AskedCase[] = [
  twoTables(
    'mysql',
    'mysql -e "select * from a; select * from b"',
    ['+------+----------+', '| id   | name     |', '+------+----------+'],
    (i) => `| ${String(i).padEnd(4)} | ${word(i).padEnd(8)} |`,
    ['+------+----------+', '150 rows in set (0.01 sec)'],
    ['+------+----------+', '| id   | label    |', '+------+----------+'],
  ),
  twoTables(
    'psql',
    'psql -f q.sql',
    ['  id  |   name   ', '------+----------'],
    (i) => ` ${String(i).padStart(4)} | ${word(i).padEnd(8)}`,
    ['(150 rows)'],
    ['  id  |  label   ', '------+----------'],
  ),
  twoTables(
    'kubectl',
    'kubectl get pods,svc',
    ['NAME                      READY   STATUS    AGE'],
    (i) => `pod/${`${word(i)}-${i}`.padEnd(21)} 1/1     Running   ${i % 9}d`,
    [],
    ['NAME                      TYPE        CLUSTER-IP   AGE'],
  ),
  twoTables(
    'sqlite columns',
    'sqlite3 -header -column app.db',
    ['id    name      ', '----  --------  '],
    (i) => `${String(i).padEnd(4)}  ${word(i).padEnd(8)}  `,
    [],
    ['id    label     ', '----  --------  '],
  ),
];

const resource = (i: number, forced: boolean): string[] => [
  `  # aws_instance.${word(i)}_${i} ${forced ? 'must be replaced' : 'will be updated in-place'}`,
  `${forced ? '-/+' : '  ~'} resource "aws_instance" "${word(i)}_${i}" {`,
  forced
    ? `      ~ ami                  = "ami-0${i}a" -> "ami-1${i}b" # forces replacement`
    : `      ~ tags                 = { "rev" = "${i}" -> "${i + 1}" }`,
  `        id                   = "i-0abc${i}"`,
  '    }',
  '',
];
const terraform = (name: string, at: number, goal: string): AskedCase => {
  const parts = Array.from({ length: 60 }, (_, i) => resource(i, i === at));
  return {
    name: `terraform plan, ${name}`,
    goal,
    lines: parts.flat(),
    answers: [at * 6, at * 6 + 2],
    hints: command('terraform plan'),
    mayStay: true,
  };
};
const planCases: readonly AskedCase[] = [
  terraform('early', 8, 'Is it safe to apply this?'),
  terraform('in the middle', 31, 'What will change?'),
  terraform('late', 50, 'is this ok'),
  terraform('another goal', 22, 'Review the tags of the instances.'),
];

const commit = (i: number, files: number): string[] => [
  `commit ${sha(i)}${sha(i * 3)}${sha(i * 5)}${sha(i * 7)}${sha(i * 11)}abcde`,
  `Author: ${word(i)} <${word(i)}@example.org>`,
  `Date:   Mon May 11 10:${two(i % 60)}:00 2026 +0000`,
  '',
  `    ${saying(i)}`,
  '',
  ` src/${word(i)}.ts | ${1 + (i % 9)} +-`,
  ` src/${word(i * 3)}.ts | ${1 + (i % 5)} +`,
  ` ${files} files changed, ${files * 5} insertions(+), ${files * 2} deletions(-)`,
  '',
];
const logCases: readonly AskedCase[] = [12, 33, 47, 55].map((at) => {
  const lines = Array.from({ length: 80 }, (_, i) => commit(i, i === at ? 430 : 2 + (i % 4))).flat();
  return {
    name: `git log --stat, commit ${at}`,
    goal: 'What happened in the history of the project?',
    lines,
    answers: [at * 10, at * 10 + 4, at * 10 + 8],
    hints: command(at % 2 === 0 ? 'git log --stat' : 'git log --stat -n 80'),
  };
});

const variable = (i: number): string =>
  `${['APP', 'CI', 'GITHUB', 'NPM', 'KUBE', 'PG', 'XDG', 'JAVA'][i % 8]}_${word(i).toUpperCase()}_${i}=${word(i * 3)}/${saying(i).replaceAll(' ', '_')}`;
const environment = (name: string, line: string, proxies: readonly string[], row: (i: number) => string): AskedCase => {
  const answers = proxies.map((_, k) => 70 + k * 13);
  return {
    name: `environment, ${name}`,
    goal: 'Why does curl not reach the registry?',
    lines: mixed(160, answers, row, (i) => proxies[answers.indexOf(i)] ?? ''),
    answers,
    hints: command(line),
    mayStay: true,
  };
};
const environmentCases: readonly AskedCase[] = [
  environment('printenv', 'printenv', ['HTTPS_PROXY=http://10.0.0.3:3128'], variable),
  environment('env', 'env | sort', ['http_proxy=http://10.0.0.3:3128', 'no_proxy=localhost,.corp'], variable),
  environment(
    'export',
    'export -p',
    ['declare -x ALL_PROXY="socks5://10.0.0.3:1080"'],
    (i) => `declare -x ${variable(i).replace('=', '="')}"`,
  ),
  environment(
    'certificates',
    'printenv',
    ['NODE_EXTRA_CA_CERTS=/etc/ssl/corp.pem', 'SSL_CERT_FILE=/etc/ssl/corp.pem'],
    variable,
  ),
];

/** A table whose rows have many layouts, one of them a failure with a layout of its own. */
const ragged = (name: string, failure: string, row: (i: number) => string, line = 'opsctl list'): AskedCase => {
  const lines = ['NAME       STATE      NOTE', ...mixed(160, [90], row, () => failure)];
  return { name: `ragged table, ${name}`, goal: 'Show the workers.', lines, answers: [91], hints: command(line) };
};
const raggedCases: readonly AskedCase[] = [
  ragged(
    'long name',
    'worker-with-a-very-long-name-of-its-own   failed   exit 7',
    (i) => `${word(i)}${'x'.repeat(i % 12)}-${i}${' '.repeat(2 + (i % 3))}ready${' '.repeat(3 + (i % 4))}zone ${i % 7}`,
  ),
  ragged(
    'other separators',
    'worker-9 | unhealthy | zone 3',
    (i) => `${word(i)}-${i}${' '.repeat(2 + (i % 9))}ready${' '.repeat(3 + (i % 4))}zone ${i % 7}`,
  ),
  ragged(
    'sentence',
    'worker-9: could not be scheduled: insufficient memory',
    (i) => `${word(i)}${'y'.repeat(i % 9)}-${i}${' '.repeat(2 + (i % 9))}ready${' '.repeat(3 + (i % 4))}zone ${i % 7}`,
  ),
  ragged(
    'docker compose ps',
    'app-a-service-name-that-overflows-its-column-1  app:1.2  "node server.js"  web  2 hours ago  Exited (137) 5 minutes ago',
    (i) =>
      `${`app-${word(i)}-${i}`.padEnd(20)} app:1.${i % 9}  "node server.js"  ${word(i * 3).padEnd(8)} 2 hours ago  Up ${1 + (i % 9)} hours`,
    'docker compose ps -a',
  ),
];

export const pieceCases: readonly AskedCase[] = [
  ...jsonCases,
  ...numberCases,
  ...goneCases,
  ...tableCases,
  ...planCases,
  ...logCases,
  ...environmentCases,
  ...raggedCases,
];
