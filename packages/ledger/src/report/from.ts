import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode } from 'mcp-pruner/base/causes.ts';
import { type Call, type Io, painter, textOption } from 'mcp-pruner/cli/command.ts';
import type { HoldoutResult } from 'mcp-pruner/core/ports/ledger-report.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { parsed } from 'mcp-pruner/wires/json/value.ts';
import { z } from 'zod';
import { type ComparedConversation, holdoutOf } from '../holdout.ts';
import { comparedText } from './text.ts';

const amount = z.number().min(0);

/** A line of the file: cost of a conversation, with and without cuts. */
const rowSchema = z.object({
  conversation: z.union([z.string(), z.number()]),
  arm: z.enum(['pruned', 'control']),
  turns: amount,
  dollars: amount,
  dollarsWithout: amount,
  firstRequestTokens: amount,
});

/**
 * Compares conversations from a file with one JSON object per line, so that anybody can check the method by simulation.
 *
 * @returns `null` if no conversation belongs to the control group
 * @throws UserError if the file cannot be read, or a line is not a row
 */
function holdoutFrom(path: string, cwd: string): HoldoutResult | null {
  const conversations: ComparedConversation[] = [];
  const seen = new Set<string>();
  for (const [i, line] of textAt(resolve(cwd, path)).split('\n').entries()) {
    if (line.trim() === '') continue;
    const row = rowSchema.safeParse(parsed(line));
    if (!row.success) {
      const [issue] = row.error.issues;
      throw new UserError(
        `${path}, line ${i + 1}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'it is not a row'}`,
      );
    }
    const { conversation, ...compared } = row.data;
    if (seen.has(String(conversation))) throw new UserError(`${path}, line ${i + 1}: the conversation is a duplicate`);
    seen.add(String(conversation));
    conversations.push(compared);
  }
  return holdoutOf(conversations);
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new UserError(`cannot read ${path}: ${errorCode(cause) || 'error'}`, { cause });
  }
}

/** `report --from`: prints this comparison. */
export async function comparedView(call: Call, io: Io): Promise<number> {
  const holdout = holdoutFrom(textOption(call, 'from') ?? '', io.cwd);
  const asText = (): string => comparedText(holdout, painter(io), io.columns);
  io.out(call.values.json === true ? `${JSON.stringify({ holdout }, null, 2)}\n` : asText());
  return 0;
}
