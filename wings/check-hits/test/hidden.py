# Behaves in each run as the next of its arguments says. It counts its runs in System V shared memory, which no
# tracer shows: so its results are stale or unstable for a reason that Assay can't see.
#
#   hidden.py KEY OUTPUT BEHAVIOUR …    a text: writes it; !N: fails with N; +text: also appends to in.txt;
#                                       ~text: also prints "waiting" and waits for ever
#   hidden.py KEY drop                  forgets the count
import ctypes
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT, IPC_RMID = 0o1000, 0
memory = libc.shmget(int(sys.argv[1]), 16, 0o600 | IPC_CREAT)
if sys.argv[2] == "drop":
    sys.exit(libc.shmctl(memory, IPC_RMID, None))
count = ctypes.c_int.from_address(libc.shmat(memory, None, 0))
behaviours = sys.argv[3:]
behaviour = behaviours[min(count.value, len(behaviours) - 1)]
count.value += 1
print("ran", flush=True)
if behaviour.startswith("!"):
    sys.exit(int(behaviour[1:]))
if behaviour.startswith("+"):
    with open("in.txt", "a") as file:
        file.write("more\n")
with open(sys.argv[2], "w") as file:
    file.write(behaviour.lstrip("+~"))
if behaviour.startswith("~"):
    print("waiting", flush=True)
    time.sleep(600)
