/** The log of a store: constant messages, facts as fields, never a text. A pino logger satisfies this interface. */
export interface StoreLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}
