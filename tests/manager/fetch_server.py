# SPDX-License-Identifier: Apache-2.0
#
# fetch_server.py PORT-FILE SIDECAR OTHER: a debuginfod server that lies. The first part of a path says how; what it was asked
# stands in PORT-FILE.asked, a path a line. SIDECAR is the right one, OTHER is one of another program.

import http.server
import sys
import time

port_file, right, other = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        with open(port_file + ".asked", "a") as out:
            out.write(self.path + "\n")

    def start(self, status, headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def body(self, data):
        self.start(200, [("Content-Length", str(len(data)))])
        self.wfile.write(data)

    def lie(self, how):
        data = open(right, "rb").read()
        if how == "right":
            self.body(data)
        elif how == "garbage":
            self.body(b"\x00garbage\x1b[31m" * 999)
        elif how == "other":
            self.body(open(other, "rb").read())
        elif how == "longer":
            self.body(data + b"\0")
        elif how == "cut":
            self.start(200, [("Content-Length", str(len(data)))])
            self.wfile.write(data[: len(data) // 2])
        elif how == "large":
            self.start(200, [("Content-Length", str(1 << 50))])
        elif how == "endless":
            self.start(200, [])
            while True:
                self.wfile.write(b"x" * 65536)
        elif how == "headers":
            self.send_response(200)
            while True:
                self.send_header("X-More", "x" * 1000)
                self.flush_headers()
        elif how == "slow":
            self.start(200, [("Content-Length", str(len(data)))])
            for byte in data:
                self.wfile.write(bytes([byte]))
                time.sleep(0.2)
        elif how == "file":
            self.start(302, [("Location", "file://" + right)])
        elif how == "elsewhere":
            self.start(302, [("Location", self.path.replace("/elsewhere/", "/right/"))])
        elif how == "says":
            self.send_response(500, "\x1b]0;owned\x07")
            self.end_headers()
        else:
            self.start(404, [])

    def do_GET(self):
        try:
            self.lie(self.path.split("/")[1])
        except (BrokenPipeError, ConnectionResetError):
            pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w") as out:
    out.write(str(server.server_port))
__import__("os").rename(port_file + ".new", port_file)
server.serve_forever()
