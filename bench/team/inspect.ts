import { pause } from '../soak/chance.ts';
import type { Conversation } from './conversations.ts';
import type { Transcript } from './race.ts';
import type { Team } from './stage.ts';
import { callTool } from './watchers.ts';

const AT_ONCE = 8;
const TRIES = 300;

/** Recovers every marker that was forwarded, by whichever replica comes next; says which did not give its lines back. */
export async function inspect(
  team: Team,
  { markers }: Transcript,
  conversations: readonly Conversation[],
): Promise<string[]> {
  const wrong: string[] = [];
  const waiting = [...markers].map(([name, marker], i) => ({ pruneId: name.split(' ')[0] ?? '', ...marker, i }));
  const work = async (): Promise<void> => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      const { pruneId, from, to, conversation, i } = one;
      const text = await recovered(team, i, pruneId, from, to);
      const texts = conversations[conversation]?.texts ?? [];
      const isThere = texts.some(
        (original) =>
          original
            .split('\n')
            .slice(from - 1, to)
            .join('\n') === text,
      );
      if (!isThere) wrong.push(`${pruneId} ${from}-${to} of conversation ${conversation}: ${text.slice(0, 80)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return wrong;
}

/** Asked again while the database is on its way back. */
async function recovered(team: Team, i: number, pruneId: string, from: number, to: number): Promise<string> {
  const ranges = [{ start_line: from, end_line: to }];
  for (let tries = 1; ; tries++) {
    const { alive } = team;
    const url = alive[(i + tries) % alive.length]?.url ?? '';
    try {
      const { raw_text } = await callTool(url, 'recover_text', {
        prune_id: pruneId,
        ranges,
        include_line_numbers: false,
      });
      return raw_text;
    } catch (cause) {
      const said = String(cause);
      if (!/store|unavailable/.test(said) || tries === TRIES) return said;
      await pause(20);
    }
  }
}
