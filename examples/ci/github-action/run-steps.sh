#!/bin/sh
# What the action and the template run. Everything comes in by variables, never by pasting text into a script.
set -eu
affected=
if [ "${ASSAY_AFFECTED:-}" = auto ]; then affected=--affected
elif [ -n "${ASSAY_AFFECTED:-}" ]; then affected="--affected=$ASSAY_AFFECTED"
fi
# An empty address is none.
[ -n "${ASSAY_REMOTE:-}" ] || unset ASSAY_REMOTE
[ -n "${ASSAY_TOKEN:-}" ] || unset ASSAY_TOKEN
# Several steps and flags are several words.
# shellcheck disable=SC2086
exec ${ASSAY:-assay} run $affected ${ASSAY_FLAGS:-} $ASSAY_STEPS
