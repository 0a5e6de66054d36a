import { addedRatioOf, type Figures, medianOf, ratioOf } from './figures.ts';

/** What is aimed at: a ratio that must be reached, and one that would be the best that seems possible. */
interface Goal {
  readonly what: string;
  readonly value: number;
  readonly sign: '<=' | '>=';
  readonly must: number;
  readonly stretch: number;
}

export interface Verdict extends Goal {
  readonly reached: 'stretch' | 'must' | 'no';
}

/** Every goal that was measured in a run, with what this or another build of the program reached. */
export function verdicts(figures: Figures, build = 'pruner'): Verdict[] {
  return goals(figures, build)
    .filter(({ value }) => Number.isFinite(value))
    .map((goal) => ({
      ...goal,
      reached: meets(goal, goal.stretch) ? 'stretch' : meets(goal, goal.must) ? 'must' : 'no',
    }));
}

function meets({ value, sign }: Goal, bound: number): boolean {
  return sign === '<=' ? value <= bound : value >= bound;
}

function goals(figures: Figures, build: string): Goal[] {
  const of = (metric: string, stack = build): number => medianOf(figures, metric, stack);
  const over = (metric: string, base: string): number => ratioOf(figures, metric, build, base);
  /** What a hop adds to a direct connection, over what another adds. */
  const added = (metric: string, base: string): number => addedRatioOf(figures, metric, build, base);
  const aboveUndici = (metric: string): number => of(metric) - of(metric, 'undici');
  const parse = of('JSON.parse of a conversation: cpu ms/MB', 'direct');
  const gzip = of('gzip -1 of its new content: cpu ms/MB', 'direct');
  const stall = of('stall: small request beside new texts, p99 ms') - of('stall: small request at rest, p99 ms');
  const most = (what: string, value: number, must: number, stretch: number): Goal => {
    return { what, value, sign: '<=', must, stretch };
  };
  const least = (what: string, value: number, must: number, stretch: number): Goal => {
    return { what, value, sign: '>=', must, stretch };
  };
  return [
    most('2 KB c64, p99 x hpm', over('2 KB c64: p99 ms', 'hpm'), 1.5, 0.9),
    least('2 KB c64, requests/s x hpm', over('2 KB c64: req/s', 'hpm'), 0.8, 1.2),
    least('2 KB c64, requests/s x undici', over('2 KB c64: req/s', 'undici'), 0.3, 0.8),
    least('2 KB c64, requests/s x portkey', over('2 KB c64: req/s', 'portkey'), 3, 8),
    most('2 KB c64, cpu x hpm', over('2 KB c64: cpu µs/request', 'hpm'), 1.3, 0.8),
    most('2 KB c1, added latency x hpm', added('2 KB c1: p50 ms', 'hpm'), 1.3, 0.7),
    most('conversation, added to a turn p95 x hpm', added('conversation: turn p95 ms', 'hpm'), 3, 2),
    most('conversation, cpu x hpm', over('conversation: cpu ms in all', 'hpm'), 3.5, 2),
    most('conversation, cpu x llmtrim', over('conversation: cpu ms in all', 'llmtrim'), 0.06, 0.03),
    most('conversation, cpu x portkey', over('conversation: cpu ms in all', 'portkey'), 0.8, 0.4),
    most(
      'a MB of old history, cpu above undici x JSON.parse',
      aboveUndici('conversation: cpu ms/MB of old history') / parse,
      0.4,
      0.05,
    ),
    most(
      'a MB of new content, cpu above undici x gzip -1',
      aboveUndici('conversation: cpu ms/MB of new content') / gzip,
      20,
      8,
    ),
    most('200 KB all new, latency x portkey', over('200 KB all new: p50 ms', 'portkey'), 4, 1.5),
    most('200 KB all new, cpu x llmtrim', over('200 KB all new: cpu µs/request', 'llmtrim'), 0.5, 0.15),
    most(
      '200 KB nothing to prune, cpu x undici',
      over('200 KB nothing to prune c8: cpu µs/request', 'undici'),
      1.4,
      1.1,
    ),
    most('200 KB seen before, added latency x hpm', added('200 KB seen before: p50 ms', 'hpm'), 1.3, 0.7),
    most('200 KB seen before, cpu x hpm', over('200 KB seen before c8: cpu µs/request', 'hpm'), 1.3, 0.8),
    most('2 MB nothing to prune, cpu x hpm', over('2 MB nothing to prune: cpu µs/request', 'hpm'), 1.3, 0.9),
    most('2 MB seen before, cpu x hpm', over('2 MB seen before: cpu µs/request', 'hpm'), 1.2, 0.9),
    most('2 MB seen before, latency x hpm', over('2 MB seen before: p50 ms', 'hpm'), 2, 0.7),
    most('a small request beside eight new texts of 3 MB, p99 ms over idle', stall, 50, 15),
    most('SSE, added to the first chunk x hpm', added('sse: first chunk p50 ms', 'hpm'), 1.2, 0.7),
    most('SSE, added to the delay of a chunk x hpm', added('sse: chunk delay p50 ms', 'hpm'), 1.2, 0.7),
    least('SSE, share of streams that came whole', of('sse: streams that came whole, share'), 1, 1),
    most('SSE, cpu per chunk x hpm', over('sse: cpu µs/chunk', 'hpm'), 1.2, 0.8),
    most('SSE, abort seen after x hpm', over('sse: abort seen after ms', 'hpm'), 3, 1.3),
    least(
      'prune_text of 1 MB, MB/s x gzip -1',
      of('rpc: prune_text of 1 MB, MB/s') / of('rpc: gzip -1 of 1 MB of logs, MB/s', 'direct'),
      0.12,
      0.3,
    ),
    least(
      'prune_text, MB/s at 1 MB x at 100 KB',
      of('rpc: prune_text of 1 MB, MB/s') / of('rpc: prune_text of 100 KB, MB/s'),
      0.8,
      0.95,
    ),
    most('recover_text x tools/list', of('rpc: recover_text p50 ms') / of('rpc: tools/list p50 ms'), 5, 2),
    most('memory after 10,000 small x hpm', over('memory: MiB after 10,000 small', 'hpm'), 1.5, 1),
    most('memory after 1,000 x 200 KB x hpm', over('memory: MiB after 1,000 x 200 KB', 'hpm'), 2.5, 1.5),
    most('growth in the last quarter, share of its bodies', of('memory: growth in the last quarter, share'), 0.1, 0.02),
    least('prefix kept, median', of('conversation: prefix kept, median'), 1, 1),
    least('prefix kept, worst turn', of('conversation: prefix kept, worst'), 1, 1),
    most('share forwarded', of('conversation: share forwarded'), 0.6, 0.4),
    most('stored bytes per byte that came', of('memory: stored bytes per byte that came'), 1, 0.4),
    most('start to healthy x hpm', over('start to healthy: ms', 'hpm'), 1.3, 0.8),
  ];
}
