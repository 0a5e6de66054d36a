import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { linesOf } from '../file-lines.ts';
import { ClaudeSession } from '../readers/claude.ts';
import { clineCliSession, clineTask } from '../readers/cline.ts';
import { CodexSession } from '../readers/codex.ts';
import { CopilotSession } from '../readers/copilot.ts';
import { geminiSession } from '../readers/gemini.ts';
import { KimiSession } from '../readers/kimi.ts';
import { PiSession } from '../readers/pi.ts';
import { QwenSession } from '../readers/qwen.ts';
import { projectOf, type SessionReader } from '../readers/recorded.ts';
import { type FoundSession, filesBelow, type SessionFile } from './found.ts';
import { openCodeFiles } from './opencode-files.ts';

interface SessionPlace {
  readonly agent: string;
  readonly folder: string;
  files(folder: string): readonly FoundSession[];
}

/** Larger files are not read into memory. */
const MAX_BYTES = 64 * 1024 * 1024;
const CLINE = 'saoudrizwan.claude-dev';

const EDITORS = [
  '.config/Code/User/globalStorage',
  '.vscode-server/data/User/globalStorage',
  'Library/Application Support/Code/User/globalStorage',
  'AppData/Roaming/Code/User/globalStorage',
];

export const PLACES: readonly SessionPlace[] = [
  {
    agent: 'Claude Code',
    folder: '.claude/projects',
    files: (folder) => jsonLines(filesBelow(folder, '.jsonl'), () => new ClaudeSession()),
  },
  {
    agent: 'Codex',
    folder: '.codex/sessions',
    files: (folder) => jsonLines(filesBelow(folder, '.jsonl'), () => new CodexSession()),
  },
  { agent: 'opencode', folder: '.local/share/opencode', files: (folder) => openCodeFiles(folder, 'opencode.db') },
  { agent: 'Kilo', folder: '.local/share/kilo', files: (folder) => openCodeFiles(folder, 'kilo.db') },
  { agent: 'Gemini CLI', folder: '.gemini/tmp', files: geminiFiles },
  {
    agent: 'Copilot CLI',
    folder: '.copilot/session-state',
    files: (folder) => jsonLines(filesBelow(folder, 'events.jsonl'), () => new CopilotSession()),
  },
  {
    agent: 'pi',
    folder: '.pi/agent/sessions',
    files: (folder) => jsonLines(filesBelow(folder, '.jsonl'), () => new PiSession()),
  },
  { agent: 'Qwen Code', folder: '.qwen/projects', files: qwenFiles },
  { agent: 'Kimi Code', folder: '.kimi-code/sessions', files: kimiFiles },
  { agent: 'Cline', folder: '.cline/data/tasks', files: clineFiles },
  { agent: 'Cline', folder: '.cline/data/sessions', files: clineCliFiles },
  ...EDITORS.map((editor) => ({ agent: 'Cline', folder: `${editor}/${CLINE}/tasks`, files: clineFiles })),
];

/** Sessions on this machine written since then, oldest first. */
export function sessionFiles(homeDir: string, sinceMs: number): SessionFile[] {
  return PLACES.flatMap(({ agent, folder, files }) =>
    files(join(homeDir, folder)).map((file) => ({ ...file, agent, atMs: file.atMs ?? writtenAt(file.path) })),
  )
    .filter(({ atMs }) => atMs >= sinceMs)
    .sort((a, b) => a.atMs - b.atMs || (a.path < b.path ? -1 : 1));
}

function writtenAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0; // the file was removed, or is a circular link
  }
}

/** @throws Error if a file cannot be read, or is too large */
function wholeText(path: string): string {
  if (statSync(path).size > MAX_BYTES) throw new Error('the file is too large');
  return readFileSync(path, 'utf8');
}

function jsonLines(paths: readonly string[], open: (path: string) => SessionReader): FoundSession[] {
  return paths.map((path) => ({
    path,
    async read(onRead) {
      const size = Math.max(1, statSync(path).size);
      const reader = open(path);
      for await (const line of linesOf(path, (bytes) => onRead(Math.min(1, bytes / size)))) reader.line(line);
      return reader.end();
    },
  }));
}

/** `<project>/chats/session-….json` or `.jsonl`; a file in the project's folder may name the real folder. */
function geminiFiles(folder: string): FoundSession[] {
  return [...filesBelow(folder, '.json'), ...filesBelow(folder, '.jsonl')]
    .filter((path) => basename(path).startsWith('session-') && basename(dirname(path)) === 'chats')
    .map((path) => ({
      path,
      async read() {
        return geminiSession(wholeText(path), geminiProject(dirname(dirname(path))));
      },
    }));
}

function geminiProject(folder: string): string {
  try {
    return basename(readFileSync(join(folder, '.project_root'), 'utf8').trim());
  } catch {
    return basename(folder).slice(0, 12); // older versions name the folder by a hash
  }
}

/** `<project>/chats/<session>.jsonl`; other files of a project are no conversations. */
function qwenFiles(folder: string): FoundSession[] {
  const paths = filesBelow(folder, '.jsonl').filter((path) => basename(dirname(path)) === 'chats');
  return jsonLines(paths, () => new QwenSession());
}

/** `<folder>/<session>/agents/<agent>/wire.jsonl`; `state.json` of the session names its working directory. */
function kimiFiles(folder: string): FoundSession[] {
  const paths = filesBelow(folder, 'wire.jsonl').filter((path) => basename(dirname(dirname(path))) === 'agents');
  return jsonLines(paths, (path) => {
    const agent = dirname(path);
    const session = dirname(dirname(agent));
    return new KimiSession({ session: basename(session), agent: basename(agent), project: kimiProject(session) });
  });
}

function kimiProject(session: string): string {
  try {
    const state = parsed(readFileSync(join(session, 'state.json'), 'utf8'));
    return projectOf(field(state, 'workDir') ?? field(state, 'cwd'));
  } catch {
    return basename(dirname(session)); // the folder is named after the working directory
  }
}

function clineFiles(folder: string): FoundSession[] {
  return filesBelow(folder, 'api_conversation_history.json').map((path) => ({
    path,
    async read() {
      const id = basename(dirname(path));
      return clineTask({ id, history: wholeText(path), shown: wholeText(join(dirname(path), 'ui_messages.json')) });
    },
  }));
}

/** Files `<id>/<id>.messages.json`, with `<id>.json` next to them. */
function clineCliFiles(folder: string): FoundSession[] {
  return filesBelow(folder, '.messages.json').map((path) => ({
    path,
    async read() {
      const id = basename(path, '.messages.json');
      const about = join(dirname(path), `${id}.json`);
      return clineCliSession({ id, history: wholeText(path), about: existsSync(about) ? wholeText(about) : '' });
    },
  }));
}
