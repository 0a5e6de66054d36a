import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { WATCH } from '../src/group-watchdog.ts';

/** Starts a process group that would go on for a minute. */
function startGroup() {
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  if (child.pid === undefined) throw new Error('sleep did not start');
  return { group: child.pid, ended: once(child, 'exit') };
}

describe.skipIf(process.platform === 'win32')("the watchdog of a server's commands", () => {
  it('kills the process groups on its list when its pipe closes, and no others', async () => {
    const [left, released] = [startGroup(), startGroup()];
    const input = `+ ${left.group}\n+ ${released.group}\n- ${released.group}\n`;
    expect(spawnSync('/bin/sh', ['-c', WATCH], { input, timeout: 10_000 }).error).toBeUndefined();
    expect(await left.ended).toEqual([null, 'SIGKILL']);
    expect(process.kill(released.group, 0)).toBe(true);
    process.kill(-released.group, 'SIGTERM');
    expect(await released.ended).toEqual([null, 'SIGTERM']);
  });

  it('ignores unknown groups', async () => {
    const { group, ended } = startGroup();
    const unknown = Array.from({ length: 60 }, (_, i) => `- 99999${i}\n`).join('');
    const { error } = spawnSync('/bin/sh', ['-c', WATCH], { input: `+ ${group}\n${unknown}`, timeout: 10_000 });
    expect(error).toBeUndefined(); // it once doubled its list with each of them
    expect(await ended).toEqual([null, 'SIGKILL']);
  });
});
