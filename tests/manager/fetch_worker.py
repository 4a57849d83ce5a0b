# SPDX-License-Identifier: Apache-2.0
#
# fetch_worker.py SOCKET: a fetcher that was taken over. It takes an order of morphd's, writes what it likes, and says that
# all went well (manager/job/job_message.h).

import array
import os
import socket
import struct
import sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1] + ".new")
listener.listen(4)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    connection, _ = listener.accept()
    text, ancillary, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(64 * 4))
    fds = array.array("i")
    fds.frombytes(ancillary[0][2])
    os.write(fds[0], b"not what was asked for")
    connection.send(struct.pack("<IiiId64s256s", 0x314A4D4D, 0, 0, 0, 0.1, b"\2\2" + bytes(62), b""))
    for fd in fds:
        os.close(fd)
    connection.close()
