#!/bin/sh
# Writes core/proto/generated from core/proto/*.proto. Needs Debian's protobuf-compiler. A test compares the
# result.
set -eu
cd "$(dirname "$0")/.."
out=${1:-core/proto/generated}
mkdir -p "$out"
protoc --plugin=node_modules/.bin/protoc-gen-ts_proto --ts_proto_out="$out" -I core/proto \
  --ts_proto_opt=importSuffix=.ts,esModuleInterop=true,env=node,forceLong=number,unknownFields=true \
  --ts_proto_opt=outputJsonMethods=false,outputPartialMethods=false,outputServices=none,enumsAsLiterals=true \
  --ts_proto_opt=useOptionals=messages,useDate=false,exportCommonSymbols=false \
  core/proto/*.proto
