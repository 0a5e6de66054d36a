/**
 * JSON text cut at its string literals: even places are what stands between strings, odd places are the strings with
 * their quotes. Joined together they are the text again, so two bodies can be compared byte by byte around a string.
 *
 * @param {string} json
 * @returns {string[]}
 */
export function cutAtStrings(json) {
  const out = [];
  let at = 0;
  while (at < json.length) {
    const open = json.indexOf('"', at);
    if (open < 0) break;
    let close = open + 1;
    while (close < json.length && json[close] !== '"') close += json[close] === '\\' ? 2 : 1;
    out.push(json.slice(at, open), json.slice(open, close + 1));
    at = close + 1;
  }
  out.push(json.slice(at));
  return out;
}

/**
 * The elements of a body's conversation as they stand in its text, white space around them left out.
 *
 * @param {string} json
 * @param {string} key - of the list that holds them
 * @returns {string[]}
 */
export function rawMessages(json, key = 'messages') {
  const parts = cutAtStrings(json);
  const elements = [];
  let depth = 0;
  let inside = false;
  let current = '';
  const take = () => {
    if (current.trim() !== '') elements.push(current.trim());
    current = '';
  };
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] ?? '';
    if (i % 2 === 1) {
      if (inside) current += part;
      continue;
    }
    for (const char of part) {
      const opens = char === '{' || char === '[';
      const closes = char === '}' || char === ']';
      if (closes) depth--;
      if (inside && closes && depth === 1) {
        take();
        return elements;
      }
      if (inside && char === ',' && depth === 2) take();
      else if (inside) current += char;
      if (opens) depth++;
      if (!inside && opens && depth === 2 && char === '[') inside = parts[i - 1] === JSON.stringify(key);
    }
  }
  return elements;
}

/**
 * All text of a message: its string content, or that of its text parts.
 *
 * @param {{ content?: unknown }} message
 * @returns {string}
 */
export function textOf(message) {
  const { content } = message;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('\n');
}
