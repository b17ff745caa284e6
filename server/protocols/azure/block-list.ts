// Parses the XML of a block list: <BlockList><Latest>ID</Latest>…</BlockList>.
// It has no attributes, no nesting and no escapes, because the ids are base64. Anything else is refused.
import { AssayError } from '../../../core/errors.ts';

/**
 * No text may match these expressions in two ways: otherwise a body of blanks makes them backtrack
 * exponentially.
 */
const LIST = /^(?:<\?xml[^>]*\?>\s*)?<BlockList>(?<blocks>.*)<\/BlockList>$/s;
const BLOCK = /\s*<(Latest|Uncommitted|Committed)>\s*([0-9A-Za-z+/=_-]{1,256})\s*<\/\1>\s*/y;

export function blocksIn(xml: string): string[] {
  const blocks = LIST.exec(xml.trim())?.groups?.blocks;
  if (blocks === undefined) throw malformed();
  const ids: string[] = [];
  BLOCK.lastIndex = 0;
  for (let end = 0; end < blocks.length; end = BLOCK.lastIndex) {
    const id = BLOCK.exec(blocks)?.[2];
    if (id === undefined) throw malformed();
    ids.push(id);
  }
  return ids;
}

function malformed(): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', 'the body is not a BlockList');
}
