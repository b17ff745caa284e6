#!/bin/sh
# Counts to 6, slowly, and asks for a checkpoint after each number.
set -eu
number=$(cat progress/number 2>/dev/null || echo 0)
echo "begins after $number"
while [ "$number" -lt 6 ]; do
  sleep 0.1
  number=$((number + 1))
  echo "$number" > progress/number
  echo "counted $number"
  request=$ASSAY_CHECKPOINT_DESK/$number.request
  : > "$request"
  while [ -e "$request" ]; do sleep 0.02; done
done
cp progress/number counted.txt
