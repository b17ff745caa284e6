// The version of the key: who remembers what a key decided needs it, and not all that makes a key.

/** Changes whenever the same declaration would get another key; test/vectors holds keys of each version. */
export const KEY_VERSION = 'assay-key-1';
