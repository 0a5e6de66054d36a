export const TAB = 9;
export const LINE_FEED = 10;
export const CARRIAGE_RETURN = 13;
export const SPACE = 32;
export const QUOTE = 34;
export const PERCENT = 37;
export const APOSTROPHE = 39;
export const OPENING_BRACKET = 40;
export const COMMA = 44;
export const DOT = 46;
export const SLASH = 47;
export const COLON = 58;
export const LESS = 60;
export const EQUALS = 61;
export const GREATER = 62;
export const EXCLAMATION = 33;
export const AT = 64;
export const OPENING_SQUARE = 91;
export const CLOSING_SQUARE = 93;
export const UNDERSCORE = 95;
export const BACKTICK = 96;
export const OPENING_BRACE = 123;
export const BAR = 124;
export const CLOSING_BRACE = 125;
export const TILDE = 126;
/** The first code after ASCII. */
export const BEYOND_ASCII = 128;

/** The bit that distinguishes the cases of a letter: set in lower case. */
export const LOWER_CASE = 32;

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

export function isLetter(code: number): boolean {
  const lower = code | LOWER_CASE;
  return lower >= 97 && lower <= 122;
}

export function isCapital(code: number): boolean {
  return code >= 65 && code <= 90;
}

/** Whether a code is a word character (`\w`). */
export function isWordSign(code: number): boolean {
  return isLetter(code) || isDigit(code) || code === UNDERSCORE;
}

/** Whether a code is ASCII white space: tab to carriage return, or the space. */
export function isBlankSign(code: number): boolean {
  return code === SPACE || (code >= TAB && code <= CARRIAGE_RETURN);
}
