import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process, { kill, pid, stderr } from 'node:process';

const POLL_MS = 200;

/**
 * Takes a lock file, which names its process, and waits while another living process has it. A dead process's lock is
 * taken over. It is given back when this process ends, or by the returned function.
 *
 * @param {string} file
 * @param {string} waits printed once if another process has the lock
 * @param {() => void} wait between two attempts
 * @returns {() => void} gives the lock back
 */
export function takeLock(file, waits, wait = pause) {
  mkdirSync(dirname(file), { recursive: true });
  const own = `${file}.${pid}`;
  writeFileSync(own, String(pid));
  let said = false;
  // a link appears with its content, so that no process reads an empty lock
  while (!linked(own, file)) {
    const holder = holderOf(file);
    if (holder === null) continue; // given back meanwhile
    if (!isAlive(holder)) {
      removeLockOf(holder, file);
      continue;
    }
    if (!said) stderr.write(`${waits}\n`);
    said = true;
    wait();
  }
  rmSync(own);
  const release = () => {
    if (holderOf(file) === pid) rmSync(file);
  };
  process.once('exit', release);
  return () => {
    process.off('exit', release);
    release();
  };
}

function linked(own, file) {
  try {
    linkSync(own, file);
    return true;
  } catch (cause) {
    if (cause.code === 'EEXIST') return false;
    throw cause;
  }
}

/** The process that has the lock; `null` if none has. */
function holderOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (cause.code === 'ENOENT') return null;
    throw cause;
  }
}

function isAlive(holder) {
  try {
    kill(holder, 0);
    return true;
  } catch (cause) {
    return cause.code === 'EPERM';
  }
}

/** Another process may have taken the lock over in the meantime: that one's lock is put back. */
function removeLockOf(holder, file) {
  const moved = `${file}.${pid}.old`;
  try {
    renameSync(file, moved);
  } catch (cause) {
    if (cause.code === 'ENOENT') return;
    throw cause;
  }
  if (holderOf(moved) !== holder) linked(moved, file);
  rmSync(moved);
}

function pause() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
}
