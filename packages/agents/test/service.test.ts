import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeIo, type Ran, run as runCommand } from '../../../test/cli/fake-io.ts';
import { envFileText, launchdAgent, systemdUnit, windowsTask } from '../src/service/files.ts';
import { type RunTool, serviceManager } from '../src/service/managers.ts';
import { serviceCommand } from '../src/service/service.ts';

const program = {
  node: '/opt/my "node"/bin/node',
  entry: '/opt/100% $HOME/dist/cli.js',
  envFile: '/home/me/.config/mcp-pruner/service.env',
  logFile: '/home/me/<logs>/service.log',
  homeDir: '/home/me & co',
  stopS: 40,
};

describe('the service file', () => {
  it('for systemd restarts it after a failure, and escapes what systemd would expand', () => {
    expect(systemdUnit(program)).toContain(
      'ExecStart="/opt/my \\"node\\"/bin/node" "--env-file=/home/me/.config/mcp-pruner/service.env" ' +
        '"/opt/100%% $$HOME/dist/cli.js" "serve"\n',
    );
    for (const line of ['Restart=on-failure', 'TimeoutStopSec=40', 'UMask=0077', 'WantedBy=default.target']) {
      expect(systemdUnit(program).split('\n')).toContain(line);
    }
  });

  it('for launchd starts it at login, restarts it after a failure, and is well-formed', () => {
    const text = launchdAgent(program);
    expect(text).toContain('<string>/opt/my &quot;node&quot;/bin/node</string>');
    expect(text).toContain('<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>');
    expect(text).toContain('<key>StandardOutPath</key><string>/home/me/&lt;logs&gt;/service.log</string>');
    expect(text.match(/<(dict|array)>/g)?.length).toBe(text.match(/<\/(dict|array)>/g)?.length);
  });

  it('for Windows starts it at logon without a time limit, and restarts it after a failure', () => {
    const text = windowsTask({ ...program, node: 'C:\\Program Files\\node.exe' }, 'PC\\me&co');
    expect(text).toContain('<UserId>PC\\me&amp;co</UserId>');
    expect(text).toContain('<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>');
    expect(text).toContain('<RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>');
    expect(text).toContain('&quot;C:\\Program Files\\node.exe&quot;');
    expect(text).toContain('service.log&quot; 2&gt;&amp;1');
  });

  it('with the settings is read by Node exactly as written', () => {
    const values = { A: 'plain', B: `it's "so"`, C: '{"x":"\\n"}', D: 'a # b $HOME ', E: 'C:\\new\\table' };
    const file = join(mkdtempSync(join(tmpdir(), 'mcp-pruner-env-')), 'service.env');
    writeFileSync(file, envFileText(values));
    const script = 'console.log(JSON.stringify(["A","B","C","D","E"].map((name) => process.env[name])))';
    const { stdout } = spawnSync(process.execPath, [`--env-file=${file}`, '-e', script], { env: {}, encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual(Object.values(values));
    expect(() => envFileText({ X: `'"\`` })).toThrow(/X holds quotes/);
    expect(() => envFileText({ X: 'a\nb' })).toThrow(RangeError);
  });
});

describe('mcp-pruner service', () => {
  let root: string;
  let made = 0;
  const proxy = createServer((_req, res) => void res.end('{"server":"mcp-pruner"}'));
  let port: string;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'mcp-pruner-service-'));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    port = String((proxy.address() as AddressInfo).port);
  });

  afterAll(() => {
    proxy.close();
    rmSync(root, { recursive: true });
  });

  /** A machine whose service manager takes down what it is asked. */
  function machine(platform: NodeJS.Platform = 'linux', answer: RunTool = () => ({ code: 0, output: '' })) {
    const homeDir = join(root, String(made++));
    const asked: string[] = [];
    const command = serviceCommand((name, args) => {
      asked.push([name, ...args].join(' '));
      return answer(name, args);
    });
    const run = async (action: string, env: Record<string, string> = {}): Promise<Ran> => {
      const { io, ran } = fakeIo({ platform, homeDir, cwd: root, env: { MCP_PRUNER_PORT: port, ...env } });
      return ran(await command.run({ values: {}, positionals: [action] }, io));
    };
    return { homeDir, asked, run };
  }

  it('includes the current settings, but secrets only in a file that only the owner can read', async () => {
    const { homeDir, asked, run } = machine();
    const env = {
      MCP_PRUNER_AUTH_TOKEN: 'a-very-secret-token',
      MCP_PRUNER_UPSTREAM_URL: 'http://up/v1',
      UNRELATED: 'x',
    };
    expect(await run('install', env)).toMatchObject({ code: 0, out: expect.stringMatching(/the proxy answers/) });
    const unit = join(homeDir, '.config/systemd/user/mcp-pruner.service');
    const file = join(homeDir, '.config/mcp-pruner/service.env');
    expect(readFileSync(unit, 'utf8')).toContain(`--env-file=${file}`);
    expect(readFileSync(unit, 'utf8')).not.toContain('secret');
    expect(readFileSync(file, 'utf8')).toContain("MCP_PRUNER_AUTH_TOKEN='a-very-secret-token'");
    expect(readFileSync(file, 'utf8')).not.toContain('UNRELATED');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(asked.slice(-3)).toEqual([
      'systemctl --user daemon-reload',
      'systemctl --user enable mcp-pruner',
      'systemctl --user restart mcp-pruner',
    ]);
    expect(await run('status')).toMatchObject({ code: 0, out: expect.stringMatching(/systemd: runs/) });
    expect(await run('remove')).toMatchObject({ code: 0 });
    expect(existsSync(unit) || existsSync(file)).toBe(false);
  });

  it('registers and removes a launchd agent on macOS', async () => {
    const { homeDir, asked, run } = machine('darwin');
    expect(await run('install')).toMatchObject({ code: 0 });
    const file = join(homeDir, 'Library/LaunchAgents/local.mcp-pruner.plist');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(asked.some((line) => /^launchctl bootstrap gui\/\d+ .*\.plist$/.test(line))).toBe(true);
    await run('remove');
    expect(existsSync(file)).toBe(false);
  });

  it('registers a scheduled task on Windows from a UTF-16 file', () => {
    const env = { LOCALAPPDATA: 'C:\\Local', USERDOMAIN: 'PC', USERNAME: 'me' };
    const { file, text, start } = serviceManager(fakeIo({ platform: 'win32', env }).io);
    expect(file).toBe('C:\\Local\\mcp-pruner\\service.xml');
    expect(start.map(({ args }) => args.join(' '))).toContain(`/Create /F /TN mcp-pruner /XML ${file}`);
    const bytes = text(program);
    expect(Buffer.isBuffer(bytes) && bytes.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xfe]));
  });

  it('names the remedy if there is no systemd, and writes nothing', async () => {
    const { homeDir, run } = machine('linux', () => ({ code: null, output: '' }));
    await expect(run('install')).rejects.toThrow(/systemctl is not there.*mcp-pruner serve/);
    expect(existsSync(homeDir)).toBe(false);
    expect(await run('status')).toMatchObject({ code: 1, out: expect.stringMatching(/not installed/) });
    expect(await run('remove')).toMatchObject({ code: 0, out: 'no service is installed\n' });
  });

  it('refuses an unknown action, and port 0', async () => {
    expect(await runCommand(['service', 'dance'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/install, status/),
    });
    await expect(machine().run('install', { MCP_PRUNER_PORT: '0' })).rejects.toThrow(/MCP_PRUNER_PORT/);
  });
});
