// Loaded into a server before it: between two SIGUSR2 it notes how long the CPU was at work in the longest turn of the event
// loop, by the clock of its main thread, and writes that to a file. Waiting for a core is not counted.
import { readFileSync, writeFileSync } from 'node:fs';

const clock = `/proc/self/task/${process.pid}/schedstat`;
const workedMs = () => Number(readFileSync(clock, 'latin1').split(' ')[0]) / 1e6;
const file = process.env.BENCH_TURNS_FILE;
let measuring = false;
let longestMs = 0;
let lastMs = 0;

function turn() {
  const nowMs = workedMs();
  longestMs = Math.max(longestMs, nowMs - lastMs);
  lastMs = nowMs;
  if (measuring) setImmediate(turn);
}

process.on('SIGUSR2', () => {
  measuring = !measuring;
  if (measuring) {
    [longestMs, lastMs] = [0, workedMs()];
    setImmediate(turn);
  } else {
    turn();
    writeFileSync(file, String(longestMs));
  }
});
