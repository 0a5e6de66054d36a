import { parsed } from '../wires/json/value.ts';
import { type Paint, printable } from './command.ts';

/** Values of fields that were not requested by name are truncated to this length. */
const MAX_VALUE = 160;
/** Maximum number of prune ids shown per request; `tail` and the JSON line have all. */
const MAX_IDS = 3;

type Fields = Readonly<Record<string, unknown>>;

/** Formats a JSON log line for people. Other lines are printed unchanged, with control characters made visible. */
export function logLinePrinter(paint: Paint): (line: string) => string {
  return (line) => {
    const fields = fieldsOf(line);
    if (fields === null) return `${printable(line.trimEnd())}\n`;
    const { time, level, msg, pid: _pid, hostname: _hostname, ...rest } = fields;
    const facts = factsOf(msg, rest, paint);
    const parts = [paint('dim', String(time ?? '').slice(11, 19)), levelOf(level, paint), plainText(msg), facts];
    return `${parts.filter((part) => part !== '').join('  ')}\n`;
  };
}

/** Message of the line that reports the server's URLs. */
export const LISTENING = 'listening; point an agent at it with OPENAI_BASE_URL or ANTHROPIC_BASE_URL';

function factsOf(msg: unknown, fields: Fields, paint: Paint): string {
  if (msg === LISTENING) return listeningFacts(fields);
  return 'tokensSaved' in fields && 'status' in fields ? requestFacts(fields, paint) : otherFacts(fields);
}

function listeningFacts({ url, upstreamUrl, anthropicUrl, geminiUrl, page }: Fields): string {
  const upstreams = [upstreamUrl, anthropicUrl, geminiUrl].filter(Boolean).map(plainText).join(', ');
  return `${plainText(url)} -> ${upstreams}${page === undefined ? '' : `  page ${plainText(page)}`}`;
}

function fieldsOf(line: string): Fields | null {
  const value = parsed(line);
  return value !== null && typeof value === 'object' ? (value as Fields) : null;
}

function levelOf(level: unknown, paint: Paint): string {
  if (level === 'warn') return paint('yellow', 'WARN');
  return level === 'error' || level === 'fatal' ? paint('red', 'ERROR') : '';
}

function requestFacts(fields: Fields, paint: Paint): string {
  const { model, messages, status, totalMs, tokensBefore, tokensSaved, pruneIds, shadow, end, upstreamError } = fields;
  const saved = number(tokensSaved);
  const share = number(tokensBefore) === 0 ? 0 : Math.round((100 * saved) / number(tokensBefore));
  const wouldBe = shadow === true ? 'would save' : 'saved';
  const savingText = `${wouldBe} ${saved.toLocaleString('en-US')} tokens of its texts (${share} %)`;
  const ids = Array.isArray(pruneIds) ? pruneIds.map(String) : [];
  const more = ids.length > MAX_IDS ? ` and ${ids.length - MAX_IDS} more` : '';
  return [
    plainText(fields.wire),
    `${plainText(model)}, ${number(messages)} messages`,
    paint(number(status) >= 400 ? 'red' : 'cyan', plainText(status)),
    `${(number(totalMs) / 1000).toFixed(1)} s`,
    saved > 0 ? paint('green', savingText) : paint('dim', 'nothing to save'),
    paint('dim', `${ids.slice(-MAX_IDS).join(' ')}${more}`),
    end === undefined ? '' : paint('yellow', `end=${plainText(end)}`),
    upstreamError === undefined ? '' : paint('red', `upstream: ${plainText(upstreamError)}`),
    fallbacksOf(fields.fallbacks, paint),
  ]
    .filter((part) => part !== '' && part !== paint('dim', ''))
    .join('  ');
}

function fallbacksOf(fallbacks: unknown, paint: Paint): string {
  return Array.isArray(fallbacks) ? paint('yellow', `fallback: ${fallbacks.map(plainText).join(', ')}`) : '';
}

/** Other fields by name; for errors, type and message. */
function otherFacts(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== '' && value !== undefined)
    .map(([name, value]) => `${name}=${shownValue(value)}`)
    .join(' ');
}

function shownValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return plainText(value).slice(0, MAX_VALUE);
  const { type, message } = value as Fields;
  if (typeof message === 'string') return plainText(`${String(type ?? 'Error')}: ${message}`).slice(0, MAX_VALUE);
  return plainText(JSON.stringify(value)).slice(0, MAX_VALUE);
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function plainText(value: unknown): string {
  return printable(String(value ?? '')).replaceAll(/[\t\r\n]/g, ' ');
}
