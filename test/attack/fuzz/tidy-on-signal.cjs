// Loaded into a server before anything else: it collects all garbage when it is told to by SIGUSR2, so that
// what is left is what it keeps.
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('globalThis.gc');
process.on('SIGUSR2', () => collect());
