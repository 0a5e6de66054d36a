import { htmlText } from 'mcp-pruner/cli/html-text.ts';

export interface ServiceProgram {
  /** Absolute path of Node. */
  readonly node: string;
  /** Absolute path of the command line's entry point. */
  readonly entry: string;
  /** Absolute path of the settings file, readable by its owner only. */
  readonly envFile: string;
  /** Log file, for managers that keep no log themselves. */
  readonly logFile: string;
  readonly homeDir: string;
  /** Time limit for stopping, in seconds. */
  readonly stopS: number;
}

export const SERVICE = 'mcp-pruner';
/** Name in launchd, which expects a reversed domain. */
export const LABEL = 'local.mcp-pruner';

/** Delay before a failed service is restarted, in seconds. */
const RESTART_S = 2;

export function systemdUnit({ node, entry, envFile, homeDir, stopS }: ServiceProgram): string {
  const command = [node, `--env-file=${envFile}`, entry, 'serve'].map(systemdWord).join(' ');
  return [
    '[Unit]',
    'Description=mcp-pruner, the proxy that prunes what agents send to models',
    // limits restarts of a program that cannot start at all
    'StartLimitIntervalSec=300',
    'StartLimitBurst=10',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command}`,
    `WorkingDirectory=${systemdPath(homeDir)}`,
    'Restart=on-failure',
    `RestartSec=${RESTART_S}`,
    `TimeoutStopSec=${stopS}`,
    'UMask=0077',
    'NoNewPrivileges=yes',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n');
}

export function launchdAgent({ node, entry, envFile, logFile, homeDir, stopS }: ServiceProgram): string {
  const text = (value: string): string => `<string>${htmlText(value)}</string>`;
  const words = [node, `--env-file=${envFile}`, entry, 'serve'].map((word) => `    ${text(word)}`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key>${text(LABEL)}`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...words,
    '  </array>',
    `  <key>WorkingDirectory</key>${text(homeDir)}`,
    '  <key>RunAtLoad</key><true/>',
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    `  <key>ThrottleInterval</key><integer>${RESTART_S}</integer>`,
    `  <key>ExitTimeOut</key><integer>${stopS}</integer>`,
    '  <key>Umask</key><integer>63</integer>', // octal 0077
    `  <key>StandardOutPath</key>${text(logFile)}`,
    `  <key>StandardErrorPath</key>${text(logFile)}`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

/**
 * A Windows scheduler task for the user's session, as XML. Runs through a shell, which writes the log.
 *
 * @param user - `DOMAIN\name`
 */
export function windowsTask({ node, entry, envFile, logFile, homeDir }: ServiceProgram, user: string): string {
  const command = [node, `--env-file=${envFile}`, entry, 'serve'].map((word) => `"${word}"`).join(' ');
  const args = `--headless cmd.exe /d /s /c "${command} >> "${logFile}" 2>&1"`;
  return [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    '  <RegistrationInfo><Description>mcp-pruner, the proxy that prunes what agents send to models</Description></RegistrationInfo>',
    `  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>${htmlText(user)}</UserId></LogonTrigger></Triggers>`,
    '  <Principals><Principal id="Author">',
    `    <UserId>${htmlText(user)}</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel>`,
    '  </Principal></Principals>',
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>',
    '    <Hidden>true</Hidden>',
    '  </Settings>',
    '  <Actions Context="Author"><Exec>',
    '    <Command>conhost.exe</Command>',
    `    <Arguments>${htmlText(args)}</Arguments>`,
    `    <WorkingDirectory>${htmlText(homeDir)}</WorkingDirectory>`,
    '  </Exec></Actions>',
    '</Task>',
    '',
  ].join('\r\n');
}

/**
 * Formats settings for Node's `--env-file`.
 *
 * @throws RangeError for a value that cannot be represented
 */
export function envFileText(values: Readonly<Record<string, string>>): string {
  const lines = Object.entries(values).map(([name, value]) => {
    const quote = ["'", '"', '`'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes('\\')));
    if (quote === undefined || /[\r\n\0]/.test(value)) {
      throw new RangeError(`${name} holds quotes of every kind or a line end: set it in the configuration file`);
    }
    return `${name}=${quote}${value}${quote}`;
  });
  return `${['# Settings of the service mcp-pruner; written by mcp-pruner service install.', ...lines].join('\n')}\n`;
}

/** Quotes a word for a systemd command line, which interprets escapes, `%` and `$`. */
function systemdWord(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return `"${escaped}"`;
}

const systemdPath = (path: string): string => path.replaceAll('%', '%%');
