/** `mcp-pruner eval` from source, without a build: node bench/run.mjs eval --git <repository> … */
import { runEval } from '../../src/cli/eval.ts';

process.exitCode = await runEval(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTty: process.stderr.isTTY === true,
});
