import { fleetView } from '@mcp-pruner/fleet/seat/ui/view.tsx';
import { limitPieces } from '@mcp-pruner/limits/ui/pieces.tsx';
import { openShell } from '@mcp-pruner/page/ui/shell.tsx';
import { seamPieces } from '@mcp-pruner/seams/ui/pieces.tsx';
import { keysView } from '@mcp-pruner/team/keys/seat/ui/view.tsx';

openShell([fleetView, keysView], [limitPieces, seamPieces]);
