import { htmlText } from '../html-text.ts';

/** The program that a service manager starts. */
export interface ServiceProgram {
  /** Absolute path of Node. */
  readonly node: string;
  /** Absolute path of the command line's entry point. */
  readonly entry: string;
  /** Absolute path of the file with the settings, which its owner alone reads. */
  readonly envFile: string;
  /** Where it writes what it says, for managers that keep no log themselves. */
  readonly logFile: string;
  readonly homeDir: string;
  /** How long it may take to end, in seconds. */
  readonly stopS: number;
}

/** Name of the service with every manager. */
export const SERVICE = 'mcp-pruner';
/** Its name with launchd, which wants a reversed domain. */
export const LABEL = 'local.mcp-pruner';

/** Seconds before a service that failed is started again. */
const RESTART_S = 2;

/** A unit of systemd for the user's own manager. */
export function systemdUnit({ node, entry, envFile, homeDir, stopS }: ServiceProgram): string {
  const command = [node, `--env-file=${envFile}`, entry, 'serve'].map(systemdWord).join(' ');
  return [
    '[Unit]',
    'Description=mcp-pruner, the proxy that prunes what agents send to models',
    // a program that cannot start at all is not tried for ever
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

/** An agent of launchd, as a property list. */
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
    '  <key>Umask</key><integer>63</integer>', // 0077
    `  <key>StandardOutPath</key>${text(logFile)}`,
    `  <key>StandardErrorPath</key>${text(logFile)}`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

/**
 * A task of the Windows scheduler for the user's own session, as XML. The shell in between is what writes the log.
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
 * Settings as Node's `--env-file` reads them.
 *
 * @throws RangeError for a value that has no spelling there
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

/** A word of a command line: systemd reads escapes, `%` and `$` in it. */
function systemdWord(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return `"${escaped}"`;
}

const systemdPath = (path: string): string => path.replaceAll('%', '%%');
