import type { ComponentType } from 'preact';

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
