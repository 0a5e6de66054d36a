import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { beforeEach, describe, expect, it } from 'vitest';
import { fromJSONSchema } from 'zod';
import type { Command, LazyCommand } from '../../src/cli/command.ts';
import { main, type Program } from '../../src/cli/main.ts';
import { commands } from '../../src/commands.ts';
import { loadSettings } from '../../src/config/load.ts';
import { edition } from '../../src/edition.ts';
import * as library from '../../src/index.ts';
import { fakeIo } from '../cli/fake-io.ts';
import { machine } from '../config/machine.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { program } from '../helpers/program.ts';
import { projectRoot, sourceFiles } from '../helpers/project-files.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { commandsIn, pages, type ShellCommand } from './examples.ts';

const all = pages();
const blocks = all.flatMap((page) => page.blocks);
const scripts = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')).scripts as Record<string, string>;
const compose = readFileSync(join(projectRoot, 'docker-compose.yml'), 'utf8');

/** What stands for a placeholder such as `<agent>`. */
const SAMPLES: Readonly<Record<string, string>> = {
  agent: 'claude',
  prune_id: 'prn_0123456789AB',
  words: 'failed payment',
  project: 'web',
  shell: 'bash',
  id: '1f2e7c30',
  file: 'people.ndjson',
  token: 'a-token',
};
/** Programs of others. Their examples are only read as far as the shell does. */
const FOREIGN = /^(?:git|cd|curl|pg_dump|pg_restore|createdb|claude|openssl|cat|set|docker)$/;
/** Commands that would start something or wait for someone; their options are checked all the same. */
const STARTS = /^(?:run|serve|stdio|service|demo|doctor|store)$/;

const filled = (text: string): string =>
  text
    .replaceAll(/\[(--[\w-]+)\]/g, '$1')
    .replaceAll(/<([a-z_]+)>/g, (_, name: string) => SAMPLES[name] ?? `<${name}>`)
    .replaceAll(/--lines a-b/g, '--lines 10-40')
    .replaceAll(/ …$/gm, '');

/** The program, whose commands return how they were called and do nothing. */
function recording(calls: string[]): Program {
  const idle = (name: string, entry: LazyCommand): LazyCommand => ({
    ...entry,
    load: async (of): Promise<Command> => {
      const command = await entry.load(of);
      const run: Command['run'] = async () => {
        calls.push(name);
        return 0;
      };
      return { ...command, run };
    },
  });
  return { ...program, commands: Object.fromEntries(Object.entries(commands).map(([n, c]) => [n, idle(n, c)])) };
}

/** What the program objects to in a command line; `''` if it accepts it. */
async function refusal(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const calls: string[] = [];
  const { io, ran } = fakeIo({ env });
  const parsed = ran(await main(args, io, recording(calls)));
  if (parsed.code !== 0) return parsed.err;
  const [name = ''] = calls;
  if (STARTS.test(name)) return '';
  const homeDir = tempFolder();
  writeFileSync(join(homeDir, 'people.ndjson'), '');
  const real = fakeIo({ env, homeDir, cwd: homeDir });
  const done = real.ran(await main(args, real.io, program));
  return done.code === 2 ? done.err : ''; // 1 is an empty store, say
}

/** What is wrong with a command of a page; `''` if nothing is. */
async function faultOf({ env, words }: ShellCommand): Promise<string> {
  const [command = '', ...args] = words;
  const unknown = Object.keys(env).filter((name) => name.startsWith('MCP_PRUNER_') && !isSetting(name));
  if (unknown.length > 0) return `unknown settings ${unknown.join(', ')}`;
  const settings = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => isSetting(name) && !value.includes('$')),
  );
  const refused = settingsFault(settings);
  if (refused !== '') return refused;
  const cli = words.findIndex((word) => word.endsWith('dist/cli.js'));
  if (cli >= 0) return refusal(words.slice(cli + 1), settings);
  // a command that a sentence only names
  if (command === 'mcp-pruner' && args.length === 1)
    return Object.hasOwn(commands, args[0] ?? '') ? '' : `no command ${args[0]}`;
  if (command === 'mcp-pruner') return refusal(args, settings);
  if (command === 'npm') return npmFault(args);
  if (command === 'npx')
    return args.slice(1).find((path) => path.includes('/') && !existsSync(join(projectRoot, path))) ?? '';
  if (command.startsWith('.ci/')) return isProgram(command) ? '' : 'no such program';
  const profile = command === 'docker' ? (words[words.indexOf('--profile') + 1] ?? '') : '';
  if (words.includes('--profile') && !compose.includes(`profiles: [${profile}]`)) return `no profile ${profile}`;
  return command === '' || FOREIGN.test(command) ? '' : `unknown program ${command}`;
}

