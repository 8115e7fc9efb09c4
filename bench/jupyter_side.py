"""ipykernel through jupyter_client, run by the Python that has them: JSON lines in (what to measure),
JSON lines out (milliseconds, or bytes of memory)."""

import json
import sys
import time

from jupyter_client.manager import KernelManager

manager = client = None


def finish(number):
    """Until the reply is there and the kernel idle again; the bytes of text that came."""
    size, replied = 0, False
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != number:
            continue
        if message["msg_type"] == "stream":
            size += len(message["content"]["text"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    while not replied:
        reply = client.get_shell_msg(timeout=60)
        replied = reply["parent_header"].get("msg_id") == number
    return size


def start():
    """Until the first reply; what is said on the other channel may be missed so early."""
    global manager, client
    manager = KernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels(stdin=False, hb=False)
    number = client.execute("1+1")
    while client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != number:
        pass


def stop():
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def interrupt():
    number = client.execute("while True: pass")
    time.sleep(0.2)
    begin = time.perf_counter()
    manager.interrupt_kernel()
    finish(number)
    return begin


def run(code):
    return finish(client.execute(code))


def measure(job):
    begin = time.perf_counter()
    if job["do"] == "start":
        start()
    elif job["do"] == "stop":
        stop()
    elif job["do"] == "interrupt":
        begin = interrupt()
    elif job["do"] == "ready":
        client.wait_for_ready(timeout=60)
    elif job["do"] == "pid":
        return manager.provisioner.pid
    else:
        size = run(job["code"])
        if size < job.get("bytes", 0):
            raise SystemExit(f"only {size} bytes came")
    return (time.perf_counter() - begin) * 1000


for line in sys.stdin:
    print(json.dumps(measure(json.loads(line))), flush=True)
