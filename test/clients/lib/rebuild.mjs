/** A marker alone on its line. Only the first one of a text names the prune id. */
const MARKER = /^⟦PRUNÉ: (?:prune_id=(\S+) )?lignes (\d+)-(\d+) \((\d+)\)(?: raison=.*)?⟧$/u;

/**
 * Puts the recovered lines in the place of every marker.
 *
 * @param {string} text - as it went upstream
 * @param {(cut: { pruneId: string, startLine: number, endLine: number }) => Promise<string>} recover
 * @returns {Promise<{ text: string, markers: number }>}
 */
export async function rebuild(text, recover) {
  const out = [];
  let markers = 0;
  let pruneId = '';
  for (const line of text.split('\n')) {
    const [, named, start, end, count] = MARKER.exec(line) ?? [];
    if (start === undefined) {
      out.push(line);
      continue;
    }
    pruneId = named ?? pruneId;
    const cut = { pruneId, startLine: Number(start), endLine: Number(end) };
    if (Number(count) !== cut.endLine - cut.startLine + 1) throw new Error(`a marker counts wrong: ${line}`);
    out.push(await recover(cut));
    markers++;
  }
  return { text: out.join('\n'), markers };
}
