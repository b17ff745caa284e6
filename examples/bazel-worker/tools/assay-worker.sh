#!/bin/sh
# Bazel starts this as the worker; "$@" is the tool and the arguments of the rule.
exec "${ASSAY:-assay}" bazel-worker --output-flag=--out -- "$@"
