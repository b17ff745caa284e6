#!/bin/sh
# The tool: shout.sh --in FILE --out FILE
set -eu
[ "$1" = --in ] && [ "$3" = --out ]
tr a-z A-Z < "$2" > "$4"
echo "shouted $(wc -w < "$2") words"
