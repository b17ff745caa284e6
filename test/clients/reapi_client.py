# A REAPI client that shares no code with Assay: Debian's grpcio and protobuf.
#
#   reapi_client.py DESCRIPTORS HOST:PORT INSTANCE SEED put|get|build
#
# DESCRIPTORS is what `protoc --descriptor_set_out` makes of core/proto. Nothing that protoc generates is imported: its module
# `build.bazel` is not found where Python's package `build` is installed.
#
# `put` stores a build's result as a client of REAPI does, `get` takes it back and compares every byte. `build` looks for the
# result of an action that SEED names, else makes another output than ever before and stores it. What was seen goes to
# standard output as JSON; anything unexpected is an exception. ASSAY_TOKEN is the token, if there is one.
import hashlib
import json
import os
import sys
import uuid

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

descriptors, target, instance, seed, verb = sys.argv[1:6]
pool = descriptor_pool.DescriptorPool()
with open(descriptors, "rb") as file:
    for one in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file:
        pool.Add(one)
factory = message_factory.MessageFactory(pool)


class Package:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, message):
        return factory.GetPrototype(pool.FindMessageTypeByName(f"{self.name}.{message}"))


bs = Package("google.bytestream")
re = Package("build.bazel.remote.execution.v2")

RE = "/build.bazel.remote.execution.v2."
CAS = RE + "ContentAddressableStorage/"
MESSAGE = 64 * 1024

channel = grpc.insecure_channel(target)
metadata_of_request = re.RequestMetadata(
    tool_details=re.ToolDetails(tool_name="python", tool_version="3"), target_id="//some:target", action_mnemonic="Test"
).SerializeToString()
METADATA = [("build.bazel.remote.execution.v2.requestmetadata-bin", metadata_of_request)]
if "ASSAY_TOKEN" in os.environ:
    METADATA.append(("authorization", f"Bearer {os.environ['ASSAY_TOKEN']}"))


def call(path, request, answer_type):
    method = channel.unary_unary(path, type(request).SerializeToString, answer_type.FromString)
    return method(request, timeout=30, metadata=METADATA)


