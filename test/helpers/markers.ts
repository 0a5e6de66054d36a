import { type MarkerFields, parseMarker } from '../../src/engine/text/marker.ts';
import type { TestProxy } from './proxy.ts';

/** The markers that stand on lines of their own in a text; a short one has the prune id of the full one above it. */
export function markersIn(text: string): MarkerFields[] {
  return readMarkers(text).filter((line) => typeof line !== 'string');
}

/** Puts the original lines back in the place of every marker, each asked for over `/rpc`. */
export async function rebuild(text: string, proxy: TestProxy): Promise<string> {
  const lines = await Promise.all(
    readMarkers(text).map((line) =>
      typeof line === 'string' ? line : proxy.recover(line.pruneId, line.startLine, line.endLine),
    ),
  );
  return lines.join('\n');
}

/** The lines of a text, markers read. */
function readMarkers(text: string): (string | MarkerFields)[] {
  let full = '';
  return text.split('\n').map((line) => {
    const marker = parseMarker(line);
    if (marker === null) return line;
    full = marker.pruneId || full;
    return { ...marker, pruneId: full };
  });
}
