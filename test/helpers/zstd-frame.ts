const BLOCK_BYTES = 128 * 1024;

/**
 * A zstd frame of so many bytes, all spaces: 4 bytes for each 128 KB. `isDeclared`: its head says how long it is. `slow`: its
 * blocks are of one byte, before each of which a window of 8 MiB is moved.
 */
export function zstdBomb(bytes: number, { isDeclared = false, slow = false } = {}): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(bytes));
  // a window of 2 MiB, as zstd's usual level has it, or the largest
  const head = [0x28, 0xb5, 0x2f, 0xfd, isDeclared ? 0b1100_0000 : 0, slow ? 0x68 : 0x58, ...(isDeclared ? size : [])];
  const count = Math.ceil(bytes / BLOCK_BYTES);
  const blocks = Buffer.alloc(4 * count);
  for (let i = 0; i < count; i++) {
    const isLast = i === count - 1 ? 1 : 0;
    blocks.writeUIntLE(((slow ? 1 : BLOCK_BYTES) << 3) | 0b10 | isLast, 4 * i, 3);
    blocks[4 * i + 3] = 0x20;
  }
  return Buffer.concat([Buffer.from(head), blocks]);
}

/** A zstd frame that holds the bytes as they are. */
export function zstdStored(bytes: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58])];
  for (let at = 0; at < bytes.length || at === 0; at += BLOCK_BYTES) {
    const piece = bytes.subarray(at, at + BLOCK_BYTES);
    const head = Buffer.alloc(3);
    head.writeUIntLE((piece.length << 3) | (at + BLOCK_BYTES >= bytes.length ? 1 : 0), 0, 3);
    parts.push(head, piece);
  }
  return Buffer.concat(parts);
}