function npmFault([verb = '', script = '', ...rest]: readonly string[]): string {
  if (/^(?:install|ci|uninstall)$/.test(verb)) return '';
  const name = verb === 'run' ? script : verb;
  if (scripts[name] === undefined) return `no script ${name}`;
  const bench = /bench\/run\.mjs ?(\w*)/.exec(scripts[name]);
  if (bench === null) return '';
  const own = rest[0] === '--' ? rest.slice(1) : rest;
  const folder = bench[1] || own[0] || '';
  if (folder === '') return '';
  const path = join(projectRoot, 'bench', folder);
  if (!existsSync(path)) return `no measurement ${folder}`;
  const source = benchSources(path, join(projectRoot, 'packages/lab/src'));
  return own
    .filter((word) => /^--\w/.test(word))
    .filter((word) => !new RegExp(`(?:['"]?${word.slice(2)}['"]?: \\{|['"\`]${word}['"\`])`).test(source))
    .join(', ');
}

/** All sources below these folders. */
function benchSources(...folders: readonly string[]): string {
  return folders
    .flatMap((at) => readdirSync(at, { recursive: true, encoding: 'utf8' }).map((file) => join(at, file)))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

function isProgram(path: string): boolean {
  const at = join(projectRoot, path);
  return existsSync(at) && (statSync(at).mode & 0o100) !== 0;
}

const settingNames = new Set(edition.settings.rows.flatMap(({ setting }) => setting.env));

function isSetting(name: string): boolean {
  return settingNames.has(name);
}

/** What the configuration objects to in these variables; `''` if it accepts them. */
function settingsFault(env: Readonly<Record<string, string>>): string {
  try {
    loadSettings(machine({ env: { ...env } }));
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Command lines of a page: those of its scripts, and those in its sentences and tables. */
function linesOf({ prose, blocks: own }: (typeof all)[number]): string[] {
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  const typed = inline.filter((code) =>
    /^(?:[A-Z_]+=\S+ )*(?:mcp-pruner [a-z-]|npm run |npx (?:vitest|biome))/.test(code),
  );
  return [...own.filter(({ language }) => SHELLS.has(language)).map(({ text }) => text), ...typed];
}

const SHELLS = new Set(['sh', 'bash']);

describe('a command of a page', () => {
  it.each(all.map((page) => [page.file, page] as const))('is accepted by the program: %s', async (_, page) => {
    const faults: string[] = [];
    for (const command of linesOf(page).flatMap((line) => commandsIn(filled(line)))) {
      const fault = await faultOf(command);
      if (fault !== '') faults.push(`${command.words.join(' ')}: ${fault}`);
    }
    expect(faults).toEqual([]);
  });

  it('is found in scripts, sentences and tables', () => {
    const found = all.flatMap(linesOf).flatMap((line) => commandsIn(filled(line)));
    expect(found.filter(({ words }) => words[0] === 'mcp-pruner').length).toBeGreaterThan(50);
  });

  it.each([
    ['mcp-pruner raport', 'no command'],
    ['mcp-pruner raport --json', 'unknown command'],
    ['mcp-pruner report --by colour', 'colour'],
    ['mcp-pruner report --sinse 3d', 'unknown option'],
    ['mcp-pruner setup nobody', 'nobody'],
    ['MCP_PRUNER_MODE=shade mcp-pruner serve', 'MCP_PRUNER_MODE'],
    ['MCP_PRUNER_MOOD=on mcp-pruner serve', 'unknown settings'],
    ['npm run no-such-script', 'no script'],
    ['npm run bench -- no-such-bench', 'no measurement'],
    ['npm run conformance -- --no-such-option', '--no-such-option'],
    ['docker compose --profile none up', 'no profile'],
    ['frobnicate --all', 'unknown program'],
  ])('would be refused if it were %s', async (line, words) => {
    const [command = { env: {}, words: [] }] = commandsIn(line);
    expect(await faultOf(command)).toContain(words);
  });
});

/** Sources of the program, which read further variables and write options into agents' configurations. */
const sources = sourceFiles()
  .filter(({ file }) => file !== 'src/config/retired.ts') // names that are no longer read
  .map(({ text }) => text)
  .join('\n');
/** Pages about measurements, whose options are not the program's. */
const BENCHES = /^docs\/(?:conformance|quality)\.md$/;

it('every setting that a page names exists', () => {
  const wrong = all.flatMap(({ file, prose, blocks: own }) => {
    const text = [prose, ...own.map((block) => block.text)].join('\n');
    return [...text.matchAll(/\bMCP_PRUNER_[A-Z_]*[A-Z]\b/g)]
      .map(([name]) => name)
      .filter((name) => !isSetting(name) && !sources.includes(name))
      .map((name) => `${file}: ${name}`);
  });
  expect([...new Set(wrong)]).toEqual([]);
});

it('every option that a page names is one of a command', async () => {
  const loaded = await Promise.all(Object.values(commands).map((entry) => entry.load(async () => edition)));
  const known = new Set(loaded.flatMap(({ options }) => Object.keys(options).map((name) => `--${name}`)));
  const ofBenches = benchSources(join(projectRoot, 'bench'));
  const isKnown = (file: string, name: string): boolean =>
    known.has(name) || sources.includes(`'${name}'`) || (BENCHES.test(file) && ofBenches.includes(name.slice(2)));
  const wrong = all.flatMap(({ file, prose }) =>
    [...prose.matchAll(/`(--[a-z][\w-]*\w)[^`]*`/g)].flatMap(([code, name = '']) =>
      isKnown(file, name) || /^`--(?:max-old-space-size|disable-…)/.test(code) ? [] : `${file}: ${name}`,
    ),
  );
  expect([...new Set(wrong)]).toEqual([]);
});

const TOKEN = 'a-token-that-nobody-guesses-0123456789';

/** An answer of `/rpc`. */
interface Rpc {
  readonly result?: { readonly content: readonly { readonly text: string }[]; readonly tools: readonly Tool[] };
}

interface Tool {
  readonly name: string;
  readonly inputSchema: Parameters<typeof fromJSONSchema>[0];
}

describe('an example of a call', () => {
  let proxy: TestProxy;
  const post = async (body: object | string, path = '/rpc'): Promise<Rpc> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return (await (await fetch(`${proxy.url}${path}`, { method: 'POST', headers, body: text })).json()) as Rpc;
  };
  const call = (name: string, args: object): Promise<Rpc> =>
    post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
  const resultOf = ({ result }: Rpc): object => JSON.parse(result?.content[0]?.text ?? '') as object;
  beforeEach(async () => {
    const env = { MCP_PRUNER_ENABLE_FLEET: 'true', MCP_PRUNER_AUTH_TOKEN: TOKEN };
    proxy = await startProxy(await startUpstream(), { env });
  });

  const printed = blocks
    .filter(({ language }) => language === 'json')
    .flatMap(({ place, text }) => documentsIn(text).map((body) => ({ place, body: JSON.parse(body) as object })));
  const curled = blocks
    .filter(({ language, text }) => SHELLS.has(language) && text.includes('/rpc'))
    .flatMap(({ place, text }) =>
      commandsIn(text).map(({ words }) => ({ place, body: words[words.indexOf('-d') + 1] })),
    )
    .flatMap(({ place, body = '' }) => (body.startsWith('{') ? { place, body: JSON.parse(body) as object } : []));

  it('fits the schema of its tool', async () => {
    const listed = await Promise.all(
      ['/rpc', '/rpc?tools=fleet-lead'].map((path) => post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, path)),
    );
    const schemas = new Map(
      listed.flatMap(({ result }) => (result?.tools ?? []).map((tool) => [tool.name, tool.inputSchema] as const)),
    );
    const calls = [...printed, ...curled].flatMap(({ place, body }) => {
      const { params = body } = body as { readonly params?: object };
      return 'name' in params && 'arguments' in params
        ? { place, name: String(params.name), args: params.arguments }
        : [];
    });
    const faults = calls.flatMap(({ place, name, args }) => {
      const schema = schemas.get(name);
      if (schema === undefined) return `${place}: there is no tool ${name}`;
      const checked = fromJSONSchema(schema).safeParse(args);
      return checked.success ? [] : `${place}: ${checked.error.message}`;
    });
    expect(faults).toEqual([]);
    expect(calls.length).toBeGreaterThan(4);
  });

  it('gets an answer of the printed form', async () => {
    const asked = curled.find(({ body }) => JSON.stringify(body).includes('"prune_text"'));
    const pruned = resultOf(await post(asked?.body ?? '')) as { readonly prune_id: string };
    const ranges = [{ start_line: 1, end_line: 2 }];
    const lines = await call('recover_text', { prune_id: pruned.prune_id, ranges, include_line_numbers: true });
    const unknown = await call('recover_text', {
      prune_id: 'prn_0123456789AB',
      ranges,
      include_line_numbers: false,
    });
    const health = (await (await fetch(`${proxy.url}/health`)).json()) as object;
    const answers = [pruned, resultOf(lines), health, unknown];
    const outputs = printed.filter(({ body }) => !('method' in body) && !('arguments' in body));
    expect(outputs.length).toBeGreaterThan(2);
    const faults = outputs.filter(({ body }) => !answers.some((answer) => hasForm(answer, body)));
    expect(faults.map(({ place }) => place)).toEqual([]);
  });
});

/** The JSON documents of a block: one, or one a line that may go on in indented lines. */
function documentsIn(text: string): string[] {
  try {
    JSON.parse(text);
    return [text];
  } catch {
    return text.split(/\n(?=\{)/);
  }
}

/** Whether a value has at least the fields of an example, with values of the same types. */
function hasForm(real: unknown, example: unknown): boolean {
  if (Array.isArray(example))
    return Array.isArray(real) && (example.length === 0 || real.length === 0 || hasForm(real[0], example[0]));
  if (typeof example !== 'object' || example === null) return typeof real === typeof example;
  if (typeof real !== 'object' || real === null) return false;
  return Object.entries(example).every(
    ([name, value]) => name in real && hasForm((real as Record<string, unknown>)[name], value),
  );
}

describe('printed output', () => {
  /** What the program prints, in which lines of plain blocks must occur. */
  const outputs: Readonly<Record<string, () => Promise<string> | string>> = {
    'README.md': async () => {
      const { io, ran } = fakeIo({ homeDir: tempFolder(), env: { PATH: process.env.PATH ?? '' } });
      return ran(await main(['demo'], io, program)).out;
    },
    // compared with the commands' own output by the test of that picture
    'docs/limits.md': () => readFileSync(join(projectRoot, 'docs/limits.svg'), 'utf8').replaceAll(/<[^>]*>/g, ''),
  };

  const plain = blocks.filter(({ language }) => language === '');

  it.each(plain.map((block) => [block.place, block] as const))(
    'is what the program prints: %s',
    async (_, { place, text }) => {
      const output = outputs[place.split(':')[0] ?? ''];
      expect(output, 'a plain block needs a program that prints it').toBeDefined();
      const printed = masked((await output?.()) ?? '').split('\n');
      // in an example, … stands for what is left out of a line or, at its start, for lines
      const isPrinted = (line: string): boolean => {
        const parts = masked(line).trim().split('…');
        return printed.some((one) => parts.every((part) => one.includes(part)));
      };
      const missing = text.split('\n').filter((line) => !line.startsWith('…') && !isPrinted(line));
      expect(missing).toEqual([]);
    },
  );
});

/** A text without what differs from run to run: ids, numbers and places of files. */
function masked(text: string): string {
  return text
    .replaceAll(/prn_\w{12}/g, 'prn_')
    .replaceAll(/\(\S*[/\\]?[\w.-]+\.js:\d+:\d+\)/g, '(at)')
    .replaceAll(/\d+/g, '0');
}

it('configuration files and modules in a page are valid', () => {
  for (const { place, language, text } of blocks) {
    if (language === 'toml') {
      const path = '/etc/example.toml';
      expect(() => parseToml(text), place).not.toThrow();
      expect(() => loadSettings(machine({ files: { [path]: text }, configFile: path })), place).not.toThrow();
    }
    if (language === 'ts') {
      const names = [...(/import \{([^}]*)\} from 'mcp-pruner'/.exec(text)?.[1]?.matchAll(/\w+/g) ?? [])].map(
        ([name]) => name,
      );
      expect(names.length, place).toBeGreaterThan(0);
      for (const name of names) expect(Object.keys(library), place).toContain(name);
    }
  }
});

it('every fenced block is of a kind that is checked', () => {
  const kinds = new Set(['', 'sh', 'bash', 'json', 'toml', 'ts', 'text']);
  expect(blocks.filter(({ language }) => !kinds.has(language)).map(({ place }) => place)).toEqual([]);
});

it('the pages have at most 14,000 words', () => {
  const texts = readdirSync(join(projectRoot, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(projectRoot, 'docs', name), 'utf8'));
  expect(texts.length).toBeGreaterThan(10);
  expect(texts.flatMap((text) => text.match(/\S+/g) ?? []).length).toBeLessThanOrEqual(14_000);
});
