/** A cut in one tool description, identified by the description's hash. Holds no text. */
export interface ShortenedTool {
  /** Tool name as declared. */
  readonly tool: string;
  /** Whether the description belongs to the tool itself, not to a parameter. */
  readonly ofTool: boolean;
  /** Hash of the whole description. */
  readonly textHash: string;
  /** Number of leading characters that stay, in UTF-16 units. */
  readonly chars: number;
  /** Line range in the marker. */
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  readonly pruneId: string;
}

/** A conversation whose tool descriptions were shortened by an earlier version. */
export interface ShortConversation {
  readonly project: string;
  /** Wire and content id, separated by a space. */
  readonly conversation: string;
  readonly cuts: readonly ShortenedTool[];
}
