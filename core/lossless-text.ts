// Names from outside that are hashed or compared.

/** What a decoder puts in the place of bytes that are no text. */
const REPLACEMENT = '\ufffd';

/**
 * False for text that another one could have become too: half a character has no bytes of its own, and bytes that are no
 * UTF-8 were all made the same one. Two such names would be one.
 */
export function isLossless(text: string): boolean {
  return text.isWellFormed() && !text.includes(REPLACEMENT);
}
