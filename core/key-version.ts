// The version of the key's encoding. Apart from action.ts, so that the up-to-date check does not load the
// encoder.

/** Change it whenever the same declaration gets another key. test/vectors has keys of each version. */
export const KEY_VERSION = 'assay-key-2';
