import { errorsOfFleet } from '../fleet/seat/errors.ts';
import { errorsOfKeys } from '../keys/seat/errors.ts';

/** The errors of extensions. */
export const extensionErrors = { ...errorsOfFleet, ...errorsOfKeys };

/** Those of them whose callers are agents: their message is the code with the hint behind it. */
export const errorsForAgents = errorsOfFleet;
