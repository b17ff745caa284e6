#!/bin/sh
# Reads and writes more than anybody would declare.
cat src/a.js secret.txt /etc/hosts > out.txt
ls . >> out.txt
[ -f maybe.h ] && cat maybe.h >> out.txt
echo done > stray.txt
