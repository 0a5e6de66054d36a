/** An edit that cannot be made without harm; the message says why, and what to do. */
export class EditRefused extends Error {
  override readonly name = 'EditRefused';
}
