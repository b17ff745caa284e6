#!/bin/sh
# Runs the script of the GitHub action twice, as a runner does, and shows the job's summary.
# Uses the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
rm -f job-summary.md
export ASSAY="$assay"
export GITHUB_ACTIONS=true CI=true GITHUB_STEP_SUMMARY=job-summary.md ASSAY_STEPS='build test'
for job in first second; do
  echo "== the $job job"
  ./github-action/run-steps.sh
done
echo '== the job’s summary'
cat job-summary.md
