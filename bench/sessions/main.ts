/**
 * Counts what the sessions of Claude Code and Codex below a home folder cost, by itself, and compares that with
 * `report --sessions`: what was spent must be the same to the cent, for each model.
 *   node bench/run.mjs sessions /home/me
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Prices } from '../../src/ledger/prices.ts';

type Json = Readonly<Record<string, unknown>>;

const home = process.argv[2] ?? process.env.HOME ?? '.';
const root = process.env.MCP_PRUNER_BENCH_ROOT ?? '.';
const path = join(root, 'config/prices.toml');
const prices = new Prices([{ path, text: readFileSync(path, 'utf8') }]);

/** One bill for each request, by what names it; the last usage of a request counts. */
const bills = new Map<string, { readonly model: string; readonly dollars: number | null }>();

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
const object = (value: unknown): Json => (value !== null && typeof value === 'object' ? (value as Json) : {});

function linesBelow(folder: string): { file: string; line: Json }[] {
  let names: string[] = [];
  try {
    names = readdirSync(join(home, folder), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.jsonl'),
    );
  } catch {
    // this agent is not used here
  }
  return names.flatMap((file) =>
    readFileSync(join(home, folder, file), 'utf8')
      .split('\n')
      .flatMap((text) => {
        try {
          return [{ file, line: object(JSON.parse(text)) }];
        } catch {
          return [];
        }
      }),
  );
}

function bill(
  key: string,
  model: string,
  atMs: number,
  fresh: number,
  write5m: number,
  write1h: number,
  read: number,
  output: number,
): void {
  const price = prices.of(model, atMs);
  if (fresh + write5m + write1h + read === 0) return;
  if (price === null) {
    bills.set(key, { model, dollars: null });
    return;
  }
  const band = price.bands.filter(({ above }) => fresh + write5m + write1h + read > above).at(-1) ?? price;
  const dollars =
    (fresh * band.input + write5m * band.write5m + write1h * band.write1h + read * band.read + output * band.output) /
    1e6;
  bills.set(key, { model, dollars });
}

for (const { line } of linesBelow('.claude/projects')) {
  if (line.type !== 'assistant') continue;
  const message = object(line.message);
  const usage = object(message.usage);
  const written = number(usage.cache_creation_input_tokens);
  const long = number(object(usage.cache_creation).ephemeral_1h_input_tokens);
  bill(
    `${String(message.id)} ${String(line.requestId)}`,
    String(message.model),
    Date.parse(String(line.timestamp)),
    number(usage.input_tokens),
    written - long,
    long,
    number(usage.cache_read_input_tokens),
    number(usage.output_tokens),
  );
}

const models = new Map<string, string>();
const totals = new Map<string, string>();
for (const { file, line } of linesBelow('.codex/sessions')) {
  const payload = object(line.payload);
  if (line.type === 'turn_context' || line.type === 'session_meta') {
    if (typeof payload.model === 'string') models.set(file, payload.model);
  }
  if (payload.type !== 'token_count') continue;
  const info = object(payload.info);
  const total = JSON.stringify(info.total_token_usage ?? null);
  if (totals.get(file) === total) continue;
  const usage = object(info.last_token_usage);
  if (number(usage.input_tokens) === 0) continue;
  totals.set(file, total);
  const read = number(usage.cached_input_tokens);
  bill(
    `${String(line.timestamp)} ${total}`,
    models.get(file) ?? '',
    Date.parse(String(line.timestamp)),
    number(usage.input_tokens) - read,
    0,
    0,
    read,
    number(usage.output_tokens),
  );
}

interface Reported {
  readonly report: {
    readonly models: readonly { readonly model: string; readonly requests: number; readonly dollars: number }[];
  };
}

/** The report of a home that has the files of these two agents alone. */
function reported(): Reported {
  const alone = mkdtempSync(join(tmpdir(), 'mcp-pruner-sessions-'));
  try {
    for (const name of ['.claude', '.codex']) {
      if (existsSync(join(home, name))) symlinkSync(resolve(home, name), join(alone, name));
    }
    const args = [join(root, 'dist/cli.js'), 'report', '--sessions', '--since', '90y', '--json'];
    const env = { ...process.env, HOME: alone, USERPROFILE: alone };
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28, env })) as Reported;
  } finally {
    rmSync(alone, { recursive: true });
  }
}

const found = reported();

const counted = new Map<string, { requests: number; dollars: number }>();
for (const { model, dollars } of bills.values()) {
  const sum = counted.get(model) ?? { requests: 0, dollars: 0 };
  counted.set(model, { requests: sum.requests + 1, dollars: sum.dollars + (dollars ?? 0) });
}
let wrong = 0;
process.stdout.write('model, requests and dollars: counted here, reported\n');
for (const [model, { requests, dollars }] of counted) {
  const own = found.report.models.find((one) => one.model === model);
  const same = own?.requests === requests && Math.abs(own.dollars - dollars) < 0.005;
  if (!same) wrong++;
  process.stdout.write(
    `${same ? 'same ' : 'OTHER'} ${model}: ${requests} $${dollars.toFixed(2)}, ${own?.requests ?? 0} $${(own?.dollars ?? 0).toFixed(2)}\n`,
  );
}
process.exitCode = wrong > 0 || counted.size === 0 ? 1 : 0;
