const NAMES = ['order', 'invoice', 'basket', 'payment', 'voucher'] as const;
const name = (k: number): string => NAMES[(k * 3) % NAMES.length] ?? '';
const two = (n: number): string => String(n % 60).padStart(2, '0');

/** A run of three steps, of which the last fails; every line behind `prefix` and the runner's stamp. */
export function githubActionsLog(prefix: string): string {
  const lines = [
    '##[group]Run actions/checkout@v4',
    ...Array.from({ length: 90 }, (_, k) => `Fetching ${name(k)}-${k} from the cache`),
    '##[endgroup]',
    '##[group]Run npm ci',
    ...Array.from({ length: 120 }, (_, k) => `added ${name(k)}@${k}.0.1`),
    '##[endgroup]',
    '##[group]Run npm test',
    'TAP version 13',
    ...Array.from({ length: 90 }, (_, k) =>
      k === 76
        ? 'not ok 77 - refunds the voucher\n  ---\n  message: the sum is 6\n  stack: |-\n    at refund (/home/runner/work/shop/src/refund.js:12:7)\n  ...'
        : `ok ${k + 1} - ${name(k)} number ${k}`,
    ),
    '# pass 89',
    '# fail 1',
    '##[error]Process completed with exit code 1.',
    'Post job cleanup.',
  ];
  const stamp = (k: number): string =>
    `${prefix}2026-03-02T10:${two(k >> 4)}:${two(k)}.${String(1234567 + k * 91).padStart(7, '0')}Z `;
  return lines
    .flatMap((line) => line.split('\n'))
    .map((line, k) => stamp(k) + line)
    .join('\n');
}

/** What a controller says, with one warning and one failure whose words name no error. */
export function klogLog(): string {
  return Array.from({ length: 300 }, (_, k) => {
    const level = k === 140 ? 'W' : k === 170 ? 'E' : 'I';
    const message =
      level === 'E'
        ? 'the lease of node-7 ran out; 14 pods are taken off it'
        : level === 'W'
          ? 'node-7 is late'
          : `${name(k)}-${k} is in sync`;
    return `${level}0302 10:${two(k >> 4)}:${two(k)}.${String(100000 + k * 7)}       1 controller.go:${100 + (k % 7)}] ${message}`;
  }).join('\n');
}

/** What a service says in logfmt, with one line of a fatal level. */
export function logfmtLog(): string {
  return Array.from({ length: 300 }, (_, k) =>
    k === 180
      ? `ts=2026-03-02T10:11:12Z level=fatal caller=db.go:88 msg="pool is drained" waiting=14`
      : `ts=2026-03-02T10:${two(k >> 4)}:${two(k)}Z level=info caller=api.go:41 msg="${name(k)} served" id=${k} err=nil`,
  ).join('\n');
}
