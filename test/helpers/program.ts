import type { Program } from '../../src/cli/main.ts';
import { aliases, commands } from '../../src/commands.ts';
import { edition } from '../../src/edition.ts';

/** The program with all of its parts. */
export const program: Program = { commands, aliases, edition: async () => edition };
