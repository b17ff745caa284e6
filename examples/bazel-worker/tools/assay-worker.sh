#!/bin/sh
# Bazel starts this as the worker; "$@" is the tool and what the rule adds.
exec "${ASSAY:-assay}" bazel-worker --output-flag=--out -- "$@"
