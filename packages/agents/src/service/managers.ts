import { join, win32 } from 'node:path';
import type { Io } from 'mcp-pruner/cli/command.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { LABEL, launchdAgent, SERVICE, type ServiceProgram, systemdUnit, windowsTask } from './files.ts';

/** Result of a finished program; `code` is `null` if it could not be started. */
export interface ToolResult {
  readonly code: number | null;
  readonly output: string;
}

export type RunTool = (command: string, args: readonly string[]) => ToolResult;

export interface ServiceManager {
  readonly title: string;
  readonly file: string;
  readonly text: (program: ServiceProgram) => string | Buffer;
  /** Throws with instructions if the manager is unavailable. */
  readonly check: (run: RunTool) => void;
  /** Commands that start the service, replacing an older one. */
  readonly start: readonly ManagerCommand[];
  readonly stop: readonly ManagerCommand[];
  /** Commands to run after the file was deleted. */
  readonly forget: readonly ManagerCommand[];
  readonly isRunning: ManagerCommand;
  /** Command that shows the log; `null` if the log is in `logFile`. */
  readonly logs: ManagerCommand | null;
  readonly hint: string | null;
}

/** A command; with `mayFail`, it fails if there is nothing to do. */
export interface ManagerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly mayFail?: true;
}

const step = (command: string, ...args: readonly string[]): ManagerCommand => ({ command, args });
const optional = (command: string, ...args: readonly string[]): ManagerCommand => ({ command, args, mayFail: true });

export function serviceManager(io: Io): ServiceManager {
  if (io.platform === 'darwin') return launchd(io);
  return io.platform === 'win32' ? scheduler(io) : systemd(io);
}

function systemd({ env, homeDir }: Io): ServiceManager {
  const folder = env.XDG_CONFIG_HOME || join(homeDir, '.config');
  const systemctl = (...args: readonly string[]): ManagerCommand => step('systemctl', '--user', ...args);
  return {
    title: 'systemd',
    file: join(folder, 'systemd/user', `${SERVICE}.service`),
    text: systemdUnit,
    check(run) {
      const { code, output } = run('systemctl', ['--user', 'show-environment']);
      if (code === 0) return;
      const why = code === null ? 'systemctl is not there' : output.trim().split('\n')[0];
      throw new UserError(
        `systemd of this user cannot be reached (${why}): run "mcp-pruner serve" with another program that starts services ` +
          '(OpenRC, runit, supervisord, a line "@reboot" of crontab), or in Docker with restart: unless-stopped',
      );
    },
    start: [systemctl('daemon-reload'), systemctl('enable', SERVICE), systemctl('restart', SERVICE)],
    stop: [optional('systemctl', '--user', 'disable', '--now', SERVICE)],
    forget: [systemctl('daemon-reload')],
    isRunning: systemctl('is-active', SERVICE),
    logs: step('journalctl', '--user', '--unit', SERVICE, '--lines', '200', '--no-pager', '--output', 'cat'),
    hint: 'It ends when you log out; loginctl enable-linger keeps it running.',
  };
}

function launchd({ homeDir }: Io): ServiceManager {
  const file = join(homeDir, 'Library/LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${process.getuid?.() ?? 501}`;
  const target = `${domain}/${LABEL}`;
  return {
    title: 'launchd',
    file,
    text: launchdAgent,
    check(run) {
      if (run('launchctl', ['print', domain]).code === 0) return;
      throw new UserError('launchd has no session of this user: log in at the screen and run this again there');
    },
    start: [optional('launchctl', 'bootout', target), step('launchctl', 'bootstrap', domain, file)],
    stop: [optional('launchctl', 'bootout', target)],
    forget: [],
    isRunning: step('launchctl', 'print', target),
    logs: null,
    hint: null,
  };
}

function scheduler({ env, homeDir }: Io): ServiceManager {
  const folder = env.LOCALAPPDATA || win32.join(homeDir, 'AppData', 'Local');
  const file = win32.join(folder, 'mcp-pruner', 'service.xml');
  const user = env.USERDOMAIN ? `${env.USERDOMAIN}\\${env.USERNAME}` : (env.USERNAME ?? '');
  return {
    title: 'the task scheduler',
    file,
    // the scheduler only reads UTF-16 with a byte order mark
    text: (program) => Buffer.from(`\ufeff${windowsTask(program, user)}`, 'utf16le'),
    check(run) {
      if (run('schtasks', ['/Query', '/FO', 'CSV', '/NH']).code === 0) return;
      throw new UserError('the task scheduler does not answer (schtasks): start its service and run this again');
    },
    start: [
      optional('schtasks', '/End', '/TN', SERVICE),
      step('schtasks', '/Create', '/F', '/TN', SERVICE, '/XML', file),
      step('schtasks', '/Run', '/TN', SERVICE),
    ],
    stop: [optional('schtasks', '/End', '/TN', SERVICE), optional('schtasks', '/Delete', '/F', '/TN', SERVICE)],
    forget: [],
    isRunning: step('schtasks', '/Query', '/TN', SERVICE),
    logs: null,
    hint: null,
  };
}
