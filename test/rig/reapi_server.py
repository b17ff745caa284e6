"""A cache that speaks the Remote Execution API through grpcio, in memory, and shares no line with Assay.

    reapi_server.py DESCRIPTORS [FAULT]

DESCRIPTORS is what `protoc --descriptor_set_out` makes of core/proto. The first line on standard output is the port, each
line after it a call: its name, and what is worth knowing. FAULT makes it ill in one of the ways below.
"""
import hashlib
import sys
import threading
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

REAPI = "build.bazel.remote.execution.v2."
FAULT = sys.argv[2] if len(sys.argv) > 2 else "none"
PIECE = 64 * 1024

with open(sys.argv[1], "rb") as file:
    descriptors = descriptor_pb2.FileDescriptorSet.FromString(file.read())
pool = descriptor_pool.DescriptorPool()
for file in descriptors.file:
    pool.Add(file)
factory = message_factory.MessageFactory(pool)


def message(name):
    return factory.GetPrototype(pool.FindMessageTypeByName(name))


def reapi(name):
    return message(REAPI + name)


blobs = {hashlib.sha256(b"").hexdigest(): b""}
results = {}
uploads = {}
breaks = {"left": 6}
lock = threading.Lock()


def log(*words):
    with lock:
        print(*words, flush=True)


def fine(data, digest):
    return hashlib.sha256(data).hexdigest() == digest.hash and len(data) == digest.size_bytes


def spoilt(data):
    if FAULT == "flip" and data:
        return data[:-1] + bytes([data[-1] ^ 1])
    return {"half": data[: len(data) // 2], "double": data + data, "nothing": b""}.get(FAULT, data)


def get_capabilities(request, context):
    answer = reapi("ServerCapabilities")()
    cache = answer.cache_capabilities
    if FAULT != "no-sha256":
        cache.digest_functions.append(1)
    cache.action_cache_update_capabilities.update_enabled = FAULT != "read-only"
    cache.max_batch_total_size_bytes = 1024 * 1024
    return answer


def get_action_result(request, context):
    result = results.get((request.instance_name, request.action_digest.hash))
    if result is None:
        context.abort(grpc.StatusCode.NOT_FOUND, "no such result")
    return result


def update_action_result(request, context):
    if FAULT == "full":
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "disk full")
    results[(request.instance_name, request.action_digest.hash)] = request.action_result
    return request.action_result


def find_missing(request, context):
    log("asked", len(request.blob_digests))
    answer = reapi("FindMissingBlobsResponse")()
    answer.missing_blob_digests.extend(d for d in request.blob_digests if d.hash not in blobs)
    return answer


def batch_update(request, context):
    log("batch-update", len(request.requests))
    answer = reapi("BatchUpdateBlobsResponse")()
    for one in request.requests:
        entry = answer.responses.add(digest=one.digest)
        if FAULT == "full":
            entry.status.code = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        elif not fine(one.data, one.digest):
            entry.status.code = grpc.StatusCode.INVALID_ARGUMENT.value[0]
        else:
            blobs[one.digest.hash] = one.data
    return answer


def batch_read(request, context):
    log("batch-read", len(request.digests))
    answer = reapi("BatchReadBlobsResponse")()
    for digest in request.digests:
        entry = answer.responses.add(digest=digest)
        data = blobs.get(digest.hash)
        if data is None or FAULT == "forgets":
            entry.status.code = grpc.StatusCode.NOT_FOUND.value[0]
        else:
            entry.data = spoilt(data)
    return answer


def read(request, context):
    log("read")
    data = blobs.get(request.resource_name.split("/")[-2])
    if data is None or FAULT == "forgets":
        context.abort(grpc.StatusCode.NOT_FOUND, "no such blob")
    data = spoilt(data)[request.read_offset :]
    for at in range(0, len(data), PIECE):
        yield message("google.bytestream.ReadResponse")(data=data[at : at + PIECE])


def write(requests, context):
    name, kept = None, None
    for request in requests:
        if name is None:
            name = request.resource_name
            kept = uploads.setdefault(name, bytearray())
            log("write", request.write_offset)
            if FAULT == "full":
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "disk full")
        if request.write_offset != len(kept):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not where the upload stands")
        kept.extend(request.data)
        if FAULT == "breaks" and breaks["left"] > 0 and not request.finish_write:
            breaks["left"] -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "broken on purpose")
        if request.finish_write:
            digest, size = name.split("/")[-2:]
            data = bytes(kept)
            if hashlib.sha256(data).hexdigest() != digest or len(data) != int(size):
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not what was announced")
            blobs[digest] = data
    return message("google.bytestream.WriteResponse")(committed_size=len(kept))


def query_write_status(request, context):
    kept = uploads.get(request.resource_name)
    if kept is None:
        context.abort(grpc.StatusCode.NOT_FOUND, "no such upload")
    return message("google.bytestream.QueryWriteStatusResponse")(
        committed_size=len(kept), complete=request.resource_name.split("/")[-2] in blobs
    )


def ill(behaviour):
    """The whole server does one thing, whatever it is asked."""

    def answer(request, context):
        if FAULT == "never":
            threading.Event().wait(20)
        if FAULT == "nonsense":
            return b"\xff\xff\xffnonsense"
        context.abort(getattr(grpc.StatusCode, FAULT.upper()), "on purpose")

    return answer if FAULT in ("never", "nonsense", "unavailable", "unauthenticated", "internal") else behaviour


def encode(answer):
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def unary(request, behaviour):
    return grpc.unary_unary_rpc_method_handler(ill(behaviour), request.FromString, encode)


def stream(name):
    return message("google.bytestream." + name)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
server.add_generic_rpc_handlers(
    (
        grpc.method_handlers_generic_handler(
            REAPI + "Capabilities", {"GetCapabilities": unary(reapi("GetCapabilitiesRequest"), get_capabilities)}
        ),
        grpc.method_handlers_generic_handler(
            REAPI + "ActionCache",
            {
                "GetActionResult": unary(reapi("GetActionResultRequest"), get_action_result),
                "UpdateActionResult": unary(reapi("UpdateActionResultRequest"), update_action_result),
            },
        ),
        grpc.method_handlers_generic_handler(
            REAPI + "ContentAddressableStorage",
            {
                "FindMissingBlobs": unary(reapi("FindMissingBlobsRequest"), find_missing),
                "BatchUpdateBlobs": unary(reapi("BatchUpdateBlobsRequest"), batch_update),
                "BatchReadBlobs": unary(reapi("BatchReadBlobsRequest"), batch_read),
            },
        ),
        grpc.method_handlers_generic_handler(
            "google.bytestream.ByteStream",
            {
                "Read": grpc.unary_stream_rpc_method_handler(read, stream("ReadRequest").FromString, encode),
                "Write": grpc.stream_unary_rpc_method_handler(write, stream("WriteRequest").FromString, encode),
                "QueryWriteStatus": unary(stream("QueryWriteStatusRequest"), query_write_status),
            },
        ),
    )
)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
log(port)
server.wait_for_termination()
