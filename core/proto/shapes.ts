// Shapes for decodeStrict: which fields of ActionResult, Tree and Directory are messages. The numbers are
// REAPI's.
import type { Shape } from '../message.ts';

const PLAIN: Shape = {};
const PROPERTIES: Shape = { many: { 1: PLAIN }, once: { 2: PLAIN, 3: PLAIN } };
const FILE_NODE: Shape = { once: { 2: PLAIN, 6: PROPERTIES } };
const DIRECTORY_NODE: Shape = { once: { 2: PLAIN } };
const SYMLINK: Shape = { once: { 4: PROPERTIES } };
const OUTPUT_FILE: Shape = { once: { 2: PLAIN, 7: PROPERTIES } };
const OUTPUT_DIRECTORY: Shape = { once: { 3: PLAIN, 5: PLAIN } };
export const METADATA: Shape = {
  once: { 2: PLAIN, 3: PLAIN, 4: PLAIN, 5: PLAIN, 6: PLAIN, 7: PLAIN, 8: PLAIN, 9: PLAIN, 10: PLAIN },
  many: { 11: PLAIN },
};

export const DIRECTORY: Shape = {
  many: { 1: FILE_NODE, 2: DIRECTORY_NODE, 3: SYMLINK },
  once: { 5: PROPERTIES },
};

export const TREE: Shape = { once: { 1: DIRECTORY }, many: { 2: DIRECTORY } };

export const ACTION_RESULT: Shape = {
  many: { 2: OUTPUT_FILE, 3: OUTPUT_DIRECTORY, 10: SYMLINK, 11: SYMLINK, 12: SYMLINK },
  once: { 6: PLAIN, 8: PLAIN, 9: METADATA },
};
