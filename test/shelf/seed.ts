import { declarationsIn } from '../../src/core/shelf/watch.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';

const DAY_MS = 86_400_000;

/** Sentences that no first sentence has. */
export const REST = 'It looks into every lake and every river of the country, one after the other. '.repeat(12).trim();
/** A description of two paragraphs. */
export const LONG = `Finds fish. ${REST}\n\nSecond "paragraph". ${REST}`;

/** Notes the tools of a body as declared by five conversations on two days, the second of which is `atMs`. */
export async function seedUnused(
  { shelf }: Pick<StoreHandle, 'shelf'>,
  body: unknown,
  {
    wire,
    client,
    atMs,
    project = 'default',
  }: { wire: Dialect['name']; client: string; atMs: number; project?: string },
): Promise<void> {
  const declarations = declarationsIn(Buffer.from(JSON.stringify(body)), wire);
  for (const i of [1, 2, 3, 4, 5])
    await shelf.record({
      ...{ project, client, conversation: `${wire} ${i}`, isFirst: true, declarations, never: () => false },
      ...{ calls: new Map(), shortened: new Set(), tokensSaved: 0, atMs: i > 3 ? atMs : atMs - DAY_MS },
    });
}
