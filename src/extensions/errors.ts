import { errorsOfFleet } from '../parts/fleet/seat/errors.ts';
import { errorsOfKeys } from '../parts/team/keys/seat/errors.ts';

/** The errors of extensions. */
export const extensionErrors = { ...errorsOfFleet, ...errorsOfKeys };

/** Errors whose callers are agents: the message is the code followed by the hint. */
export const errorsForAgents = errorsOfFleet;
