// Actions of Python.
import { type Case, python, sh } from './case.ts';

const CONNECT = 'import socket\ntry: socket.create_connection(("127.0.0.1", 9), 1)\nexcept OSError: pass\n';

export const PYTHON: readonly Case[] = [
  {
    name: 'connects to an address',
    command: python(CONNECT),
    finds: ['net 127.0.0.1:9'],
  },
  {
    name: 'sends a datagram',
    command: python(
      'import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ntry: s.sendto(b"x", ("192.0.2.1", 53))\nexcept OSError: pass',
    ),
    finds: ['net 192.0.2.1:53'],
  },
  {
    name: 'listens on all network addresses',
    command: python('import socket\ns = socket.socket()\ns.bind(("0.0.0.0", 0))\ns.listen()'),
    finds: ['net binds 0.0.0.0:*'],
  },
  {
    name: 'connects to a port at which nobody listens',
    command: python(
      'import socket\ns = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()\n' +
        'try: socket.create_connection(("127.0.0.1", 9), 1)\nexcept OSError: pass',
    ),
    finds: ['net 127.0.0.1:9'],
  },
  {
    name: 'opens an undeclared file',
    files: { 'conf.json': '{}' },
    outputs: ['out'],
    command: python('import json; json.dump(json.load(open("conf.json")), open("out", "w"))'),
    finds: ['read conf.json'],
  },
  {
    name: 'lists a folder',
    files: { 'data/a': '' },
    inputs: ['data/a'],
    outputs: ['out'],
    command: python('import os; open("out", "w").write(",".join(os.listdir("data")))'),
    finds: ['list data'],
  },
  {
    name: 'reads the mtime of a file',
    files: { data: '' },
    outputs: ['out'],
    command: python('import os; open("out", "w").write(str(os.stat("data").st_size))'),
    finds: ['probe data'],
  },
  {
    name: 'looks up the current user',
    outputs: ['out'],
    command: python('import os, pwd; open("out", "w").write(pwd.getpwuid(os.getuid()).pw_name)'),
    finds: ['read /etc/passwd'],
  },
  {
    name: 'imports an undeclared module and leaves its bytecode',
    files: { 'main.py': 'import helper\n', 'helper.py': 'x = 1\n' },
    inputs: ['main.py'],
    command: ['/usr/bin/python3', 'main.py'],
    finds: ['list .', 'read helper.py'],
  },
  {
    name: 'keeps a file open for reading and writing',
    files: { db: 'x' },
    outputs: ['db'],
    command: python('f = open("db", "r+b"); f.write(b"y")'),
    finds: ['stale-output db'],
  },
  {
    name: 'starts a child process that reads an undeclared file',
    outputs: ['out'],
    command: python(
      'import subprocess, sys\np = subprocess.Popen(["cat", "/etc/group"], stdout=subprocess.PIPE)\nopen("out", "wb").write(p.communicate()[0])',
    ),
    finds: ['read /etc/group'],
  },

  // ---- hermetic ----
  {
    name: 'reads declared inputs and writes declared outputs',
    files: { 'in.json': '[1, 2]' },
    inputs: ['in.json'],
    outputs: ['out/sum.txt'],
    command: python(
      'import json, os\nos.makedirs("out", exist_ok=True)\nopen("out/sum.txt", "w").write(str(sum(json.load(open("in.json")))))',
    ),
    finds: [],
  },
  {
    name: 'runs a script of declared modules',
    files: {
      'src/main.py': 'import helper\nopen("out", "w").write(str(helper.x))\n',
      'src/helper.py': 'x = 1\n',
    },
    inputs: ['src/**'],
    outputs: ['out'],
    env: { PYTHONDONTWRITEBYTECODE: '1' },
    command: ['/usr/bin/python3', 'src/main.py'],
    finds: [],
  },
  {
    name: 'uses temporary files, processes and locks',
    outputs: ['out'],
    command: python(
      'import tempfile, multiprocessing\nwith tempfile.TemporaryDirectory() as d: open(d + "/x", "w").close()\n' +
        'l = multiprocessing.Lock()\nopen("out", "w").write("done")',
    ),
    finds: [],
  },
  {
    name: 'connects to a server that it started',
    command: python(
      'import socket\ns = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()\n' +
        'c = socket.socket(); c.connect(s.getsockname()); s.accept()[0].sendall(b"x"); c.recv(1)',
    ),
    finds: [],
  },
  {
    name: 'connects to a server of its own that listens at every address',
    command: python(
      'import socket\nfor family, any, at in (socket.AF_INET, "0.0.0.0", "127.0.0.1"), (socket.AF_INET6, "::", "::ffff:127.0.0.1"):\n' +
        '  if family == socket.AF_INET6 and not socket.has_dualstack_ipv6(): continue\n' +
        '  s = socket.socket(family); s.bind((any, 0)); s.listen()\n' +
        '  c = socket.socket(family); c.connect((at, s.getsockname()[1])); s.accept()[0].sendall(b"x"); c.recv(1)',
    ),
    finds: [],
  },
  {
    name: 'tries its own port at another address first',
    command: python(
      'import socket\ns = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()\nport = s.getsockname()[1]\n' +
        'for family, at in (socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"):\n' +
        '  try: socket.socket(family).connect_ex((at, port))\n' +
        '  except OSError: pass',
    ),
    finds: [],
  },
  {
    name: 'waits for a server that it starts later, by path and by abstract name',
    command: python(
      'import os, socket, sys, time\nserver = "import socket, sys\\ns = socket.socket(socket.AF_UNIX); s.bind(eval(sys.argv[1])); s.listen(); s.accept()"\n' +
        'for name in "own.socket", "\\0assay-corpus-%d" % os.getpid():\n' +
        '  c = socket.socket(socket.AF_UNIX)\n' +
        '  assert c.connect_ex(name) != 0\n' +
        '  child = os.spawnv(os.P_NOWAIT, sys.executable, ["python3", "-I", "-c", server, repr(name)])\n' +
        '  while c.connect_ex(name) != 0: time.sleep(0.02)\n' +
        '  os.waitpid(child, 0)\n' +
        'os.unlink("own.socket")',
    ),
    finds: [],
  },
  {
    name: 'sends datagrams to itself',
    command: python(
      'import socket\na, b = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab"]\n' +
        'for s in a, b: s.bind(("127.0.0.1", 0))\n' +
        'a.sendto(b"x", b.getsockname()); b.sendto(b"y", b.recvfrom(1)[1]); a.recv(1)',
    ),
    finds: [],
  },
  {
    name: 'unpacks an archive that it made',
    files: { 'in.txt': 'x' },
    inputs: ['in.txt'],
    outputs: ['out'],
    command: sh(
      'mkdir out && tar --numeric-owner -cf "$TMPDIR/a.tar" in.txt && tar -xf "$TMPDIR/a.tar" -C out --numeric-owner --no-same-owner',
    ),
    finds: [],
  },
  {
    name: 'imports from the standard library, after searching the working folder',
    files: { in: '{}' },
    inputs: ['in'],
    outputs: ['out'],
    command: ['/usr/bin/python3', '-c', 'import json\nopen("out", "w").write(str(json.load(open("in"))))'],
    finds: [],
  },
  {
    name: 'imports from the standard library beside unrelated files',
    files: {
      'tools/gen.py': 'import json, re\nopen("out", "w").write("x")\n',
      'tools/README': '',
      LICENSE: '',
    },
    inputs: ['tools/gen.py'],
    outputs: ['out'],
    command: ['/usr/bin/python3', 'tools/gen.py'],
    finds: [],
  },
  {
    name: 'runs a module of a package whose files are declared one by one',
    files: { 'pkg/__init__.py': '', 'pkg/main.py': 'from . import other\n', 'pkg/other.py': 'x = 1\n' },
    inputs: ['pkg/__init__.py', 'pkg/main.py', 'pkg/other.py'],
    env: { PYTHONDONTWRITEBYTECODE: '1' },
    command: ['/usr/bin/python3', '-m', 'pkg.main'],
    finds: [],
  },
  {
    name: 'lists the working folder explicitly after a module search there',
    files: { in: '{}' },
    inputs: ['in'],
    outputs: ['out'],
    command: ['/usr/bin/python3', '-c', 'import glob\nopen("out", "w").write(str(glob.glob("*")))'],
    finds: ['list .'],
  },
  {
    name: 'lists the working folder explicitly',
    files: { in: '{}' },
    inputs: ['in'],
    outputs: ['out'],
    command: ['/usr/bin/python3', '-c', 'import os\nopen("out", "w").write(str(os.listdir(".")))'],
    finds: ['list .'],
  },
];
