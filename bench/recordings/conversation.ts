/** A message in the shape of chat/completions. */
export type Message = Readonly<Record<string, unknown>>;

/** A recorded conversation: one line of a file of recordings. */
export interface Recording {
  /** Which agent it is of. */
  readonly agent: string;
  /** Tells it from all others of its repository. */
  readonly name: string;
  /** What it is held back with, where that is more than itself: all parts of a session. */
  readonly group?: string;
  readonly messages: readonly Message[];
}

/** One agent's form of recordings. */
export interface Form {
  readonly about: string;
  /** Whether a file of the repository is one. */
  readonly matches: (path: string) => boolean;
  /** What a file holds; `[]` where nothing can be read from it. */
  readonly read: (text: string, path: string) => Recording[];
}

/** A call of a tool as a message of the model's carries it. */
export function toolCall(id: string, name: string, args: unknown): Message {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}
