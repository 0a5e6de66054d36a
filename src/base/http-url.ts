/** Whether a text is an absolute http(s) URL. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/\s]/i.test(text) && URL.canParse(text);
}
