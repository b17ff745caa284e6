// A check for names from outside that are hashed or compared: two different names must not become the same
// text.

/** The character that a decoder puts in place of invalid UTF-8. */
const REPLACEMENT = '\ufffd';

/**
 * True if the text encodes to UTF-8 and back without loss. A lone surrogate does not encode. The replacement
 * character may stand for any invalid bytes, so two different names could look the same.
 */
export function isLossless(text: string): boolean {
  return text.isWellFormed() && !text.includes(REPLACEMENT);
}
