/** A whole number below `limit` that follows from `seed` alone. */
function pick(seed: number, limit: number): number {
  return (Math.imul(seed + 1, 2_654_435_761) >>> 8) % limit;
}

/** A server's log: mostly requests alike, now and then a warning, one failure with its trace. */
export function serverLog(lines: number, seed = 0): string {
  const out: string[] = [];
  const failure = Math.floor(lines * 0.6);
  for (let i = 0; out.length < lines; i++) {
    const at = `2026-02-26T12:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}.${pick(i + seed, 900) + 100}Z`;
    if (i === failure) {
      out.push(`${at} ERROR payment ${pick(seed, 90_000)} failed: TypeError: cannot read 'total' of undefined`);
      out.push('    at chargeOrder (/srv/app/src/payments.ts:118:21)');
      out.push('    at handleCheckout (/srv/app/src/checkout.ts:44:11)');
    } else if (i % 97 === 50) out.push(`${at} WARN cache: ${pick(i * 7 + seed, 50)} entries evicted`);
    else out.push(`${at} INFO GET /v1/items/${pick(i * 3 + seed, 100_000)} 200 ${pick(i + seed, 90)}ms`);
  }
  return `${out.slice(0, lines).join('\n')}\n`;
}

const NOUNS = [
  'order',
  'invoice',
  'basket',
  'customer',
  'payment',
  'shipment',
  'refund',
  'voucher',
  'address',
  'stock',
];
const VERBS = ['load', 'store', 'check', 'merge', 'print', 'send', 'count', 'split', 'parse', 'retry'];

/** A source file of many functions; the first is `loadOrder0`. */
export function sourceFile(functions: number, seed = 0): string {
  const out = ["import { database } from './database.ts';", "import { log } from './log.ts';", ''];
  for (let i = 0; i < functions; i++) {
    const noun = NOUNS[(i + seed) % NOUNS.length] ?? 'order';
    const verb = VERBS[Math.floor(i / NOUNS.length + seed) % VERBS.length] ?? 'load';
    const name = `${verb}${noun.charAt(0).toUpperCase()}${noun.slice(1)}${i}`;
    out.push(`export async function ${name}(id: string, limit = ${pick(i + seed, 100)}): Promise<string[]> {`);
    out.push(`  const rows = await database.query('select * from ${noun} where id = ?', [id]);`);
    out.push(`  log.debug({ ${noun}: id, rows: rows.length }, '${verb} of ${noun} number ${i}');`);
    out.push('  const seen = new Set<string>();');
    out.push('  for (const row of rows.slice(0, limit)) {');
    out.push(`    if (row.${noun}_state === ${pick(i * 5 + seed, 9)}) continue;`);
    out.push(`    seen.add(row.${noun}_name.trim().toLowerCase());`);
    out.push('  }');
    out.push('  return [...seen].sort();');
    out.push('}');
    out.push('');
  }
  return out.join('\n');
}
