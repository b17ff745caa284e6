// Assay's folder in a workspace. It exists while Assay runs or restores something there, so it is never an input, an
// output or a name that counts.

export const ASSAY_FOLDER = '.assay';

/** The content of its own .gitignore, so that git shows none of it. */
export const IGNORES_ALL = '*\n';

/** The state (client/path-sets/states.ts) of that .gitignore: SHA-256 of IGNORES_ALL. */
export const IGNORE_STATE = 'file cdbcae15105d6b781e620813c79c7e868740d4e9cc53ce6f5fcbbc12387adf4b';
