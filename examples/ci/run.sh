#!/bin/sh
# Runs what the GitHub action runs, twice, as a runner would; shows the job's summary. Set ASSAY to say how assay is called.
set -eu
export GITHUB_ACTIONS=true CI=true GITHUB_STEP_SUMMARY=job-summary.md ASSAY_STEPS='build test'
for job in first second; do
  echo "== the $job job"
  ./github-action/run-steps.sh
done
echo '== the job’s summary'
cat job-summary.md
