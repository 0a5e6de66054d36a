import type { ChildRecord } from '../ports/children.ts';
export interface ChildShown
  extends Pick<ChildRecord, 'childId' | 'role' | 'createdMs' | 'endedMs' | 'stopReason' | 'exitCode'> {
  readonly state: string;
  /** Agent name, or program. */
  readonly what: string;
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
    /** Nodes of the tree in document order; empty for runs of other servers. */
    readonly outline: readonly {
      readonly depth: number;
      readonly kind: string;
      readonly name: string;
      readonly status: string | null;
    }[];
  }[];
  /** Whether this server can end children. */
  readonly endsChildren: boolean;
}

export interface GraphShown {
  readonly nodes: readonly {
    readonly id: string;
    readonly label: string;
    readonly attributes: Readonly<Record<string, string | number | boolean>>;
  }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly label: string }[];
  /** Number of nodes not drawn. */
  readonly more: number;
}

export interface BoardShown {
  readonly entries: readonly {
    readonly key: string;
    /** JSON, truncated to 2,000 characters. */
    readonly value: string;
    readonly tags: readonly string[];
    readonly version: number;
    readonly updatedMs: number;
    readonly expiresMs: number | null;
  }[];
  readonly more: boolean;
}

export interface ChildLogShown {
  readonly lines: readonly {
    readonly seq: number;
    readonly atMs: number;
    readonly stream: string;
    readonly text: string;
  }[];
}
