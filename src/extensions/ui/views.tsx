import type { ComponentType } from 'preact';
import { FleetView } from '../../parts/fleet/seat/ui/view.tsx';
import { KeysView } from '../../parts/team/keys/seat/ui/view.tsx';

/** A view that an extension adds to the page; it is in the menu while the extension is on. */
export interface ExtensionView {
  readonly path: string;
  readonly name: string;
  /** Drawn on a grid of 20 by 20 with one stroke. */
  readonly icon: string;
  readonly View: ComponentType;
}

export const extensionViews: readonly ExtensionView[] = [
  {
    path: 'fleet',
    name: 'Fleet',
    icon: 'M10 3v4m0 0-5 4m5-4 5 4M5 11v4m10-4v4M8 3h4v3H8zM3 14h4v3H3zm10 0h4v3h-4z',
    View: FleetView,
  },
  {
    path: 'keys',
    name: 'Keys',
    icon: 'M12.5 7.5a4 4 0 1 1-8 0 4 4 0 0 1 8 0zm-1.2 2.8L18 17m-3.5-3.5 1.8-1.8',
    View: KeysView,
  },
];
