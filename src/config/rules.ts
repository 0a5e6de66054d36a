import { isIP } from 'node:net';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { isHttpUrl } from '../base/http-url.ts';

/** How a setting's value is parsed and validated. */
export interface Rule<T> {
  readonly schema: z.ZodType<T>;
  /** Parses the text of a variable or flag; invalid text is returned unchanged, for `schema` to reject. */
  readonly fromText: (text: string) => unknown;
  /** Description of allowed values that follows "allowed is". */
  readonly allowed: string;
  /** Whether an empty environment variable is a value rather than "not set". */
  readonly emptyIsValue?: true;
}

export interface Field<T = unknown> {
  readonly rule: Rule<T>;
  readonly fallback: T;
  readonly doc: string;
  /** Variables that give it alone; default: none. */
  readonly env?: readonly string[];
  /** Key that gives it alone in the TOML file. */
  readonly toml?: string;
  /** Whether it is displayed although the setting is secret. */
  readonly shown?: true;
  /** Warns that `env` and `toml` are earlier names. */
  readonly retired?: true;
}

export type Fields = Readonly<Record<string, Field>>;

type FieldValues<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Names that a field had as a setting of its own. */
export function earlier(variable: string): Required<Pick<Field, 'env' | 'toml' | 'retired'>> {
  return { env: [`MCP_PRUNER_${variable}`], toml: variable.toLowerCase(), retired: true };
}

/** Values that belong together: a table in the file, and in the environment its entries as in the file. */
export function group<const F extends Fields>(fields: F) {
  const rows = Object.entries(fields);
  const shape = Object.fromEntries(rows.map(([name, { rule, fallback }]) => [name, rule.schema.default(fallback)]));
  const words = rows.map(
    ([name, { rule }]) => `${name} = ${rule.allowed.replace('; in the environment separated by commas', '')}`,
  );
  const rule: Rule<FieldValues<F>> = {
    schema: z.strictObject(shape) as unknown as z.ZodType<FieldValues<F>>,
    fromText: (text) => {
      try {
        return parse(`group = { ${text} }`).group;
      } catch {
        return text;
      }
    },
    allowed: `a table with ${words.join('; ')}; in the environment its entries, with commas between them`,
  };
  const fallback = Object.fromEntries(rows.map(([name, field]) => [name, field.fallback])) as FieldValues<F>;
  return { rule, fallback, fields };
}

const NUMBER = /^[+-]?\d[\d_]*(?:\.\d+)?(?:e\+?\d{1,2})?$/i;

function numberFromText(text: string): unknown {
  return NUMBER.test(text) ? Number(text.replaceAll('_', '')) : text;
}

/** A rule for values that are strings in the file, too. */
function asText<T>(schema: z.ZodType<T>, allowed: string): Rule<T> {
  return { schema, allowed, fromText: (text) => text };
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): Rule<number> {
  return {
    schema: z.int().min(min).max(max),
    fromText: numberFromText,
    allowed:
      max === Number.MAX_SAFE_INTEGER ? `a whole number, ${min} or more` : `a whole number from ${min} to ${max}`,
  };
}

export function wholeNumberOrAuto(min: number): Rule<number | 'auto'> {
  const { schema, fromText, allowed } = wholeNumber(min);
  const fromWord = (text: string): unknown => (text.toLowerCase() === 'auto' ? 'auto' : fromText(text));
  return { schema: z.union([schema, z.literal('auto')]), fromText: fromWord, allowed: `${allowed}, or auto` };
}

export function share(): Rule<number> {
  return {
    schema: z.number().min(0).max(1),
    fromText: numberFromText,
    allowed: 'a number from 0 to 1',
  };
}

const SWITCH_WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

/** On or off; in text form also `1`, `yes`, `on` and their opposites, in any case. */
export function onOff(): Rule<boolean> {
  return {
    schema: z.boolean(),
    fromText: (text) => SWITCH_WORDS[text.toLowerCase()] ?? text,
    allowed: 'true or false',
  };
}

/** Like `onOff`, or a word. */
export function onOffOr<const W extends string>(word: W): Rule<boolean | W> {
  const { schema, fromText, allowed } = onOff();
  const fromWord = (text: string): unknown => (text.toLowerCase() === word ? word : fromText(text));
  return { schema: z.union([schema, z.literal(word)]), fromText: fromWord, allowed: `${allowed}, or ${word}` };
}

/** One of several words, in any case; aliases map to words. */
export function oneOf<const W extends string>(
  words: readonly [W, ...W[]],
  aliases: Readonly<Record<string, W>> = {},
): Rule<W> {
  const normalise = (value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    const word = value.toLowerCase();
    return Object.hasOwn(aliases, word) ? aliases[word] : word;
  };
  return asText(z.preprocess(normalise, z.enum(words)), `one of ${[...words, ...Object.keys(aliases)].join(', ')}`);
}

