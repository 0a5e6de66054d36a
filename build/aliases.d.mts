/** Folder of sources by package name, as in the paths of tsconfig.json. */
export const aliases: Readonly<Record<string, string>>;
/** Folders of sources and of what they are built with, relative to the project. */
export const sourceFolders: readonly string[];
