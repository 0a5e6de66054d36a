import type { FleetEvent } from '../ports.ts';

export interface BoardEntry {
  readonly key: string;
  readonly value: unknown;
  readonly tags: readonly string[];
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly expiresMs: number | null;
  readonly version: number;
}

export interface BoardWrite {
  readonly key: string;
  readonly namespace: string;
  /** JSON text. */
  readonly value: string;
  readonly tags: readonly string[];
  readonly ttlMs: number | null;
}

export interface BoardEvent {
  readonly version: number;
  readonly kind: 'set' | 'delete' | 'expire';
  readonly key: string;
  readonly tsMs: number;
  readonly reason: 'ttl' | null;
  readonly entry: BoardEntry | null;
  readonly previous: BoardEntry | null;
}

export type BoardEvents = (change: Pick<BoardEvent, 'kind' | 'key' | 'version'>) => readonly FleetEvent[];
