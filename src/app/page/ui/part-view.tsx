import type { ComponentType } from 'preact';

/** What an optional part adds to views of the page itself. */
export interface PartPieces {
  /** Stands above the figures of the overview. */
  readonly Overview: ComponentType;
  /** Stands above the requests of a conversation. */
  readonly Conversation: ComponentType<{ readonly name: string }>;
}

/** A view that an optional part adds to the page; it is in the menu while the part is on. */
export interface PartView {
  readonly path: string;
  readonly name: string;
  /** Drawn on a grid of 20 by 20 with one stroke. */
  readonly icon: string;
  /** The key that opens it after `g`; absent: it has none. */
  readonly key?: string;
  readonly View: ComponentType;
}
