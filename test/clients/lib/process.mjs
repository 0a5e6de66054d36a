import { spawn } from 'node:child_process';

/**
 * Runs a program to its end, or ends it and all it started when the time is up.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: Record<string, string>, timeoutMs: number }} options
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string, timedOut: boolean }>} `code` is null when a
 *   signal ended it
 */
export function runProcess(command, args, { cwd, env, timeoutMs }) {
  return new Promise((resolve, reject) => {
    // A group of its own, so that a client's helpers end with it.
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const out = { stdout: '', stderr: '' };
    let timedOut = false;
    const endGroup = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // Nothing of the group is left.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      endGroup();
    }, timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      out.stderr += text;
    });
    child.once('error', reject);
    child.once('exit', () => {
      // A helper that outlives the client would hold its pipes open.
      setTimeout(endGroup, 500);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...out, timedOut });
    });
  });
}
