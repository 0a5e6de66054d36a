/** Most room that is left free behind bytes that have gone on once, and may go on again. */
const MAX_SPARE_BYTES = 1024 * 1024;

/** Room that several `PrefixBytes` share, each as far as it reaches. What is written in it is never written again. */
interface Room {
  readonly buffer: Buffer;
  used: number;
}

/**
 * The beginning of a conversation's bodies, kept apart from them so that each body can go when it is done with. What a
 * turn adds is written behind what the one before has kept.
 */
export class PrefixBytes {
  readonly bytes: Buffer;
  readonly #room: Room;

  private constructor(room: Room, length: number) {
    this.#room = room;
    this.bytes = room.buffer.subarray(0, length);
  }

  /** Memory that it takes, in bytes. */
  get held(): number {
    return this.#room.buffer.length;
  }

  /**
   * Keeps the first `length` bytes of a body.
   *
   * @param before - kept bytes that the body begins with, as far as `shared`
   */
  static of(body: Buffer, length: number, before: PrefixBytes | null, shared: number): PrefixBytes {
    const goesOn = before !== null && shared === before.bytes.length && shared <= length;
    if (goesOn) {
      const room = before.#room;
      if (room.used === shared && room.buffer.length >= length) {
        body.copy(room.buffer, shared, shared, length);
        room.used = length;
        return new PrefixBytes(room, length);
      }
    }
    const spare = goesOn ? Math.min(length >> 1, MAX_SPARE_BYTES) : 0;
    const buffer = Buffer.allocUnsafeSlow(length + spare);
    body.copy(buffer, 0, 0, length);
    return new PrefixBytes({ buffer, used: length }, length);
  }
}
