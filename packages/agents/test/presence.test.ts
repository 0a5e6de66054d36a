import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { announcePresence, listenForPresence } from '../src/presence.ts';

let folder: string;
let made = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-presence-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function listen() {
  const path = join(folder, `${made++}.sock`);
  const heard: string[] = [];
  const stop = await listenForPresence(path, { onUp: () => heard.push('up'), onLost: () => heard.push('lost') });
  onTestFinished(stop);
  return { path, heard, is: (...words: string[]) => expect.poll(() => heard, { timeout: 5_000 }).toEqual(words) };
}

describe('the socket of a run', () => {
  it('reports that the server is up, and stays silent after a regular exit', async () => {
    const { path, heard, is } = await listen();
    const leave = announcePresence(path);
    await is('up');
    leave();
    const second = announcePresence(path);
    await is('up', 'up');
    second();
    expect(heard).not.toContain('lost');
  });

  it('reports when the last server died', async () => {
    const { path, is } = await listen();
    const [first, second] = [connect(path), connect(path)];
    await is('up', 'up');
    first.destroy();
    second.destroy();
    await is('up', 'up', 'lost');
  });

  it('does not make a server fail if it is missing', () => {
    announcePresence(join(folder, 'nobody.sock'))();
  });
});
