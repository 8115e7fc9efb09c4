"""A container engine in miniature, for exec prefixes: what it runs is the engine's child and not the
client's, gets the client's standard descriptors, not its environment and not its signals, and
outlives it.

    scripted_engine.py serve SOCKET          the engine; prints "ready"
    scripted_engine.py exec SOCKET PROGRAM [ARGUMENT...]
"""

import array
import json
import os
import socket
import subprocess
import sys
import threading


def receive(connection):
    descriptors = array.array("i")
    size = socket.CMSG_SPACE(3 * descriptors.itemsize)
    data, ancillary, _, _ = connection.recvmsg(1 << 20, size)
    for _, _, content in ancillary:
        descriptors.frombytes(content)
    return json.loads(data), list(descriptors)


def run(connection):
    argv, descriptors = receive(connection)
    env = {name: os.environ[name] for name in ("PATH", "HOME", "WERKBANK_TEST_ID")}
    child = subprocess.Popen(
        argv,
        stdin=descriptors[0],
        stdout=descriptors[1],
        stderr=descriptors[2],
        env=env,
        start_new_session=True,
    )
    for descriptor in descriptors:
        os.close(descriptor)
    status = child.wait()
    try:
        connection.sendall(bytes([status if status >= 0 else 128 - status]))
    except OSError:
        pass
    connection.close()


def serve(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=run, args=(connection,), daemon=True).start()


def exec_in(path, argv):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(path)
    connection.sendmsg(
        [json.dumps(argv).encode()],
        [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))],
    )
    # The engine's child has them now.
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    os._exit(connection.recv(1)[0])


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        exec_in(sys.argv[2], sys.argv[3:])
