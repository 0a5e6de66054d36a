import { type MarkerFields, parseMarker } from '../../src/engine/text/marker.ts';
import type { TestProxy } from './proxy.ts';

/** The markers that stand on lines of their own in a text. */
export function markersIn(text: string): MarkerFields[] {
  return text.split('\n').flatMap((line) => parseMarker(line) ?? []);
}

/** Puts the original lines back in the place of every marker, each asked for over `/rpc`. */
export async function rebuild(text: string, proxy: TestProxy): Promise<string> {
  const lines = await Promise.all(
    text.split('\n').map(async (line) => {
      const marker = parseMarker(line);
      return marker ? proxy.recover(marker.pruneId, marker.startLine, marker.endLine) : line;
    }),
  );
  return lines.join('\n');
}
