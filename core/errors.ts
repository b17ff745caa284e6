// The catalogue of all errors that Assay reports. docs/ERRORS.md is generated from it.
//
// A code never changes: scripts match on it. A summary says what failed, a hint says what to do.
import type { GrpcStatus } from './grpc-status.ts';

export interface ErrorEntry {
  /** What failed. A client sees it in place of the detail when the status is 500 or more. */
  readonly summary: string;
  /** What a person can do about it. */
  readonly hint: string;
  /** The status of the HTTP response. */
  readonly status: number;
  /** The gRPC status, where the counterpart of the HTTP status (core/grpc-status.ts) is not the best one. */
  readonly grpc?: GrpcStatus;
  /** The exit code, where scripts expect a certain one. Otherwise it is the command's `failureCode`. */
  readonly exitCode?: number;
}

const catalogue = {
  ASSAY_USAGE: {
    summary: 'The command line, or a call of the library, is not valid.',
    hint: 'Run `assay COMMAND --help` to see the arguments and flags.',
    status: 400,
  },
  ASSAY_BAD_DIGEST: {
    summary: 'A digest is malformed.',
    hint: 'Send the SHA-256 as 64 lower-case hex digits, and the size as a whole number of bytes.',
    status: 400,
  },
  ASSAY_BAD_PATH: {
    summary: 'A path is absolute, leaves its root, or contains something that no file name may contain.',
    hint: 'Use a path relative to the workspace, without "..", empty parts or NUL.',
    status: 400,
  },
  ASSAY_BAD_NAMESPACE: {
    summary: 'The namespace in the URL, or the instance name, is not valid.',
    hint: 'Use at most 255 letters, digits, "_", "-", "." and "/". No part may be "." or "..", and the first may not be the name of a page.',
    status: 400,
  },
  ASSAY_BAD_KEY: {
    summary: 'The URL is not valid in this protocol.',
    hint: 'Compare the tool’s setting with `assay help protocols`. The text after the code shows the valid form.',
    status: 400,
  },
  ASSAY_BAD_MESSAGE: {
    summary: 'The body or a header of the request is not valid in this protocol.',
    hint: 'Correct what the text after the code names.',
    status: 400,
  },
  ASSAY_RECORD_EXISTS: {
    summary: 'The key already has other content. The first content stays.',
    hint: 'Use a new key. If the content should have been the same, find out why the builds differ.',
    status: 409,
  },
  ASSAY_DIGEST_MISMATCH: {
    summary: 'The content does not match its digest or checksum. Nothing was stored.',
    hint: 'Send it again. If the error repeats, something between the two machines changes bytes.',
    status: 400,
  },
  ASSAY_SIZE_MISMATCH: {
    summary: 'The content does not have the announced size. Nothing was stored.',
    hint: 'Send all of it again.',
    status: 400,
  },
  ASSAY_RESULT_MALFORMED: {
    summary: 'The body is not an ActionResult message, or it contains malformed digests or paths.',
    hint: 'Send the protobuf encoding of build.bazel.remote.execution.v2.ActionResult.',
    status: 400,
  },
  ASSAY_MESSAGE_MALFORMED: {
    summary: 'The request is not the protobuf message that this method takes.',
    hint: 'Send the message that the Remote Execution API v2 defines for the method.',
    status: 400,
  },
  ASSAY_COMPRESSED_MESSAGE: {
    summary: 'The gRPC message is compressed. This server does not accept compressed messages.',
    hint: 'Send messages with grpc-encoding identity. Blobs may be compressed with zstd.',
    status: 400,
    grpc: 'UNIMPLEMENTED',
  },
  ASSAY_NO_SUCH_METHOD: {
    summary: 'This server does not have that gRPC method.',
    hint: 'Call Capabilities, ActionCache, ContentAddressableStorage, ByteStream, Fetch, Push, PathSets or ActionLeases.',
    status: 404,
    grpc: 'UNIMPLEMENTED',
  },
  ASSAY_BAD_ASSET: {
    summary: 'Invalid asset name: no URI, too many URIs, a repeated qualifier, or invalid UTF-8.',
    hint: 'Name an asset by 1 to 64 URIs, and give each qualifier once.',
    status: 400,
  },
  ASSAY_BAD_RESOURCE_NAME: {
    summary: 'The resource name of a ByteStream call does not name a blob.',
    hint: 'Read [INSTANCE/]blobs/SHA256/SIZE, write [INSTANCE/]uploads/UUID/blobs/SHA256/SIZE. For zstd, write compressed-blobs/zstd in place of blobs.',
    status: 400,
  },
  ASSAY_BAD_OFFSET: {
    summary: 'The part does not begin where the upload ended.',
    hint: 'Ask for the committed size (HEAD, or QueryWriteStatus), and send the rest from there.',
    status: 416,
  },
  ASSAY_UPLOAD_CONFLICT: {
    summary: 'The part does not continue the upload, or another connection is sending it now.',
    hint: 'Ask for the committed size with HEAD and send the rest, or send all of it without Upload-Complete.',
    status: 409,
  },
  ASSAY_ENTRY_RESERVED: {
    summary: 'Another job is saving that entry of the GitHub Actions cache.',
    hint: 'Nothing to do: the other job saves it. A job that died blocks its key for two minutes.',
    status: 409,
  },
  ASSAY_TOO_MANY_UPLOADS: {
    summary: 'Too many uploads have begun and not finished.',
    hint: 'Finish or cancel some. The store removes an upload that nobody continues after a day.',
    status: 503,
  },
  ASSAY_BAD_LABEL: {
    summary: 'A label is empty, too long, contains NUL, or is not valid UTF-8.',
    hint: 'Use 1 to 512 bytes of UTF-8 without NUL.',
    status: 400,
  },
  ASSAY_BATCH_TOO_LARGE: {
    summary: 'The batch has more blobs, or more bytes, than the server accepts.',
    hint: 'Send batches of at most max_batch_total_size_bytes, or single blobs with ByteStream.',
    status: 413,
    grpc: 'INVALID_ARGUMENT',
  },
  ASSAY_BAD_COMPRESSION: {
    summary: 'The compressed content cannot be decompressed. Nothing was stored.',
    hint: 'Send one or more whole zstd frames with a window of at most 8 MiB (levels up to 19).',
    status: 400,
  },
  ASSAY_UNSUPPORTED: {
    summary: 'The request asks for a feature that this server does not have.',
    hint: 'Use SHA-256, and only the features that the server’s capabilities list.',
    status: 400,
  },
  ASSAY_RESULT_INCOMPLETE: {
    summary: 'The result names blobs that are not in the store. It was not stored.',
    hint: 'Upload every blob that a result names before the result itself.',
    status: 409,
  },
  ASSAY_NOT_FOUND: {
    summary: 'Nothing is stored under that address.',
    hint: 'Nothing to do: this is a cache miss.',
    status: 404,
  },
  ASSAY_METHOD_NOT_ALLOWED: {
    summary: 'The address does not accept this HTTP method.',
    hint: 'Use one of the methods in the Allow header.',
    status: 405,
  },
  ASSAY_TOO_LARGE: {
    summary: 'The body is larger than the server accepts.',
    hint: 'Raise --max-blob on the server, or keep that artifact out of the cache.',
    status: 413,
  },
  ASSAY_BODY_TIMEOUT: {
    summary: 'A request body or an answer stopped, or was too slow while the server was short of capacity.',
    hint: 'Send the request again over a faster connection.',
    status: 408,
  },
  ASSAY_BAD_RANGE: {
    summary: 'The range begins beyond the end of the content.',
    hint: 'Ask for bytes below the size that Content-Range gives.',
    status: 416,
  },
  ASSAY_BAD_ENCODING: {
    summary: 'The request has a Content-Encoding. This server does not decode request bodies.',
    hint: 'Send the bytes without Content-Encoding.',
    status: 415,
  },
  ASSAY_PRECONDITION_FAILED: {
    summary: 'If-Match or If-None-Match does not hold for the stored content.',
    hint: 'Nothing to do for a write that must not replace anything. Otherwise read the content again.',
    status: 412,
  },
  ASSAY_BAD_REQUEST: {
    summary: 'The request is not valid HTTP.',
    hint: 'Use HTTP/1.1 or gRPC on this port. Check for a proxy in between that rewrites requests.',
    status: 400,
  },
  ASSAY_HEADER_TOO_LARGE: {
    summary: 'The header of the request is larger than the server accepts.',
    hint: 'Send at most 16 KiB of URL and headers.',
    status: 431,
  },
  ASSAY_HEADER_TIMEOUT: {
    summary: 'The header of the request did not arrive in time.',
    hint: 'Send the request again over a faster connection.',
    status: 408,
  },
  ASSAY_UNAUTHORIZED: {
    summary: 'The request has no token, or a wrong one.',
    hint: 'Set ASSAY_TOKEN to the server’s token, or send it as Bearer or as the Basic password.',
    status: 401,
  },
  ASSAY_BAD_SELECTION: {
    summary: 'The results to forget are not described in a way that Assay understands.',
    hint: 'Name a key, a namespace, a writer or a time; `assay forget --help` has examples. Nothing was removed.',
    status: 400,
  },
  ASSAY_NO_ANSWER: {
    summary: 'The server did not answer, or not as an Assay server does.',
    hint: 'Check the address and the server’s log. If a forget was cut off, run the same command again.',
    status: 502,
  },
  ASSAY_FORBIDDEN: {
    summary: 'The token does not give the right to do this.',
    hint: 'Use a token with the right that the text after the code names. A build goes on without it.',
    status: 403,
  },
  ASSAY_TOKEN_REFUSED: {
    summary: 'The token cannot be exchanged for a short one.',
    hint: 'The text after the code says which check failed. Compare the job with the issuers and rules of the server.',
    status: 400,
  },
  ASSAY_GRANT_TYPE: {
    summary: 'The request for a token is no token exchange.',
    hint: 'Use `assay login`, or send the form of RFC 8693.',
    status: 400,
  },
  ASSAY_TOO_MANY_FAILURES: {
    summary: 'Too many exchanges of tokens from this address were refused.',
    hint: 'Wait for a minute. The answers before this one say why the tokens were refused; a valid token is taken at once.',
    status: 429,
  },
  ASSAY_TOKEN_AUDIENCE: {
    summary: 'The exchange asks for an audience that this server does not have.',
    hint: 'Ask for an audience that the server’s configuration names for this issuer, or for none.',
    status: 400,
  },
  ASSAY_ISSUER_UNREACHABLE: {
    summary: 'The server cannot get the keys of the issuer, so it cannot check the token.',
    hint: 'Check that the server reaches the issuer. Tokens that were exchanged before stay valid.',
    status: 503,
  },
  ASSAY_TOKEN_SCOPE: {
    summary: 'The token has none of the rights that the scope asks for.',
    hint: 'Ask for a scope that the rule of the server gives, or for none.',
    status: 400,
  },
  ASSAY_BAD_TICKET: {
    summary: 'The signed URL is not from this server, or it has expired.',
    hint: 'Ask for a new one. A signed URL is valid for one hour, until its token ends or the server stops.',
    status: 403,
  },
  ASSAY_BAD_SIGNATURE: {
    summary: 'The request is not signed with this server’s S3 keys, or its time is wrong.',
    hint: 'Give the client the server’s ASSAY_S3_ACCESS_KEY and ASSAY_S3_SECRET_KEY. Compare the clocks.',
    status: 403,
  },
  ASSAY_READ_ONLY: {
    summary: 'This server is read-only.',
    hint: 'Write to another server on the same store, or start this one without --read-only.',
    status: 403,
  },
  ASSAY_SHUTTING_DOWN: {
    summary: 'The server is stopping and accepts no new requests.',
    hint: 'Send the request again when the server is back.',
    status: 503,
  },
  ASSAY_OVERLOADED: {
    summary: 'The server is out of capacity. Nothing was stored.',
    hint: 'Send the request again after the time in Retry-After. `assay run` continues without the remote.',
    status: 503,
  },
  ASSAY_STORE_FULL: {
    summary:
      'Leased content fills the store, the quota of the namespace, or a limit of the fleet. Nothing partial was stored.',
    hint: 'Wait until leases end, or raise --max-size, --quota of the namespace, or --max-index-size of a fleet.',
    status: 507,
  },
  ASSAY_DISK_FULL: {
    summary: 'The disk of the store is full. Nothing partial was stored.',
    hint: 'Free space on that disk.',
    status: 507,
  },
  ASSAY_STORE_IN_USE: {
    summary: 'Another process has the store open.',
    hint: 'Stop that process, then try again.',
    status: 409,
  },
  ASSAY_STORE_FAULT: {
    summary: 'The store could not read or write its files.',
    hint: 'Check the disk and the permissions of the store’s folder. The text after the code names the failed call.',
    status: 500,
  },
  ASSAY_ADDRESS_SPACE: {
    summary: 'The store’s index needs more virtual memory than this process may use.',
    hint: 'Raise the limit with `ulimit -v unlimited`. `assay run` continues without the store.',
    status: 500,
  },
  ASSAY_NO_STORE: {
    summary: 'There is no store in that folder.',
    hint: 'Point --store, or ASSAY_STORE, at a store. `assay run` and `assay serve` create one.',
    status: 404,
  },
  ASSAY_NO_BACKUP: {
    summary: 'The folder has no finished backup, or the backup lacks what was asked for.',
    hint: 'Name the folder that `assay store backup` wrote. Repeat that command if it was interrupted.',
    status: 404,
  },
  ASSAY_BUNDLE_DAMAGED: {
    summary: 'The file is no whole bundle. Nothing of it is visible in the store.',
    hint: 'Copy it again, and compare `assay show --bundle FILE` on both machines. Only what `assay export` wrote is taken.',
    status: 400,
  },
  ASSAY_BUNDLE_FORMAT: {
    summary: 'A newer version of Assay wrote the bundle. Nothing of it was read.',
    hint: 'Install a newer version of Assay here, or export with this version.',
    status: 400,
  },
  ASSAY_BUNDLE_REFUSED: {
    summary:
      'The bundle has results that no version of Assay exports. Nothing of it is visible in the store.',
    hint: 'Do not trust its maker. The text after the code says what is wrong.',
    status: 400,
  },
  ASSAY_BUNDLE_TOO_LARGE: {
    summary: 'The bundle is larger than what takes it. Nothing of it was stored.',
    hint: 'Raise ASSAY_MAX_SIZE, or export in parts (--steps, --since, --label, --key).',
    status: 413,
  },
  ASSAY_BUNDLE_UNTRUSTED: {
    summary: 'None of the keys that --trust names signed the bundle. Nothing of it was stored.',
    hint: 'Ask its maker for a bundle that is signed (`assay export --sign KEY`), or name the maker’s public key.',
    status: 403,
  },
  ASSAY_NOT_EMPTY: {
    summary: 'The folder or the file holds something already. Nothing was changed.',
    hint: 'Give an empty folder, or one that does not exist.',
    status: 409,
  },
  ASSAY_STORE_SAME_PID: {
    summary: 'A process with the same PID, in another container, has the store open.',
    hint: 'Share the PID namespace (docker run --pid=host, or --pid=container:NAME), or give each container its own store and share results with `assay serve`.',
    status: 503,
  },
  ASSAY_STORE_VERSION: {
    summary: 'Another version of Assay wrote this store, in another format.',
    hint: 'Point --store at another folder, or delete this one: a cache fills again.',
    status: 500,
  },
  ASSAY_INDEX_AWAY: {
    summary: 'The server cannot reach its PostgreSQL, or it did not answer in time.',
    hint: 'Nothing to do in a build: this is a miss. On the server, see /readyz and the log of PostgreSQL.',
    status: 503,
  },
  ASSAY_INDEX_VERSION: {
    summary: 'The tables in PostgreSQL are missing, or of a version that this Assay cannot use.',
    hint: 'Run `assay db migrate` with the newest Assay of the fleet, before its servers start.',
    status: 503,
  },
  ASSAY_FLEET_MISMATCH: {
    summary: 'The database and the prefix of the bucket belong to different fleets.',
    hint: 'Give the server the --index and the --blobs that belong together, or an empty database and an empty prefix. If this database shall own the objects of the prefix, run `assay db adopt`.',
    status: 503,
  },
  ASSAY_FLEET_NOT_OWNER: {
    summary: 'Another database owns the objects of this prefix, so this one deletes none of them.',
    hint: 'See Ownership in `assay help fleet`. If this database shall own the objects, run `assay db adopt`.',
    status: 503,
  },
  ASSAY_BUCKET_AWAY: {
    summary: 'The server cannot reach its bucket, or the bucket refused a request.',
    hint: 'Nothing to do in a build: this is a miss. On the server, see /readyz and the log of the object store.',
    status: 503,
  },
  ASSAY_BLOB_CORRUPT: {
    summary: 'Stored bytes do not match their checksum. They were quarantined and not served.',
    hint: 'Nothing to do: this is a cache miss. If it repeats, check the disk.',
    status: 404,
  },
  ASSAY_FOREIGN_HOST: {
    summary: 'The request names a host that is not this machine, and the server has no token.',
    hint: 'Use 127.0.0.1 or localhost, or start the server with ASSAY_TOKEN or --read-only.',
    status: 403,
  },
  ASSAY_FOREIGN_ORIGIN: {
    summary: 'A web page of another origin sent the request, and the server has no token.',
    hint: 'Type the address into the browser instead of following a link, or set ASSAY_TOKEN.',
    status: 403,
  },
  ASSAY_SERVER_CONFIG: {
    summary:
      'The configuration file of the server cannot be read or is not valid, or a setting is given twice.',
    hint: 'Correct the named lines. The schema (`assay help server`) tells editors what is valid.',
    status: 500,
  },
  ASSAY_TOKENS_FILE: {
    summary: 'The file of tokens cannot be read or written, or is not valid.',
    hint: 'Correct what the text after the code names. `assay token create` makes such a file and changes it safely.',
    status: 500,
  },
  ASSAY_TOKENS_BUSY: {
    summary: 'Another process is changing the file of tokens. Nothing was changed.',
    hint: 'Run the command again. If it repeats, look for an `assay token` that hangs.',
    status: 503,
  },
  ASSAY_NO_TOKEN: {
    summary: 'The file of tokens has no token with that name or id.',
    hint: '`assay token list` shows the names and ids.',
    status: 404,
  },
  ASSAY_NO_ID_TOKEN: {
    summary: 'This job has no token to prove who it is.',
    hint: 'GitHub: `permissions: id-token: write`. GitLab: `id_tokens: ASSAY_ID_TOKEN`. With --optional the build goes on.',
    status: 400,
  },
  ASSAY_LOGIN: {
    summary: 'The shared cache gave no token for this job.',
    hint: 'The text after the code has the server’s reason. With --optional the build goes on without the cache.',
    status: 400,
  },
  ASSAY_OPEN_NETWORK: {
    summary: 'The server would listen beyond this machine without a token.',
    hint: 'Pass --tokens or set ASSAY_TOKEN, or listen on 127.0.0.1, or pass --read-only or --tls-client-ca.',
    status: 500,
  },
  ASSAY_BAD_CERTIFICATE: {
    summary: 'A file of --tls-cert, --tls-key or --tls-client-ca cannot be used.',
    hint: 'Give readable PEM files, and a certificate and a key that belong together.',
    status: 500,
  },
  ASSAY_CANNOT_LISTEN: {
    summary: 'The server could not listen on that address.',
    hint: 'Choose another --port or --host, or stop the process that listens there.',
    status: 500,
  },
  ASSAY_INPUT_MATCHES_NOTHING: {
    summary: 'A declared input pattern matches no file.',
    hint: 'Correct the pattern, or declare it with --optional-input if it may match nothing.',
    status: 400,
  },
  ASSAY_INPUT_UNREADABLE: {
    summary: 'A declared input cannot be read, or is not a file, a folder or a symbolic link.',
    hint: 'Correct its permissions, or exclude it with a pattern that begins with "!".',
    status: 400,
  },
  ASSAY_INPUT_CHANGED: {
    summary: 'A file that the command read changed while it ran. The result was not stored.',
    hint: 'Run it again when nothing else changes these files.',
    status: 500,
  },
  ASSAY_OUTPUT_OVERLAP: {
    summary: 'One declared output contains another, or an output is the workspace itself.',
    hint: 'Declare only the outer one, or separate folders.',
    status: 400,
  },
  ASSAY_OUTPUT_RESERVED: {
    summary: 'A declared output is .git, Assay’s own folder, or the file that declares the steps.',
    hint: 'Declare only what the command writes. Assay moves outputs away before the command runs.',
    status: 400,
  },
  ASSAY_RUN_WITHIN_ITSELF: {
    summary: 'A command under `assay run` starts `assay run` for the same output, or for a folder around it.',
    hint: 'Wrap the command only once, or declare another output for the inner command.',
    status: 400,
  },
  ASSAY_OUTPUT_UNFIT: {
    summary:
      'An output, or a path of `assay save`, cannot be stored or replaced: it is missing, leaves the workspace, or is not a file.',
    hint: 'Name paths that exist. Outputs and saved paths must be files, folders and links that stay inside the workspace.',
    status: 400,
  },
  ASSAY_TOOL_NOT_FOUND: {
    summary: 'A declared tool, or the interpreter in a tool’s first line, was not found.',
    hint: 'Install it, correct its name, or add its folder to PATH.',
    status: 400,
  },
  ASSAY_COMMAND_NOT_FOUND: {
    summary: 'The command was not found, or is not executable.',
    hint: 'Correct its name, or add its folder to PATH.',
    status: 400,
    exitCode: 127,
  },
  ASSAY_LONG_PATH: {
    summary: 'A path of the action is longer than the kernel accepts, so it cannot run in a copy.',
    hint: 'Use shorter paths (4,095 bytes with all folders), or run `assay audit` without --reproduce.',
    status: 400,
  },
  ASSAY_NO_TEMPORARY_FOLDER: {
    summary: 'No temporary folder is usable.',
    hint: 'Set TMPDIR to a folder that you may write to.',
    status: 500,
  },
  ASSAY_BAD_WIRE: {
    summary: 'The data on standard input is not the protocol of this helper.',
    hint: 'Let the build tool start the helper, as its --help shows.',
    status: 400,
  },
  ASSAY_LABEL_TAKEN: {
    summary: 'The label already names other content, which stays.',
    hint: 'Use another label: a label never changes what it names.',
    status: 409,
  },
  ASSAY_STALE_FENCE: {
    summary: 'The run has lost the lease of its action, so what it saves can’t become the newest.',
    hint: 'Nothing to do: another run executes the action now. The files of this run stay as they are.',
    status: 409,
  },
  ASSAY_LABEL_LEASED: {
    summary:
      'Another run holds the lease of the action, so its newest checkpoint or state can’t be replaced.',
    hint: 'Wait for that run, or save again when it has ended, at the latest an hour after its start.',
    status: 409,
  },
  ASSAY_NO_HISTORY: {
    summary: 'This workspace has no earlier run to explain.',
    hint: 'Run `assay run` here first, with the same --store.',
    status: 404,
  },
  ASSAY_NO_CONFIG: {
    summary: 'There is no assay.json here, so no step can be named.',
    hint: 'Write one (`assay init` makes a first one), or run a command: assay run [FLAGS] -- COMMAND.',
    status: 404,
  },
  ASSAY_CONFIG: {
    summary: 'An assay.json, or a file that lists the packages of a workspace, is not valid.',
    hint: 'Correct the named line. The schema (`"$schema"`, see `assay help steps`) tells editors what is valid.',
    status: 400,
  },
  ASSAY_STEP_UNKNOWN: {
    summary: 'There is no step with that name.',
    hint: 'Correct the name. `assay run --dry-run` lists the steps.',
    status: 404,
  },
  ASSAY_STEP_CYCLE: {
    summary: 'Steps depend on each other in a cycle.',
    hint: 'Remove one of the named dependencies.',
    status: 400,
  },
  ASSAY_INPUT_UNORDERED: {
    summary: 'A step reads what another step writes, and no dependency orders the two.',
    hint: 'Name the other step in "dependsOn", or exclude its outputs from "inputs" with a "!" pattern.',
    status: 400,
  },
  ASSAY_NO_TRACER: {
    summary: 'No tracer works on this machine, so Assay cannot observe a command.',
    hint: 'In a checkout, install a C compiler and run hermeticity/native/build.sh. In a container, allow ptrace.',
    status: 500,
  },
  ASSAY_NOT_HERMETIC: {
    summary:
      'The run that made the result did more than it declared, and this run does not accept that. The result was refused.',
    hint: 'Correct the action (`assay audit` lists what it did), or accept unproven results with --keep-unproven=shared.',
    status: 500,
  },
  ASSAY_PATH_SET_REFUSED: {
    summary: 'A remote result depends on paths that Assay does not read for a remote.',
    hint: 'Nothing to do: the command runs. To see the paths, run `assay audit` on the machine that made the result.',
    status: 500,
  },
  ASSAY_TRACE_BROKEN: {
    summary: 'The tracer’s output is not valid.',
    hint: 'Build the helper again (hermeticity/native/build.sh). It may be of another version.',
    status: 500,
  },
  ASSAY_NO_SANDBOX: {
    summary: 'This machine cannot run a command in a sandbox.',
    hint: 'Install bubblewrap and allow user namespaces. The text after the code says what is missing.',
    status: 500,
  },
  ASSAY_REPORT_UNWRITABLE: {
    summary: 'The report could not be written.',
    hint: 'Name a file in a folder that you may write to, on a disk with free space.',
    status: 500,
  },
  ASSAY_INTERRUPTED: {
    summary: 'A signal ended the run early. Its temporary files were removed.',
    hint: 'Run it again.',
    status: 500,
    exitCode: 130,
  },
  ASSAY_NO_VARIATION: {
    summary: 'This machine cannot run the command under other conditions to test whether it is reproducible.',
    hint: 'Build its helper (`npm run build`, needs a C compiler). In a container, allow ptrace.',
    status: 500,
  },
  ASSAY_NO_NODE: {
    summary: 'The client was installed without the Node that the server needs.',
    hint: 'Install assay-server, and start `assay-server serve`. The package of the client has no Node.',
    status: 500,
  },
  ASSAY_INCOMPLETE: {
    summary: 'A file of Assay itself is missing: an update replaced it, or the installation is incomplete.',
    hint: 'Run it again. If the error repeats, install Assay again.',
    status: 500,
  },
  ASSAY_BAD_CALL: {
    summary: 'The input or the answer of a memoised call cannot be kept.',
    hint: 'Pass JSON values without cycles, and return JSON, bytes or nothing. The text after the code names the place.',
    status: 400,
  },
  ASSAY_NOT_IN_BUILD: {
    summary: 'This build of Assay lacks the command, or what a setting needs: that part was left out.',
    hint: 'Use a build that has it. `assay --help` lists the commands of this one.',
    status: 500,
  },
  ASSAY_RELEASE: {
    summary: 'Files of a release are not those that its maker signed or listed.',
    hint: 'Do not install them. Download them again; if the error repeats, ask the maker of the release.',
    status: 500,
    exitCode: 3,
  },
  ASSAY_OLD_NODE: {
    summary: 'This version of Node is too old for Assay’s library.',
    hint: 'Use Node 22.19 or a later 22, or 24 or later. Or use the command `assay`, which needs no Node.',
    status: 500,
  },
  ASSAY_SYSTEM: {
    summary: 'The system refused something that Assay needs: access to a file, space, memory or descriptors.',
    hint: 'Check the permissions and the disk of the named path. The text after the code names the failed call.',
    status: 500,
  },
  ASSAY_INTERNAL: {
    summary: 'Assay has a bug: something happened that it does not handle.',
    hint: 'Please report it with the text after the code.',
    status: 500,
  },
} satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof catalogue;

export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = catalogue;

/** An error of the catalogue. `detail` says which thing failed, in words for a person. */
export class AssayError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown }) {
    super(`${code}: ${detail}`, options);
    this.name = 'AssayError';
    this.code = code;
    this.detail = detail;
  }

  get hint(): string {
    return this.entry.hint;
  }

  get entry(): ErrorEntry {
    return ERRORS[this.code];
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True for an error of the operating system with one of these codes (ENOENT, ENOSPC …). */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
  );
}
