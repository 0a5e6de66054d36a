const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The UTF-16 units of a text as numbers: passes over them cost a fraction of passes over the string. */
export function codesOf(text: string): Uint16Array {
  if (!LITTLE_ENDIAN) return Uint16Array.from(text.split(''), (unit) => unit.charCodeAt(0));
  const bytes = Buffer.from(text, 'utf16le');
  return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
}
