#!/bin/sh
# The script of the action and the template. All parameters are variables, so no text is pasted into a script.
set -eu
affected=
if [ "${ASSAY_AFFECTED:-}" = auto ]; then affected=--affected
elif [ -n "${ASSAY_AFFECTED:-}" ]; then affected="--affected=$ASSAY_AFFECTED"
fi
# An empty address means no remote.
[ -n "${ASSAY_REMOTE:-}" ] || unset ASSAY_REMOTE
[ -n "${ASSAY_TOKEN:-}" ] || unset ASSAY_TOKEN
# Split the steps and flags into words.
# shellcheck disable=SC2086
exec ${ASSAY:-assay} run $affected ${ASSAY_FLAGS:-} $ASSAY_STEPS