def content(name, size):
    pieces = []
    for block in range(size // 32 + 1):
        pieces.append(hashlib.sha256(f"{seed} {name} {block}".encode()).digest())
    return b"".join(pieces)[:size]


def digest_of(data):
    return re.Digest(hash=hashlib.sha256(data).hexdigest(), size_bytes=len(data))


def missing(*digests):
    request = re.FindMissingBlobsRequest(instance_name=instance, blob_digests=digests)
    return call(CAS + "FindMissingBlobs", request, re.FindMissingBlobsResponse).missing_blob_digests


def batch_update(*blobs):
    requests = [getattr(re, "BatchUpdateBlobsRequest.Request")(digest=digest_of(data), data=data) for data in blobs]
    request = re.BatchUpdateBlobsRequest(instance_name=instance, requests=requests)
    answer = call(CAS + "BatchUpdateBlobs", request, re.BatchUpdateBlobsResponse)
    assert [one.status.code for one in answer.responses] == [0] * len(blobs), answer


def write(data):
    digest = digest_of(data)
    name = f"{instance}/uploads/{uuid.uuid4()}/blobs/{digest.hash}/{digest.size_bytes}"

    def requests():
        for at in range(0, len(data), MESSAGE):
            part = data[at : at + MESSAGE]
            last = at + len(part) == len(data)
            yield bs.WriteRequest(resource_name=name if at == 0 else "", write_offset=at, finish_write=last, data=part)

    method = channel.stream_unary(
        "/google.bytestream.ByteStream/Write", bs.WriteRequest.SerializeToString, bs.WriteResponse.FromString
    )
    answer = method(requests(), timeout=60)
    assert answer.committed_size == len(data), answer


def read(digest, offset=0, limit=0):
    method = channel.unary_stream(
        "/google.bytestream.ByteStream/Read", bs.ReadRequest.SerializeToString, bs.ReadResponse.FromString
    )
    name = f"{instance}/blobs/{digest.hash}/{digest.size_bytes}"
    request = bs.ReadRequest(resource_name=name, read_offset=offset, read_limit=limit)
    return b"".join(answer.data for answer in method(request, timeout=60))


def refused(expected, work):
    try:
        work()
    except grpc.RpcError as error:
        assert error.code() == expected, error
        return error.details()
    raise AssertionError(f"not refused with {expected}")


small = content("small", 1000)
stdout = content("stdout", 200)
large = content("large", 5_000_000)
folder = re.Directory(files=[re.FileNode(name="f", digest=digest_of(small), is_executable=True)]).SerializeToString()
root = re.Directory(directories=[re.DirectoryNode(name="d", digest=digest_of(folder))]).SerializeToString()
action = digest_of(content("action", 100))
result = re.ActionResult(
    output_files=[
        re.OutputFile(path="small", digest=digest_of(small)),
        re.OutputFile(path="large", digest=digest_of(large), is_executable=True),
    ],
    output_directories=[re.OutputDirectory(path="tree", root_directory_digest=digest_of(root))],
    stdout_digest=digest_of(stdout),
    exit_code=0,
)


def get_result(**more):
    request = re.GetActionResultRequest(instance_name=instance, action_digest=action, **more)
    return call(RE + "ActionCache/GetActionResult", request, re.ActionResult)


def put():
    refused(grpc.StatusCode.NOT_FOUND, get_result)
    blobs = [small, stdout, folder, root]
    assert len(missing(*[digest_of(blob) for blob in [*blobs, large, b""]])) == 5
    request = re.UpdateActionResultRequest(instance_name=instance, action_digest=action, action_result=result)
    update = lambda: call(RE + "ActionCache/UpdateActionResult", request, re.ActionResult)  # noqa: E731
    said = refused(grpc.StatusCode.FAILED_PRECONDITION, update)
    batch_update(*blobs)
    write(large)
    assert not missing(*[digest_of(blob) for blob in [*blobs, large]])
    assert update() == result
    return {"refusal": said}


def get():
    found = get_result(inline_stdout=True, inline_output_files=["small"])
    assert found.stdout_raw == stdout and found.output_files[0].contents == small
    origin = re.RequestMetadata()
    assert found.execution_metadata.auxiliary_metadata[0].Unpack(origin)
    plain = get_result()
    plain.ClearField("execution_metadata")
    assert plain == result
    assert read(digest_of(large)) == large
    assert read(digest_of(large), 4_000_000, 1000) == large[4_000_000:4_001_000]
    wanted = [digest_of(small), digest_of(b"gone"), digest_of(small)]
    request = re.BatchReadBlobsRequest(instance_name=instance, digests=wanted)
    answers = call(CAS + "BatchReadBlobs", request, re.BatchReadBlobsResponse).responses
    assert [(one.status.code, one.data) for one in answers] == [(0, small), (5, b""), (0, small)], answers
    tree = channel.unary_stream(
        CAS + "GetTree", re.GetTreeRequest.SerializeToString, re.GetTreeResponse.FromString
    )(re.GetTreeRequest(instance_name=instance, root_digest=digest_of(root)), timeout=30)
    folders = [one.SerializeToString() for page in tree for one in page.directories]
    assert folders == [root, folder], folders
    refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: read(re.Digest(hash="no hash", size_bytes=1)))
    refused(grpc.StatusCode.OUT_OF_RANGE, lambda: read(digest_of(small), 1001))
    return {"target": origin.target_id, "mnemonic": origin.action_mnemonic, "bytes": len(large)}


def build():
    update = lambda result: call(  # noqa: E731
        RE + "ActionCache/UpdateActionResult",
        re.UpdateActionResultRequest(instance_name=instance, action_digest=action, action_result=result),
        re.ActionResult,
    )
    try:
        found = get_result(inline_stdout=True)
        return {"said": "hit", "made": found.stdout_raw.decode()}
    except grpc.RpcError as error:
        said = f"{error.code().name}: {error.details()}"
    made = str(uuid.uuid4()).encode()
    try:
        batch_update(made)
        update(re.ActionResult(stdout_digest=digest_of(made)))
    except grpc.RpcError as error:
        said += f"; {error.code().name}: {error.details()}"
    return {"said": said, "made": made.decode()}


def may_update():
    capabilities = call(
        RE + "Capabilities/GetCapabilities", re.GetCapabilitiesRequest(instance_name=instance), re.ServerCapabilities
    )
    return capabilities.cache_capabilities.action_cache_update_capabilities.update_enabled


seen = {"put": put, "get": get, "build": build}[verb]()
if verb != "build":
    seen["updates"] = may_update()
print(json.dumps(seen))
