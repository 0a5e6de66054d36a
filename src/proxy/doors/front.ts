import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request on its way in. */
export interface Coming {
  readonly req: IncomingMessage;
  /** Makes what it is answered with; of one for a WebSocket called only where that may not come in. */
  readonly answer: () => ServerResponse;
  /** Lets it in: it is an ordinary one from then on. */
  readonly next: () => void;
  /** `upgrade`: it asks for a WebSocket. */
  readonly kind: 'request' | 'upgrade';
}

/** Whoever may answer before the routes do, or change who asks for what. */
export type Front = (coming: Coming) => void;

/** The path that a request names, without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
