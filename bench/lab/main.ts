// The commands of the laboratory: npm run lab -- eval --git <repository> | replay <file>
import { labCommands } from '@mcp-pruner/lab/commands.ts';
import { runProgram } from '../../src/program.ts';

await runProgram(new URL('package.json', `file://${process.env.MCP_PRUNER_BENCH_ROOT}/`), {}, labCommands);
