/** The errors of extensions. Their message is the code with the hint behind it, because their callers are agents. */
export { errorsOfFleet as extensionErrors } from '../fleet/seat/errors.ts';
