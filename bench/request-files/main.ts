// How many source files one new request runs through until it is forwarded, and how many others its answer and its report: V8's
// coverage of the product in this process.
//   node bench/run.mjs request-files [--most 120] [--most-report 40] [--list]
// A file counts when one of its functions ran. The exit code is 1 when there are more files than allowed.
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startHttp } from '../../src/app/serve.ts';
import { loadSettings } from '../../src/config/load.ts';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';
import { chatBody, oneResult, toolTurn } from '../../test/helpers/chat.ts';
import { serverLog, sourceFile } from '../../test/helpers/texts.ts';
import { startUpstream } from '../soak/stage.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    most: { type: 'string' },
    'most-report': { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

/** A report is made a moment after its request. */
const REPORT_MS = 1_500;

const url = import.meta.url;
const bundle = readFileSync(new URL(url), 'utf8');
const lineStarts = [0, ...[...bundle.matchAll(/\n/g)].map(({ index }) => index + 1)];
const encoded = bundle.slice(bundle.lastIndexOf('base64,') + 'base64,'.length).trim();
const map = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')));

/** The source file of a place in the bundle, from `src/` or `packages/` on; `null` for libraries and the bench itself. */
function fileAt(offset: number): string | null {
  const line = lineStarts.findLastIndex((start) => start <= offset);
  const entry = map.findEntry(line, offset - (lineStarts[line] ?? 0));
  const source = 'originalSource' in entry ? entry.originalSource : '';
  const [, file = null] = /(?:^|\/)((?:src|packages\/[^/]+\/src)\/[^?]+)$/.exec(source) ?? [];
  return source.includes('node_modules') ? null : file;
}

const session = new Session();
session.connect();

/** The files of which a function ran since the last call. Synchronous, since the inspector is of this thread. */
function filesSince(): ReadonlySet<string> {
  let scripts: readonly Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, answer) => {
    if (error) throw error;
    scripts = answer.result;
  });
  const ran = scripts
    .filter((script) => script.url === url)
    .flatMap(({ functions }) => functions)
    .flatMap(({ ranges: [range] }) => (range && range.count > 0 && range.startOffset > 0 ? range.startOffset : []));
  return new Set(ran.flatMap((offset) => fileAt(offset) ?? []));
}

/** How many of the files lie in each folder of `src`. */
function byRoom(files: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const file of files) {
    const room = file.split('/')[1] ?? '';
    counts.set(room, (counts.get(room) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([room, count]) => `${room} ${count}`)
    .join(', ');
}

function show(name: string, files: readonly string[], most: string | undefined): void {
  process.stdout.write(`${name.padEnd(12)} ${String(files.length).padStart(4)} files   ${byRoom(files)}\n`);
  if (values.list) for (const file of files) process.stdout.write(`  ${file}\n`);
  if (most !== undefined && files.length > Number(most)) process.exitCode = 1;
}

const home = mkdtempSync(join(tmpdir(), 'mcp-pruner-files-'));
/** Files that ran until the upstream had the request that is measured. */
let forwarded: ReadonlySet<string> | null = null;
let isMeasured = false;
const upstream = await startUpstream((_request, response) => {
  if (isMeasured) forwarded ??= filesSince();
  const usage = { prompt_tokens: 10, completion_tokens: 2 };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Done.' } }], usage }));
});
const env = {
  MCP_PRUNER_PORT: '0',
  MCP_PRUNER_DB_PATH: join(home, 'store.db'),
  MCP_PRUNER_UPSTREAM_URL: `${upstream.url}/v1`,
};
const noFile = (path: string): never => {
  throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
};
const { settings } = loadSettings({
  table: edition.settings,
  env,
  readFile: noFile,
  platform: 'linux',
  homeDir: home,
  cwd: home,
});
const log = createLog({ level: 'info', fd: openSync(join(home, 'log'), 'a') });
const server = await startHttp(settings, { edition, log, version: '0.0.0-bench', env: {}, cwd: home });

async function send(body: Buffer): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await (await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })).arrayBuffer();
}

try {
  for (const seed of [1, 2, 3]) {
    await send(chatBody(oneResult(serverLog(400, seed)))); // loads what is loaded with the first requests
    await pause(REPORT_MS);
  }
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  filesSince();
  isMeasured = true;
  const more = toolTurn('c2', 'read_file', { path: 'src/payments.ts' }, sourceFile(200, 3));
  await send(chatBody([...oneResult(serverLog(400, 9)), ...more]));
  await pause(REPORT_MS);
  const before = forwarded ?? new Set<string>();
  const after = [...filesSince()].filter((file) => !before.has(file));
  show('a new body', [...before].sort(), values.most);
  show('its report', after.sort(), values['most-report']);
} finally {
  await server.close();
  upstream.close();
  session.disconnect();
  rmSync(home, { recursive: true, force: true });
}
