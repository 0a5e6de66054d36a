import { describe, expect, it } from 'vitest';
import { planRead } from '../../src/engine/plan.ts';

const WORDS = ['api', 'web', 'worker', 'cache', 'db', 'mail', 'search', 'queue', 'auth', 'billing'];

/** A program's table: its columns, a row by name, service, number and state, and the states of ordinary and other rows. */
interface Form {
  readonly command: string;
  readonly head: readonly string[];
  readonly widths: readonly number[];
  readonly row: (name: string, service: string, i: number, state: string) => readonly string[];
  readonly usual: (i: number) => string;
  readonly others: readonly string[];
}

const port = (i: number, state: string, up: RegExp): string => (up.test(state) ? `0.0.0.0:${8_000 + i}->80/tcp` : '');

const FORMS: readonly (readonly [string, Form])[] = [
  [
    'docker-compose 1',
    {
      ...{ command: 'docker-compose ps', head: ['Name', 'Command', 'State', 'Ports'], widths: [22, 32, 12] },
      row: (name, _service, i, state) => [name, 'docker-entrypoint.sh npm start', state, port(i, state, /^Up/)],
      usual: () => 'Up',
      others: ['Exit 1', 'Restarting', 'Paused', 'Up (unhealthy)', 'Down'],
    },
  ],
  [
    'docker compose 2.0',
    {
      ...{
        command: 'docker compose ps -a',
        head: ['NAME', 'COMMAND', 'SERVICE', 'STATUS', 'PORTS'],
        widths: [20, 28, 14, 20],
      },
      row: (name, service, i, state) => [name, '"docker-entrypoint.s…"', service, state, port(i, state, /^running/)],
      usual: (i) => (i % 2 ? 'running (healthy)' : 'running'),
      others: ['exited (1)', 'restarting', 'running (unhealthy)', 'created', 'dead'],
    },
  ],
  [
    'docker compose 2',
    {
      command: 'docker compose ps -a',
      head: ['NAME', 'IMAGE', 'COMMAND', 'SERVICE', 'CREATED', 'STATUS', 'PORTS'],
      widths: [22, 24, 26, 10, 14, 24],
      row: (name, service, i, state) => [
        ...[name, `shop/${service}:1`, '"docker-entrypoint.…"', service, '2 hours ago', state],
        port(i, state, /^Up/),
      ],
      usual: (i) => (i % 2 ? 'Up 2 hours (healthy)' : 'Up 2 hours'),
      others: [
        'Exited (1) 2 minutes ago',
        'Restarting (1) 5 seconds ago',
        'Up 2 hours (unhealthy)',
        'Created',
        'Up 3 seconds',
      ],
    },
  ],
  [
    'kubectl get pods',
    {
      ...{ command: 'kubectl get pods', head: ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'], widths: [24, 8, 20, 11] },
      row: (name, _service, _i, state) => [name, /^Run/.test(state) ? '1/1' : '0/1', state, '0', '3d2h'],
      usual: () => 'Running',
      others: ['CrashLoopBackOff', 'Pending', 'ImagePullBackOff', 'Evicted', 'Terminating'],
    },
  ],
];

function table({ head, widths, row, usual }: Form, rows: number, at: number, state: string, over: number): string {
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('')
      .trimEnd();
  const lines = [line(head)];
  for (let i = 0; i < rows; i++) {
    const service = WORDS[(i * 7 + at) % WORDS.length] ?? '';
    const name = `shop-${service}-${i}`;
    const isOther = i === at;
    const long = `${`${name}-`.padEnd((widths[0] ?? 0) + over, 'migration')} `;
    lines.push(line(row(isOther ? long : name, service, i, isOther ? state : usual(i))));
  }
  return `${lines.join('\n')}\n`;
}

describe.each(FORMS)('a row of %s that its first cell shifts', (_, form) => {
  it('stays, wherever it stands and however far it is shifted', () => {
    const lost: string[] = [];
    let shares = 0;
    let placements = 0;
    for (const over of [1, 12]) {
      for (const state of form.others) {
        for (const at of [3, 71, 117]) {
          const text = table(form, 120, at, state, over);
          const { command } = form;
          const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
          const { plan } = planRead({
            text,
            goal: command,
            hints: { origin: 'command', command },
            limits,
          });
          const line = at + 2;
          if (plan.cuts.some(({ startLine, endLine }) => startLine <= line && line <= endLine))
            lost.push(`${state} ${at} ${over}`);
          shares += plan.cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0) / 120;
          placements++;
        }
      }
    }
    expect(lost).toEqual([]);
    expect(shares / placements).toBeGreaterThan(0.5);
  });
});
