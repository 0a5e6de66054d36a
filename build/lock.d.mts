export function takeLock(file: string, waits: string, wait?: () => void): () => void;