/** Any non-empty text without control characters. */
export function plainText(what: string): Rule<string> {
  return asText(z.string().regex(/^[^\p{Cc}]+$/u), what);
}

/** An address to listen on; brackets around an IPv6 address are dropped. */
export function hostName(): Rule<string> {
  return asText(
    z
      .string()
      .regex(/^(?:\[[\da-f:.%]+\]|[\w.:%-]+)$/i)
      .transform((host) => host.replaceAll(/[[\]]/g, '')),
    'a host name or an IP address, without port',
  );
}

/** An absolute http(s) URL without credentials, query and fragment; trailing slashes are dropped. */
export function httpUrl(): Rule<string> {
  return asText(
    z.string().refine(isPlainHttpUrl).transform(withoutTrailingSlashes),
    'an http:// or https:// URL without user name, query or fragment',
  );
}

/** Paths that clients append to a base URL themselves. */
const ENDPOINT = /\/(?:chat\/completions|completions|responses|messages|embeddings|models)$/i;

/** An `httpUrl` to which clients append paths; must not be an endpoint itself. */
export function baseUrl(): Rule<string> {
  const rule = httpUrl();
  return {
    ...rule,
    schema: rule.schema.refine((url) => !ENDPOINT.test(url)),
    allowed: `${rule.allowed}, such as https://api.openai.com/v1 (no /chat/completions)`,
  };
}

/** A proxy URL; `host:port` implies http, and user name and password are allowed. */
export function proxyUrl(): Rule<string> {
  return {
    schema: z.string().refine(isHttpUrl),
    fromText: (text) => (text.includes('://') ? text : `http://${text}`),
    allowed: 'an http:// or https:// address of a proxy',
  };
}

function isPlainHttpUrl(text: string): boolean {
  if (!isHttpUrl(text) || /[?#\s]/.test(text)) return false;
  const url = new URL(text);
  return url.username === '' && url.password === '';
}

function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** A secret that is valid as a header value. */
export function headerSecret(): Rule<string | null> {
  return asText(
    z
      .string()
      .regex(/^[\x21-\x7e]+$/)
      .nullable(),
    'visible ASCII characters without blanks',
  );
}

/** A database server URL; treated as a secret, because it may contain a password. */
export function databaseUrl(): Rule<string | null> {
  return asText(
    z
      .string()
      .regex(/^postgres(?:ql)?:\/\/[\x21-\x7e]+$/)
      .nullable(),
    'postgres://user:password@host:5432/database',
  );
}

/** Makes a rule optional: an empty variable disables the setting. */
export function optional<T>(rule: Rule<T>): Rule<T | null> {
  return {
    schema: z.preprocess((value) => (value === '' ? null : value), rule.schema.nullable()),
    fromText: (text) => (text === '' ? null : rule.fromText(text)),
    allowed: `${rule.allowed}, or empty for none`,
    emptyIsValue: true,
  };
}

/** A list of words; comma-separated in environment variables. */
export function list(what: string): Rule<readonly string[]> {
  return {
    schema: z.array(z.string().trim().min(1).max(500)).max(1000).readonly(),
    fromText: (text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    allowed: `a list of ${what}; in the environment separated by commas`,
    emptyIsValue: true,
  };
}

/** Like `list`, restricted to known words. */
export function listOf<const W extends string>(words: readonly W[]): Rule<readonly W[]> {
  const known = z.array(z.enum(words)).max(words.length).readonly();
  return {
    ...list(''),
    schema: known,
    allowed: `a list of ${words.join(', ')}; in the environment separated by commas`,
  };
}

/** The name of an HTTP header, in lower case. */
export function headerName(): Rule<string> {
  return asText(
    z
      .string()
      .regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/)
      .toLowerCase(),
    'the name of a header',
  );
}

/** Hosts as in URLs, with the port if it is not the usual one. */
export function hosts(): Rule<readonly string[]> {
  const rule = list('hosts, such as llm.example.com or 127.0.0.1:4000, without scheme and path');
  const schema = rule.schema.refine((all) => all.every(isHost)).transform((all) => all.map((one) => one.toLowerCase()));
  return { ...rule, schema };
}

function isHost(text: string): boolean {
  return ['http', 'https'].some((scheme) => {
    const url = `${scheme}://${text}`;
    return URL.canParse(url) && new URL(url).host === text.toLowerCase();
  });
}

/** IP addresses and CIDR blocks. */
export function cidrs(): Rule<readonly string[]> {
  const rule = list('IP addresses and CIDR blocks');
  return { ...rule, schema: rule.schema.refine((all) => all.every(isCidr)) };
}

function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
