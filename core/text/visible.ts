// Text from outside, for a terminal or a page. Guarantee: no character of it moves the cursor, starts a line or turns
// the direction of reading. Such characters are shown by their code point.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNSEEN_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export function visible(text: string): string {
  return text.replace(UNSEEN, codePoint);
}

/** For text of several lines: line feeds stay. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN_IN_LINES, codePoint);
}

function codePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
