export interface ChildShown {
  readonly childId: string;
  readonly state: string;
  /** The agent, or the program. */
  readonly what: string;
  readonly role: string | null;
  readonly createdMs: number;
  readonly endedMs: number | null;
  readonly stopReason: string | null;
  readonly exitCode: number | null;
  readonly messages: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

export interface FleetShown {
  readonly children: readonly ChildShown[];
  readonly graphs: readonly { readonly graphId: string; readonly version: number; readonly committedMs: number }[];
  readonly namespaces: readonly { readonly namespace: string; readonly entries: number; readonly updatedMs: number }[];
  readonly plans: readonly {
    readonly runId: string;
    readonly mode: string;
    readonly state: string;
    readonly progress: number;
    readonly startedMs: number;
  }[];
}

export interface ChildLogShown {
  readonly lines: readonly {
    readonly seq: number;
    readonly atMs: number;
    readonly stream: string;
    readonly text: string;
  }[];
}
