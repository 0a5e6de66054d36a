/** Builds the page into a folder; resolves with the modules that went in. */
export function buildPage(out: string): Promise<readonly string[]>;
