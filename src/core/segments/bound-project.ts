/**
 * The project under which segments are noted of conversations whose provider checks what was sent before. Nothing of them
 * can change, and they must not be mixed with those of which it can. No header field holds a line break.
 */
export function boundProject(project: string): string {
  return `${project}\nbound`;
}
