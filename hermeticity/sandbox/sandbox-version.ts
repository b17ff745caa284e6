// The version of the sandbox, as one word in the key. Change it whenever a command could see something else
// than before. In a file of its own: a hit does not load sandbox.ts.
export const SANDBOX_VERSION = 'bubblewrap-1';
