import { spawn } from 'node:child_process';

/**
 * A client that is driven by JSON records, one a line, on its standard input and output.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: Record<string, string>, timeoutMs: number }} options - `timeoutMs` of each wait
 */
export function startLines(command, args, { cwd, env, timeoutMs }) {
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const waiting = new Set();
  const records = [];
  let [rest, errors, ended] = ['', '', null];
  const settle = () => {
    for (const one of waiting) {
      const found = records.slice(one.from).find(one.isIt);
      if (found === undefined && ended === null) continue;
      waiting.delete(one);
      clearTimeout(one.timer);
      if (found !== undefined) one.resolve(found);
      else one.reject(new Error(`the client ended: ${ended} ${errors.slice(-500)}`));
    }
  };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      try {
        records.push(JSON.parse(line));
      } catch {
        // words for people
      }
    }
    settle();
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = (errors + text).slice(-10_000);
  });
  child.stdin.on('error', () => {}); // it has ended
  const over = new Promise((resolve) => {
    const end = (why) => {
      ended ??= String(why);
      settle();
      resolve();
    };
    child.once('error', end);
    child.once('close', (code) => end(`code ${code}`));
  });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // nothing of the group is left
    }
  };
  return {
    send: (record) => void child.stdin.write(`${JSON.stringify(record)}\n`),
    /** Number of records so far: where a wait for what follows begins. */
    get count() {
      return records.length;
    },
    /** The first record from a place on that is the one. */
    next: (isIt, from = 0) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(one);
          reject(
            new Error(`no answer in time: ${JSON.stringify(records.slice(-2)).slice(-500)} ${errors.slice(-300)}`),
          );
        }, timeoutMs);
        const one = { isIt, from, resolve, reject, timer };
        waiting.add(one);
        settle();
      }),
    end: async () => {
      child.stdin.end();
      const timer = setTimeout(kill, 3_000);
      await over;
      clearTimeout(timer);
      kill();
    },
  };
}
