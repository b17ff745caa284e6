// What an action sees in a sandbox, as one word in its key: changes whenever it could see something else than before.
// Apart from sandbox.ts, which a hit does not need.
export const SANDBOX_VERSION = 'bubblewrap-1';
