#!/bin/sh
# Refuses to run the tests under another Node than the project's, before anything is built or installed. npm
# brings the right one as an optional package; inside `npm run` it is the first in PATH.
set -eu
wanted=26
found=$(node -p 'process.versions.node' 2>/dev/null || echo none)
[ "${found%%.*}" != "$wanted" ] || exit 0
echo "setup-node: the tests need Node $wanted, and \`node\` is $found here: run \`npm ci\`, then \`npm test\`" >&2
exit 1
