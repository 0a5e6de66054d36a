import { type AskedCase, command, mixed, places, saying, two } from './texts.ts';

const clock = (i: number): string =>
  `2026-05-11T${two(8 + (Math.floor(i / 400) % 12))}:${two(Math.floor(i / 7) % 60)}:${two(i % 60)}Z`;
const id = (i: number): string => ((i * 2_654_435_761) >>> 8).toString(16).padStart(6, '0').slice(0, 6);
const number = (i: number): number => 10_000 + ((i * 7_919) % 80_000);

/** How a log or list shows an id, and how a question names it. */
const SHAPES: readonly {
  readonly name: string;
  readonly command: string;
  readonly line: (i: number, id: string) => string;
  readonly id: string;
  readonly goal: string;
}[] = [
  {
    name: 'request in brackets',
    command: 'cat app.log',
    line: (i, id) => `${clock(i)} INFO [req-${id}] ${saying(i)}`,
    id: '7f3a9c',
    goal: 'What happened to req-7f3a9c?',
  },
  {
    name: 'trace id in logfmt',
    command: 'kubectl logs api-0',
    line: (i, id) => `time=${clock(i)} level=info trace_id=${id}e0b1 msg="${saying(i)}"`,
    id: 'c0ffee',
    goal: 'Follow the trace c0ffeee0b1 through the service.',
  },
  {
    name: 'JSON lines',
    command: 'docker logs web',
    line: (i, id) => `{"ts":"${clock(i)}","level":"info","requestId":"${id}-4b1d","msg":"${saying(i)}"}`,
    id: '51ab77',
    goal: 'Why is request `51ab77-4b1d` slow?',
  },
  {
    name: 'order number',
    command: 'journalctl -u shop',
    line: (i, id) =>
      `May 11 ${two(8 + (i >> 6))}:${two(i % 60)}:00 host shop[${900 + (i % 5)}]: order ${parseInt(id, 16) % 90_000} ${saying(i)}`,
    id: '00a3d7',
    goal: 'Was order 41943 shipped?',
  },
  {
    name: 'address of a client',
    command: 'cat access.log',
    line: (i, id) =>
      `10.0.${parseInt(id.slice(0, 2), 16)}.${parseInt(id.slice(2, 4), 16)} - - [11/May/2026:${two(8 + (i >> 6))}:${two(i % 60)}:01 +0000] "GET /v1/items/${i % 13} HTTP/1.1" 200 ${500 + (i % 90)}`,
    id: '0707aa',
    goal: 'What did 10.0.7.7 request?',
  },
  {
    name: 'UUID in a table',
    command: 'psql -c "select * from jobs"',
    line: (i, id) => ` ${id}aa-12cd-4e5f-8a9b-0c1d2e3f4a5b | ${saying(i).padEnd(32)} | ${i % 9}`,
    id: '9e8d7c',
    goal: 'What state is job 9e8d7caa-12cd-4e5f-8a9b-0c1d2e3f4a5b in?',
  },
  {
    name: 'ticket in CSV',
    command: 'cat tickets.csv',
    line: (i, id) => `OPS-${parseInt(id, 16) % 9_000},${saying(i)},${i % 7},open`,
    id: '00112a',
    goal: 'Summarise everything about OPS-4394.',
  },
  {
    name: 'path of a route',
    command: 'cat access.log',
    line: (i, id) =>
      `${clock(i)} GET /api/v2/${['items', 'carts', 'users'][i % 3]}/${id === '000001' ? 'export/full' : number(i)} 200 ${i % 40}ms`,
    id: '000001',
    goal: 'How often was /export/full called?',
  },
  {
    name: 'error code',
    command: 'cat events.txt',
    line: (i, id) => `${clock(i)} event ${id === 'ffffff' ? 'SQLSTATE_40P01' : `EV_${i % 6}`} ${saying(i)}`,
    id: 'ffffff',
    goal: 'Where does SQLSTATE_40P01 occur?',
  },
  {
    name: 'quoted phrase',
    command: 'cat app.log',
    line: (i, id) => `${clock(i)} INFO ${id === 'eeeeee' ? 'lease handed over to node' : saying(i)} ${i % 11}`,
    id: 'eeeeee',
    goal: 'When was the "lease handed over"?',
  },
];

/** Hits of a search without the names of their files. Ten are on line 51, and one of them mentions a line. */
const lineCases = ['What is on line 51 of chars.ts?', 'Que fait la ligne 51 de chars.ts ?'].map((goal): AskedCase => {
  const hit = (i: number): string =>
    `${1 + ((i * 7) % 50)}:export function ${['load', 'merge', 'parse', 'send'][i % 4]}${['Order', 'Basket', 'Mail'][i % 3]}${i}(text: string): number {`;
  const answers = places(400, 10, 51);
  const lines = mixed(
    400,
    answers,
    hit,
    (i) => `51:export function ${i === answers[3] ? 'line' : `blank${i}`}At(at: number): boolean {`,
  );
  return { name: goal, goal, lines, answers, hints: { origin: 'search', command: 'grep -rhn "export function" src' } };
});

/** 330 lines, of which 30 hold the id that the question names. */
const namedCases: readonly AskedCase[] = SHAPES.flatMap(({ name, command: line, line: row, id: asked, goal }, k) =>
  [330, 1_200].map((n): AskedCase => {
    const answers = places(n, n < 1_000 ? 30 : 90, k + n);
    const lines = mixed(
      n,
      answers,
      (i) => row(i, id(i)),
      (i) => row(i, asked),
    );
    return { name: `${name}, ${n} lines`, goal, lines, answers, hints: command(line) };
  }),
);

export const idCases: readonly AskedCase[] = [...namedCases, ...lineCases];
