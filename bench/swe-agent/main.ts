/**
 * Turns SWE-agent trajectories into the growing requests that an agent would have sent, one JSON line each:
 *   node bench/run.mjs swe-agent <bare git directory of SWE-agent/SWE-agent> > requests.jsonl
 *   npm run lab -- replay requests.jsonl
 *
 * Observations become tool results; what the agent did in plain text becomes a call of `bash`.
 */
import { execFileSync } from 'node:child_process';

interface Entry {
  readonly role: string;
  readonly content: unknown;
  readonly thought?: string;
  readonly action?: string;
  readonly tool_calls?: readonly unknown[] | null;
  readonly tool_call_ids?: readonly string[] | null;
}

type Message = Readonly<Record<string, unknown>>;

/** The messages of a trajectory in the shape of chat/completions. */
function messagesOf(history: readonly Entry[]): Message[] {
  let open = '';
  return history.map((entry, i): Message => {
    if (entry.role === 'assistant') {
      const calls = entry.tool_calls ?? [];
      if (calls.length > 0) return { role: 'assistant', content: entry.content, tool_calls: calls };
      open = `call_${i}`;
      const call = { name: 'bash', arguments: JSON.stringify({ command: entry.action ?? '' }) };
      const content = entry.thought ?? entry.content;
      return { role: 'assistant', content, tool_calls: [{ id: open, type: 'function', function: call }] };
    }
    if (entry.role === 'tool') {
      return { role: 'tool', tool_call_id: entry.tool_call_ids?.[0] ?? '', content: entry.content };
    }
    if (entry.role === 'user' && history[i - 1]?.role === 'assistant') {
      return { role: 'tool', tool_call_id: open, content: entry.content };
    }
    return { role: entry.role, content: entry.content };
  });
}

const [repository = ''] = process.argv.slice(2);
if (repository === '') {
  process.stderr.write('usage: node bench/run.mjs swe-agent <bare git directory> > requests.jsonl\n');
  process.exit(2);
}
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
const files = git('ls-tree', '-r', '--name-only', 'HEAD', 'trajectories/demonstrations').split('\n');
let requests = 0;
let trajectories = 0;
for (const file of files.filter((name) => name.endsWith('.traj'))) {
  const { history } = JSON.parse(git('show', `HEAD:${file}`)) as { history: readonly Entry[] };
  const messages = messagesOf(history);
  // A request ends right before each answer of the model; the last one is told with its answer.
  const answers = messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []));
  for (const at of answers) {
    const request = { model: 'gpt-4o', messages: messages.slice(0, at) };
    const response = { choices: [{ index: 0, message: messages[at] }] };
    process.stdout.write(`${JSON.stringify(at === answers.at(-1) ? { request, response } : { request })}\n`);
    requests++;
  }
  trajectories++;
}
process.stderr.write(`${trajectories} trajectories, ${requests} requests\n`);
