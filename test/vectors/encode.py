"""An encoder of Assay's keys that shares no line with Assay's own.

    encode.py DESCRIPTORS < assay-key-N.txt

DESCRIPTORS is what `protoc --descriptor_set_out` makes of core/proto/reapi.proto. Prints the vector file again with
every "=" line computed anew by Python's protobuf, so that a file is right when it comes out as it went in.
"""
import hashlib
import json
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "build.bazel.remote.execution.v2."


def load_messages(path):
    with open(path, "rb") as file:
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return lambda name: factory.GetPrototype(pool.FindMessageTypeByName(PACKAGE + name))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def set_digest(field, data):
    field.hash = sha256(data)
    field.size_bytes = len(data)


def hexadecimal(data):
    return data.hex() or "-"


def utf8(text):
    return text.encode("utf-8")


class Folder:
    def __init__(self):
        self.files, self.links, self.folders = {}, {}, {}

    def below(self, path):
        folder = self
        for name in filter(None, path.split("/")):
            folder = folder.folders.setdefault(name, Folder())
        return folder


def build_folder(case):
    root = Folder()
    for keyword, values in case:
        path = values[0] if values else ""
        parent, _, name = path.rpartition("/")
        if keyword in ("file", "executable"):
            root.below(parent).files[name] = (utf8(values[1]), keyword == "executable")
        elif keyword == "symlink":
            root.below(parent).links[name] = values[1]
        elif keyword == "folder":
            root.below(path)
    return root


def encode_folder(message, folder, path, keep):
    """The Directory message of a folder; `keep` gets each one with its path, children first."""
    directory = message("Directory")()
    for name in sorted(folder.files, key=utf8):
        content, executable = folder.files[name]
        node = directory.files.add(name=name, is_executable=executable)
        set_digest(node.digest, content)
    for name in sorted(folder.folders, key=utf8):
        child = encode_folder(message, folder.folders[name], f"{path}/{name}" if path else name, keep)
        node = directory.directories.add(name=name)
        set_digest(node.digest, child.SerializeToString(deterministic=True))
    for name in sorted(folder.links, key=utf8):
        directory.symlinks.add(name=name, target=folder.links[name])
    keep(path, directory)
    return directory


def encode_tree(message, folder):
    children = []

    def keep(path, directory):
        if path and directory not in children:
            children.append(directory)

    tree = message("Tree")()
    tree.root.CopyFrom(encode_folder(message, folder, "", keep))
    tree.children.extend(children)
    return tree.SerializeToString(deterministic=True)


def relative(base, path):
    base, path = ([part for part in text.split("/") if part] for text in (base, path))
    while base and path and base[0] == path[0]:
        base, path = base[1:], path[1:]
    return "/".join([".."] * len(base) + path)


def values_of(case, keyword):
    return [values for name, values in case if name == keyword]


def add_pairs(field, pairs):
    for name, value in sorted(pairs, key=lambda pair: (utf8(pair[0]), utf8(pair[1]))):
        field.add(name=name, value=value)


def encode_command(message, case):
    folder = ([values[0] for values in values_of(case, "cwd")] or [""])[0]
    command = message("Command")()
    command.arguments.extend(values[0] for values in values_of(case, "argument"))
    add_pairs(command.environment_variables, values_of(case, "env"))
    command.working_directory = folder
    outputs = {relative(folder, values[0]) for values in values_of(case, "output")}
    command.output_paths.extend(sorted(outputs, key=utf8))
    return command.SerializeToString(deterministic=True)


def encode_action(message, case, salt, command, root):
    action = message("Action")()
    set_digest(action.command_digest, command)
    set_digest(action.input_root_digest, root)
    action.salt = utf8(salt)
    action.platform.SetInParent()
    add_pairs(action.platform.properties, values_of(case, "platform"))
    return action.SerializeToString(deterministic=True)


def expectations(message, case, salt):
    folder = build_folder(case)
    directories = {}
    encode_folder(message, folder, "", lambda path, directory: directories.update({path: directory}))
    encoded = {path: item.SerializeToString(deterministic=True) for path, item in directories.items()}
    for path in sorted(encoded, key=utf8):
        yield f"= directory {json.dumps(path, ensure_ascii=False)} {hexadecimal(encoded[path])}"
    yield f"= tree {hexadecimal(encode_tree(message, folder))}"
    command = encode_command(message, case)
    yield f"= command {hexadecimal(command)}"
    action = encode_action(message, case, salt, command, encoded[""])
    yield f"= action {hexadecimal(action)}"
    yield f"= key {sha256(action)}/{len(action)}"


def main():
    message = load_messages(sys.argv[1])
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    salt, case = None, []
    for line in sys.stdin.read().split("\n")[:-1]:
        keyword, _, rest = line.partition(" ")
        if keyword == "=":
            continue
        if keyword == "end":
            print("\n".join(expectations(message, case, salt)))
            case = []
        elif keyword == "version":
            salt = json.loads(rest)
        elif keyword not in ("", "#", "case"):
            case.append((keyword, json.loads(f"[{rest}]")))
        print(line)


main()
