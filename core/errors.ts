// The one catalogue of everything that Assay refuses or reports. docs/ERRORS.md is generated from it.
//
// A code is stable: scripts may match on it. `status` is what the server answers, `hint` is what a person can do next.
import type { GrpcStatus } from './grpc/status.ts';

export interface ErrorEntry {
  readonly summary: string;
  readonly hint: string;
  readonly status: number;
  /** Where gRPC has a better word than the counterpart of the HTTP status (core/grpc/status.ts). */
  readonly grpc?: GrpcStatus;
  /** Where scripts expect a certain exit code; else it is the command's own for failures. */
  readonly exitCode?: number;
}

const catalogue = {
  ASSAY_USAGE: {
    summary: 'The command line, or what a program asks of the library, is not what Assay understands.',
    hint: 'Read the line after the code, then `assay COMMAND --help`.',
    status: 400,
  },
  ASSAY_BAD_DIGEST: {
    summary: 'A digest is malformed.',
    hint: 'Send SHA-256 as 64 lower-case hex digits, with a size that is a whole number of bytes.',
    status: 400,
  },
  ASSAY_BAD_PATH: {
    summary: 'A path is absolute, leaves its root, or holds something that no file name may hold.',
    hint: 'Use a path relative to the workspace, without "..", empty parts or NUL.',
    status: 400,
  },
  ASSAY_BAD_NAMESPACE: {
    summary: 'The part of the URL that should name a namespace does not.',
    hint: 'Use at most 255 characters of letters, digits, "_", "-", "." and "/", no part of which is "." or "..".',
    status: 400,
  },
  ASSAY_BAD_KEY: {
    summary: 'The URL is not one that this protocol has.',
    hint: 'Compare the tool’s setting with docs/PROTOCOLS.md; the text after the code shows the right form.',
    status: 400,
  },
  ASSAY_BAD_MESSAGE: {
    summary: 'The body is not the message that this address takes.',
    hint: 'The text after the code says what is wrong with it.',
    status: 400,
  },
  ASSAY_RECORD_EXISTS: {
    summary: 'There is another content under that key already, and it stays.',
    hint: 'Use a new key; if the same key should have given the same content, look for what made it differ.',
    status: 409,
  },
  ASSAY_DIGEST_MISMATCH: {
    summary: 'The content does not have the digest under which it was sent. Nothing was kept.',
    hint: 'Send it again; if it repeats, something between the two machines changes bytes.',
    status: 400,
  },
  ASSAY_SIZE_MISMATCH: {
    summary: 'The content does not have the size that was announced. Nothing was kept.',
    hint: 'Send it again, whole.',
    status: 400,
  },
  ASSAY_RESULT_MALFORMED: {
    summary: 'The body is not an ActionResult message, or it names malformed digests or paths.',
    hint: 'Send the protobuf encoding of build.bazel.remote.execution.v2.ActionResult.',
    status: 400,
  },
  ASSAY_MESSAGE_MALFORMED: {
    summary: 'The body is not the protobuf message that this method takes.',
    hint: 'Send the message of the Remote Execution API v2 that belongs to the method.',
    status: 400,
  },
  ASSAY_COMPRESSED_MESSAGE: {
    summary: 'The message is compressed as a whole, which this server does not take.',
    hint: 'Send messages with grpc-encoding identity; blobs may be compressed with zstd.',
    status: 400,
    grpc: 'UNIMPLEMENTED',
  },
  ASSAY_NO_SUCH_METHOD: {
    summary: 'There is no such gRPC method here.',
    hint: 'This server is a cache: it speaks Capabilities, ActionCache, ContentAddressableStorage, ByteStream, Fetch and Push.',
    status: 404,
    grpc: 'UNIMPLEMENTED',
  },
  ASSAY_BAD_ASSET: {
    summary:
      'The name of an asset is none: it has no URI, too many, two values for one qualifier, or is no UTF-8.',
    hint: 'Name an asset by 1 to 64 URIs, with each qualifier once.',
    status: 400,
  },
  ASSAY_BAD_RESOURCE_NAME: {
    summary: 'The resource name of a ByteStream call does not name a blob.',
    hint: 'Read INSTANCE/blobs/SHA256/SIZE, write INSTANCE/uploads/UUID/blobs/SHA256/SIZE; compressed-blobs/zstd for zstd.',
    status: 400,
  },
  ASSAY_BAD_OFFSET: {
    summary: 'The bytes do not begin where the upload stands.',
    hint: 'Ask how far it has come (HEAD, or QueryWriteStatus) and send the rest from there.',
    status: 416,
  },
  ASSAY_UPLOAD_CONFLICT: {
    summary: 'The part does not fit the upload as it stands, or another connection is sending it.',
    hint: 'Ask by HEAD how far it has come and send the rest, or send the whole without Upload-Complete.',
    status: 409,
  },
  ASSAY_ENTRY_RESERVED: {
    summary: 'Another job is saving that entry of GitHub’s cache.',
    hint: 'Nothing to do: the other job’s content is kept. A job that died blocks its key for two minutes.',
    status: 409,
  },
  ASSAY_TOO_MANY_UPLOADS: {
    summary: 'More uploads are begun and not finished than the store keeps.',
    hint: 'Finish or cancel some; those that nobody continues are forgotten after a day.',
    status: 503,
  },
  ASSAY_BAD_LABEL: {
    summary: 'A label is empty, too long, or holds a NUL.',
    hint: 'Use at most 512 bytes.',
    status: 400,
  },
  ASSAY_BATCH_TOO_LARGE: {
    summary: 'The blobs of one batch are larger together than the server announces.',
    hint: 'Send batches of at most max_batch_total_size_bytes, or single blobs with ByteStream.',
    status: 413,
    grpc: 'INVALID_ARGUMENT',
  },
  ASSAY_BAD_COMPRESSION: {
    summary: 'The compressed content can not be inflated. Nothing was kept.',
    hint: 'Send one or more whole zstd frames with a window of at most 8 MiB (levels up to 19).',
    status: 400,
  },
  ASSAY_UNSUPPORTED: {
    summary: 'The request asks for something that this server does not do.',
    hint: 'Use SHA-256, and what the server’s capabilities list.',
    status: 400,
  },
  ASSAY_RESULT_INCOMPLETE: {
    summary: 'The result names content that is not in the store. It was not kept.',
    hint: 'Upload everything that a result names before the result itself.',
    status: 409,
  },
  ASSAY_NOT_FOUND: {
    summary: 'There is nothing under that address.',
    hint: 'For a cache this is a miss, not a fault.',
    status: 404,
  },
  ASSAY_METHOD_NOT_ALLOWED: {
    summary: 'That address does not take this method.',
    hint: 'Send one of the methods in the Allow header.',
    status: 405,
  },
  ASSAY_TOO_LARGE: {
    summary: 'The body is larger than the server takes.',
    hint: 'Raise --max-blob on the server, or leave that artifact out of the cache.',
    status: 413,
  },
  ASSAY_BODY_TIMEOUT: {
    summary: 'A body or an answer stopped moving, or moved too slowly while the server was short of room.',
    hint: 'Send it again over a connection that moves.',
    status: 408,
  },
  ASSAY_BAD_RANGE: {
    summary: 'The range asks for bytes beyond the end of the content.',
    hint: 'Ask for bytes below the size that Content-Range names.',
    status: 416,
  },
  ASSAY_BAD_ENCODING: {
    summary: 'The body of a request has a Content-Encoding, which this server does not undo.',
    hint: 'Send the bytes as they are, without Content-Encoding.',
    status: 415,
  },
  ASSAY_PRECONDITION_FAILED: {
    summary: 'If-Match or If-None-Match names another content than what is there.',
    hint: 'Nothing to do where the key was to be written only if it was free; else read it anew.',
    status: 412,
  },
  ASSAY_BAD_REQUEST: {
    summary: 'What arrived is not HTTP that the server understands.',
    hint: 'Speak HTTP/1.1 to this port; check for a proxy between that rewrites requests.',
    status: 400,
  },
  ASSAY_HEADER_TOO_LARGE: {
    summary: 'The request’s header is larger than the server takes.',
    hint: 'Send shorter URLs and headers: 16 KiB in all.',
    status: 431,
  },
  ASSAY_HEADER_TIMEOUT: {
    summary: 'The request’s header did not arrive in time.',
    hint: 'Send it again over a connection that moves.',
    status: 408,
  },
  ASSAY_UNAUTHORIZED: {
    summary: 'The request carries no token, or a wrong one.',
    hint: 'Set ASSAY_TOKEN to the server’s token (or send it as Bearer, or as the Basic password).',
    status: 401,
  },
  ASSAY_BAD_TICKET: {
    summary: 'The signed address is not one that this server gave out, or it has expired.',
    hint: 'Ask for a new one: they are good for an hour, and no longer than the server runs.',
    status: 403,
  },
  ASSAY_BAD_SIGNATURE: {
    summary: 'The request is not signed with the S3 keys of this server, or its clock is far from ours.',
    hint: 'Give the client the server’s ASSAY_S3_ACCESS_KEY and ASSAY_S3_SECRET_KEY; compare the clocks.',
    status: 403,
  },
  ASSAY_READ_ONLY: {
    summary: 'This server does not take writes from this client.',
    hint: 'Write with a token that may, or run the server without --read-only.',
    status: 403,
  },
  ASSAY_SHUTTING_DOWN: {
    summary: 'The server is stopping and takes no new work.',
    hint: 'Try again when it is back.',
    status: 503,
  },
  ASSAY_OVERLOADED: {
    summary: 'There is more to do than the server can hold. Nothing was kept.',
    hint: 'Come back after the time that Retry-After names; `assay run` goes on without the remote.',
    status: 503,
  },
  ASSAY_STORE_FULL: {
    summary: 'What is in use fills the store’s limit. Nothing partial was kept.',
    hint: 'Wait: what nobody uses goes when its lease ends. Or raise --max-size.',
    status: 507,
  },
  ASSAY_DISK_FULL: {
    summary: 'The disk under the store is full. Nothing partial was kept.',
    hint: 'Free space on that disk.',
    status: 507,
  },
  ASSAY_STORE_IN_USE: {
    summary: 'Another process uses the store.',
    hint: 'Stop that process, then try again.',
    status: 409,
  },
  ASSAY_STORE_FAULT: {
    summary: 'The store could not read or write its files.',
    hint: 'Check the disk and the rights on the store’s folder; the text after the code names the call that failed.',
    status: 500,
  },
  ASSAY_ADDRESS_SPACE: {
    summary: 'The index of the store does not fit into the addresses that this process may use.',
    hint: 'Raise the limit (ulimit -v unlimited); `assay run` goes on without the store.',
    status: 500,
  },
  ASSAY_NO_STORE: {
    summary: 'There is no store in that folder.',
    hint: 'Point --store, or ASSAY_STORE, at one; `assay run` and `assay serve` begin it.',
    status: 404,
  },
  ASSAY_STORE_SAME_PID: {
    summary:
      'Another process with the same PID has the store open, in another container: the index can’t tell them apart.',
    hint: 'Let both see each other’s PIDs (docker run --pid=host, or --pid=container:NAME), or give each container a store of its own and share by `assay serve`.',
    status: 503,
  },
  ASSAY_STORE_VERSION: {
    summary: 'The store’s folder was written by another version of Assay’s format.',
    hint: 'Point --store at another folder, or remove this one: a cache can be filled again.',
    status: 500,
  },
  ASSAY_BLOB_CORRUPT: {
    summary: 'Stored bytes no longer match their checksum. They were quarantined and not served.',
    hint: 'Nothing to do: it is a miss until the content is put again. If it repeats, check the disk.',
    status: 404,
  },
  ASSAY_FOREIGN_HOST: {
    summary: 'A server without a token was called by a name that others may own, as a web page could do.',
    hint: 'Call it by 127.0.0.1 or localhost, or set ASSAY_TOKEN or --read-only: then it may have any name.',
    status: 403,
  },
  ASSAY_FOREIGN_ORIGIN: {
    summary: 'A web page of another origin sent a request to a server without a token.',
    hint: 'Type the address into the browser instead of following a link, or set ASSAY_TOKEN.',
    status: 403,
  },
  ASSAY_OPEN_NETWORK: {
    summary: 'The server was asked to listen beyond this machine without a token.',
    hint: 'Set ASSAY_TOKEN, or listen on 127.0.0.1, or pass --read-only or --tls-client-ca.',
    status: 500,
  },
  ASSAY_BAD_CERTIFICATE: {
    summary: 'A file of --tls-cert, --tls-key or --tls-client-ca can not be used.',
    hint: 'Give PEM files that the server may read; certificate and key must belong together.',
    status: 500,
  },
  ASSAY_CANNOT_LISTEN: {
    summary: 'The server could not listen on that address.',
    hint: 'Choose another --port or --host, or stop what listens there.',
    status: 500,
  },
  ASSAY_INPUT_MATCHES_NOTHING: {
    summary: 'A declared input pattern matches no file.',
    hint: 'Correct the pattern, or declare it with --optional-input if it may match nothing.',
    status: 400,
  },
  ASSAY_INPUT_UNREADABLE: {
    summary: 'A declared input cannot be read, or is neither a file, a folder nor a symbolic link.',
    hint: 'Mend its rights, or exclude it with a pattern that begins with "!".',
    status: 400,
  },
  ASSAY_INPUT_CHANGED: {
    summary: 'Something that the command looked at changed while it ran. Its result was not kept.',
    hint: 'Run it again when nothing else works on the same files.',
    status: 500,
  },
  ASSAY_OUTPUT_OVERLAP: {
    summary: 'Two declared outputs lie one inside the other, or an output is the workspace itself.',
    hint: 'Declare only the outer one, or separate folders.',
    status: 400,
  },
  ASSAY_OUTPUT_RESERVED: {
    summary:
      'A declared output is what no command makes: git’s folder, Assay’s, or the file that declares steps.',
    hint: 'Declare what the command makes. Outputs are moved away before it runs.',
    status: 400,
  },
  ASSAY_RUN_WITHIN_ITSELF: {
    summary:
      'A command that Assay runs calls Assay for the very output that it is to make, or for what holds it.',
    hint: 'Wrap the command only once, or give what runs inside an output of its own.',
    status: 400,
  },
  ASSAY_OUTPUT_UNFIT: {
    summary:
      'What lies at a declared output cannot be stored or replaced: it leaves the workspace, or is no file.',
    hint: 'Make the command write plain files, folders and links that stay inside the workspace.',
    status: 400,
  },
  ASSAY_TOOL_NOT_FOUND: {
    summary: 'A declared tool, or the interpreter that a tool’s first line names, is not there.',
    hint: 'Install it, correct its name, or add its folder to PATH.',
    status: 400,
  },
  ASSAY_COMMAND_NOT_FOUND: {
    summary: 'The command to run is not there or is not executable.',
    hint: 'Correct it, or add its folder to PATH.',
    status: 400,
    exitCode: 127,
  },
  ASSAY_LONG_PATH: {
    summary:
      'The action uses or makes a path that is longer than the kernel takes, and can’t be run in a copy.',
    hint: 'Let it use shorter paths (4,095 bytes with all folders); `assay audit` without --reproduce tells the rest.',
    status: 400,
  },
  ASSAY_NO_TEMPORARY_FOLDER: {
    summary: 'There is no folder for temporary files in which a command could have a place of its own.',
    hint: 'Set TMPDIR to a folder that you may write in.',
    status: 500,
  },
  ASSAY_BAD_WIRE: {
    summary: 'What arrived on standard input is not the protocol that this helper speaks.',
    hint: 'Let the build tool start it, as its --help shows; by hand it is of no use.',
    status: 400,
  },
  ASSAY_LABEL_TAKEN: {
    summary: 'The label names something else already, which stays.',
    hint: 'Use another label: what a label names never changes.',
    status: 409,
  },
  ASSAY_NO_HISTORY: {
    summary: 'There is no earlier run of this workspace to explain.',
    hint: 'Run `assay run` here first, with the same --store.',
    status: 404,
  },
  ASSAY_NO_CONFIG: {
    summary: 'There is no assay.json here, so there are no steps to name.',
    hint: 'Write one (`assay init` makes a first one). A command to run stands after `--`: assay run [FLAGS] -- COMMAND.',
    status: 404,
  },
  ASSAY_CONFIG: {
    summary: 'An assay.json, or a file that names the packages of a workspace, can’t be understood.',
    hint: 'Mend the line that is named; the schema (`"$schema"`, docs/STEPS.md) tells editors what may stand there.',
    status: 400,
  },
  ASSAY_STEP_UNKNOWN: {
    summary: 'There is no step of that name.',
    hint: 'Correct the name; `assay run --dry-run` lists the steps.',
    status: 404,
  },
  ASSAY_STEP_CYCLE: {
    summary: 'Steps depend on each other in a circle, so none of them can come first.',
    hint: 'Take one of the named dependencies away.',
    status: 400,
  },
  ASSAY_INPUT_UNORDERED: {
    summary:
      'The inputs of a step cover what another step makes, and nothing says which of the two comes first.',
    hint: 'Name the other step in "dependsOn", or leave what it makes out of "inputs" with a "!" pattern.',
    status: 400,
  },
  ASSAY_NO_TRACER: {
    summary: 'This machine has no tracer that works, so nothing can be said about what a command does.',
    hint: 'Build the helper (hermeticity/native/build.sh, needs a C compiler) or install strace; in a container allow ptrace.',
    status: 500,
  },
  ASSAY_NOT_HERMETIC: {
    summary: 'A result was made by a run that saw or did more than it declared, and is not taken.',
    hint: 'Take it with --accept-marked, or mend the action: `assay audit` says what it did.',
    status: 500,
  },
  ASSAY_PATH_SET_REFUSED: {
    summary: 'A result of the remote depends on paths that are not looked at for a remote.',
    hint: 'Nothing has to be done: the command runs. The machine that made the result read files outside of its workspace; `assay audit` there names them.',
    status: 500,
  },
  ASSAY_TRACE_BROKEN: {
    summary: 'The tracer said something that Assay does not understand.',
    hint: 'Build the helper again (hermeticity/native/build.sh); it may be of another version.',
    status: 500,
  },
  ASSAY_NO_SANDBOX: {
    summary: 'This machine can not run a command in a sandbox.',
    hint: 'Install bubblewrap and allow user namespaces; the text after the code says what is missing.',
    status: 500,
  },
  ASSAY_REPORT_UNWRITABLE: {
    summary: 'The report could not be written where it was asked for.',
    hint: 'Name a file in a folder that you may write in and that has room.',
    status: 500,
  },
  ASSAY_INTERRUPTED: {
    summary:
      'A signal ended what Assay was asked for before its end; what it needed for that is cleared away.',
    hint: 'Ask again.',
    status: 500,
    exitCode: 130,
  },
  ASSAY_NO_VARIATION: {
    summary:
      'This machine can not run a command under other conditions, so nothing can be said about its reproducibility.',
    hint: 'Build the helper (hermeticity/reproduce/native/build.sh, needs a C compiler); in a container allow ptrace.',
    status: 500,
  },
  ASSAY_NO_NODE: {
    summary: 'The executable was installed without the Node that its server runs on.',
    hint: 'Install the whole package, or keep dist/node beside dist/assay. Commands other than serve need no Node.',
    status: 500,
  },
  ASSAY_INCOMPLETE: {
    summary:
      'A file of Assay itself is not there: it was replaced or removed while it ran, or was never installed whole.',
    hint: 'Run it again; if it says the same, install Assay anew.',
    status: 500,
  },
  ASSAY_OLD_NODE: {
    summary: 'A program imports the library in a Node that lacks what the library calls.',
    hint: 'Run it with Node 22.19 or later, or 24 or later; or start the command `assay`, which needs no Node.',
    status: 500,
  },
  ASSAY_INTERNAL: {
    summary: 'Assay met something that its authors did not foresee.',
    hint: 'Please report it with the text after the code.',
    status: 500,
  },
} satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof catalogue;

export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = catalogue;

/** A refusal with a code from the catalogue; `detail` says what exactly, in words for a person. */
export class AssayError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown }) {
    super(`${code}: ${detail}`, options);
    this.name = 'AssayError';
    this.code = code;
    this.detail = detail;
  }

  /** What to do about it. */
  get hint(): string {
    return this.entry.hint;
  }

  get entry(): ErrorEntry {
    return ERRORS[this.code];
  }
}

/** The text after `error: ` of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True for an error of the operating system with one of these codes (ENOENT, ENOSPC …). */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
  );
}
