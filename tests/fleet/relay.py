# SPDX-License-Identifier: Apache-2.0
"""relay.py LISTEN-DIRECTORY SERVER-DIRECTORY cut SEED | slow SECONDS - a way to PostgreSQL that is worse than it should be

cut: each connection ends without a word after a number of bytes, of both directions together, drawn at random from 300 to
3500; a line on standard output for each that was cut. slow: what a client says is passed on that much later."""
import os
import random
import selectors
import socket
import sys
import threading
import time

listen, there, mode, argument = sys.argv[1:5]
seed = random.Random(argument)
NAME = ".s.PGSQL.5432"


def carry(client, limit, wait):
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(os.path.join(there, NAME))
        both = selectors.DefaultSelector()
        both.register(client, selectors.EVENT_READ, server)
        both.register(server, selectors.EVENT_READ, client)
        while True:
            for key, _ in both.select():
                data = key.fileobj.recv(min(65536, limit) if limit else 65536)
                if not data:
                    return
                if key.fileobj is client:
                    time.sleep(wait)
                key.data.sendall(data)
                if limit:
                    limit -= len(data)
                    if limit == 0:
                        print("cut", flush=True)
                        return
    except OSError:
        pass
    finally:
        client.close()
        server.close()


listener = socket.socket(socket.AF_UNIX)
listener.bind(os.path.join(listen, NAME))
os.chmod(os.path.join(listen, NAME), 0o777)
listener.listen(16)
print("ready", flush=True)
while True:
    threading.Thread(target=carry, daemon=True, args=(
        listener.accept()[0], seed.randrange(300, 3500) if mode == "cut" else 0,
        float(argument) if mode == "slow" else 0)).start()
