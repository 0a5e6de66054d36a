import { describe, expect, it } from 'vitest';
import { aliases, commands } from '../../src/commands.ts';
import { run } from './fake-io.ts';

const names = Object.keys(commands);
const listed = names.filter((name) => commands[name]?.group !== undefined);

describe('the command line', () => {
  it.each([['--help'], ['-h'], ['help'], []])(
    'lists its commands in four groups on a terminal: %s',
    async (...args) => {
      const { code, out, err } = await run(args, { inIsTerminal: true });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out.match(/^ {2}[a-z]+/gm)?.map((name) => name.trim())).toEqual(listed);
      expect(out.match(/^[A-Z][^:\n]+:$/gm)).toHaveLength(5); // the groups, and the options
      expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(110);
    },
  );

  it('has at most sixteen commands', () => {
    expect(names.length).toBeLessThanOrEqual(16);
  });

  it.each(Object.entries(aliases))('runs %s as %j', async (name, [command = '', argument = '']) => {
    const help = (await run([name, '--help'])).out;
    expect(help).toMatch(new RegExp(`^Usage: mcp-pruner\\s+${command}`));
    expect(help).toContain(argument);
  });

  it.each(['--version', '-v'])('prints the version on %s', async (flag) => {
    expect(await run([flag])).toEqual({ code: 0, out: '9.8.7\n', err: '' });
  });

  it.each(names)(
    'prints help in lines of 100 characters, and the version, for %s, whatever other arguments there are',
    async (name) => {
      const help = await run([name, '--no-such-option', '--help']);
      expect(help).toMatchObject({ code: 0, err: '' });
      expect(help.out).toMatch(new RegExp(`^Usage: mcp-pruner\\s+${name}`));
      expect(help.out).toContain('--help');
      const tooLong = help.out.split('\n').filter((line) => line.length > 100 && line.trim().includes(' '));
      expect(tooLong).toEqual([]);
      expect(await run([name, '--version'])).toEqual({ code: 0, out: '9.8.7\n', err: '' });
    },
  );

  it.each([
    [['srve'], 'unknown command "srve": did you mean serve?'],
    [['toString'], 'unknown command "toString"'],
    [['report', '--jsno'], 'unknown option "--jsno": did you mean --json?'],
    [['report', '--since'], '--since needs a value'],
    [['report', '--json=1'], '--json takes no value'],
    [['report', 'more'], 'unexpected argument "more"'],
    [['report', '--tokens', '--since', '0d'], 'is not a time such as 7d, 2w or 1y'],
    [['report', '--since', '3m'], 'is not a time such as 7d, 2w or 1y'],
    [['report', '--tokens', '--live'], '--tokens and --live exclude each other'],
    [['report', '--tokens', '--csv'], '--tokens takes no --csv'],
    [['report', '--csv'], '--csv needs --by'],
    [['report', '--once'], '--once needs --live'],
    [['why', 'prn_x', '--lines', 'all'], 'unexpected argument "all"'],
    [['recover'], 'too few arguments: mcp-pruner recover <prune_id|marker>'],
    [['recover', 'prn_x', '--lines', '9-3'], 'is not a range of lines'],
    [['recover', 'prn_x', '--lines', '0'], 'is not a range of lines'],
    [['report', '--html', 'x.html', '--json'], '--html and --json exclude each other'],
  ])('refuses %j in one line with exit code 2', async (args, expected) => {
    const { code, out, err } = await run(args);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(expected);
    expect(err).toMatch(/^mcp-pruner: [^\n]+\n$/);
  });
});

describe('mcp-pruner config', () => {
  const env = { MCP_PRUNER_PORT: '9001', MCP_PRUNER_AUTH_TOKEN: 'a-long-random-secret' };

  it('prints what differs from the defaults in any width, and everything with --all', async () => {
    const { out } = await run(['config'], { env, columns: 60 });
    expect(out.split('\n').filter((line) => / = /.test(line))).toHaveLength(2);
    expect(out).toContain('mcp-pruner config --all prints the others');
    expect((await run(['config'], { env: { MCP_PRUNER_PORT: '' } })).out).toContain('all have their defaults');
    const all = (await run(['config', '--all'], { env, columns: 60 })).out;
    expect(all.split('\n').filter((line) => line.length > 60 && line.trim().split(' ').length > 3)).toEqual([]);
  });

  it('prints every value with its origin, secrets masked', async () => {
    const { code, out } = await run(['config', '--all'], { env });
    expect(code).toBe(0);
    expect(out).toMatch(/^port +=\s9001 +env MCP_PRUNER_PORT$/m);
    expect(out).toMatch(/^min_keep_lines +=\s20 +default$/m);
    expect(out).toMatch(/^auth_token +=\s"\*\*\*" +env MCP_PRUNER_AUTH_TOKEN$/m);
    expect(out).not.toContain('a-long-random-secret');
  });

  it('prints the same values as JSON', async () => {
    const { out } = await run(['config', '--json'], { env });
    const shown = JSON.parse(out) as { settings: Record<string, unknown> };
    expect(shown.settings.port).toEqual({ value: 9001, origin: 'env', source: 'MCP_PRUNER_PORT' });
    expect(out).not.toContain('a-long-random-secret');
  });

  it('shows ten options in serve --help, and all of them with --all', async () => {
    const options = async (...args: string[]) => (await run(['serve', ...args])).out.match(/^ {2}--[\w-]+/gm) ?? [];
    const common = await options('--help');
    expect(common).toHaveLength(10);
    expect(common).toContain('  --port');
    expect((await run(['serve', '--help'])).out).toMatch(/\d+ more options: mcp-pruner serve --help --all/);
    const all = await options('--help', '--all');
    expect(all.length).toBeGreaterThan(40);
    expect(all).toEqual(expect.arrayContaining(common));
  });

  it('warns if serve would not start, and continues', async () => {
    const { code, out, err } = await run(['config'], { env: { MCP_PRUNER_HOST: '0.0.0.0' } });
    expect(code).toBe(0);
    expect(out).toContain('0.0.0.0');
    expect(err).toMatch(/^mcp-pruner: warning: serve will not start: .*MCP_PRUNER_AUTH_TOKEN/);
  });

  it('refuses an invalid value in one line with exit code 2', async () => {
    const { code, err } = await run(['config'], { env: { MCP_PRUNER_PORT: 'x' } });
    expect(code).toBe(2);
    expect(err).toMatch(/^mcp-pruner: MCP_PRUNER_PORT = "x" is not valid: [^\n]+\n$/);
  });
});
