import type { ComponentType } from 'preact';

/** Components that an optional part adds to the page's own views. */
export interface PartPieces {
  /** Shown above the figures of the overview. */
  readonly Overview: ComponentType;
  /** Shown above the requests of a conversation. */
  readonly Conversation: ComponentType<{ readonly name: string }>;
}

/** A view added by an optional part, listed in the menu while the part is on. */
export interface PartView {
  readonly path: string;
  readonly name: string;
  /** SVG path on a 20 × 20 grid, drawn with one stroke. */
  readonly icon: string;
  /** Shortcut key after `g`; no shortcut if absent. */
  readonly key?: string;
  readonly View: ComponentType;
}
