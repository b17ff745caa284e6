// Converts an ActionResult between protobuf and the JSON that moon uses over HTTP. The store has only
// protobuf, so every client can read a result that came as JSON.
//
// The JSON omits auxiliary_metadata, which Assay adds, and unknown fields.
import { AssayError } from '../../../core/errors.ts';
import {
  ActionResult,
  type Digest,
  type ExecutedActionMetadata,
  type NodeProperties,
  type OutputDirectory,
  type OutputFile,
  type OutputSymlink,
} from '../../../core/proto/generated/reapi.ts';
import {
  bytes,
  type Codec,
  flag,
  int64,
  list,
  message,
  optional,
  text,
  timestamp,
  whole,
} from './proto-json.ts';

const digest = optional(message<Digest>({ hash: text, sizeBytes: int64 }));
const time = optional(timestamp);

const nodeProperties = optional(
  message<NodeProperties>({
    properties: list(message({ name: text, value: text })),
    mtime: time,
    unixMode: optional(whole(0, 2 ** 32 - 1)),
  }),
);

const outputFile = message<OutputFile>({
  path: text,
  digest,
  isExecutable: flag,
  contents: bytes,
  nodeProperties,
});

const outputDirectory = message<OutputDirectory>({
  path: text,
  treeDigest: digest,
  isTopologicallySorted: flag,
  rootDirectoryDigest: digest,
});

const symlinks = list(message<OutputSymlink>({ path: text, target: text, nodeProperties }));

const omitted: Codec<ExecutedActionMetadata['auxiliaryMetadata']> = {
  read: () => [],
  write: () => undefined,
};

const executionMetadata = message<ExecutedActionMetadata>({
  worker: text,
  queuedTimestamp: time,
  workerStartTimestamp: time,
  workerCompletedTimestamp: time,
  inputFetchStartTimestamp: time,
  inputFetchCompletedTimestamp: time,
  executionStartTimestamp: time,
  executionCompletedTimestamp: time,
  outputUploadStartTimestamp: time,
  outputUploadCompletedTimestamp: time,
  auxiliaryMetadata: omitted,
});

const actionResult = message<ActionResult>({
  outputFiles: list(outputFile),
  outputDirectories: list(outputDirectory),
  exitCode: whole(-(2 ** 31), 2 ** 31 - 1),
  stdoutRaw: bytes,
  stdoutDigest: digest,
  stderrRaw: bytes,
  stderrDigest: digest,
  executionMetadata: optional(executionMetadata),
  outputFileSymlinks: symlinks,
  outputDirectorySymlinks: symlinks,
  outputSymlinks: symlinks,
});

export function resultFromJson(sent: Buffer): Uint8Array {
  return ActionResult.encode(actionResult.read(parse(sent))).finish();
}

export function resultToJson(stored: Uint8Array): Buffer {
  return Buffer.from(JSON.stringify(actionResult.write(ActionResult.decode(stored))));
}

function parse(sent: Buffer): unknown {
  try {
    return JSON.parse(sent.toString('utf8'));
  } catch {
    throw new AssayError('ASSAY_RESULT_MALFORMED', 'the body is not JSON');
  }
}
