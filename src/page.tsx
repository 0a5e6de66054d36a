import { fleetView } from './parts/fleet/seat/ui/view.tsx';
import { limitPieces } from './parts/limits/ui/pieces.tsx';
import { openShell } from './parts/page/ui/shell.tsx';
import { seamPieces } from './parts/seams/ui/pieces.tsx';
import { keysView } from './parts/team/keys/seat/ui/view.tsx';

openShell([fleetView, keysView], [limitPieces, seamPieces]);
