const SECRET_NAME = /(?:key|token|secret|password|credentials?)$/i;
const MIN_SECRET_CHARS = 8;

/** Secret values of an environment, which must be removed from logs. */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && value.length >= MIN_SECRET_CHARS && SECRET_NAME.test(name) ? value : [],
  );
}
