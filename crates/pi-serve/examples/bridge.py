#!/usr/bin/env python3
"""Runs a client of the line protocol, such as those for Emacs and Neovim, on a session of `pi serve`.

    bridge.py SOCKET [ARGUMENTS...]

Configure it as the client's command in place of `pi`: it starts a session in the current directory and connects stdin and
stdout with its WebSocket, one message per line. The arguments that the client adds, such as `--mode rpc`, have no effect.
"""

import http.client
import json
import os
import socket
import sys
import threading

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Server(http.client.HTTPConnection):
    """A connection over a Unix socket."""

    def __init__(self, path):
        super().__init__("pi")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def start_session(path):
    server = Server(path)
    headers = {"X-Pi": "1", "Content-Type": "application/json"}
    server.request("POST", "/v1/sessions", json.dumps({"cwd": os.getcwd()}), headers)
    answer = json.load(server.getresponse())
    server.close()
    if "session" not in answer:
        sys.exit("cannot start a session: %s" % answer.get("detail"))
    return answer["session"]


def open_websocket(path, session):
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(path)
    # The key only protects proxies and browsers.
    head = ("GET /v1/sessions/%s/socket HTTP/1.1\r\nHost: pi\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    stream.sendall((head % session).encode())
    reader = stream.makefile("rb")
    status = reader.readline().decode().strip()
    if " 101 " not in status:
        sys.exit("cannot open a WebSocket: %s" % status)
    while reader.readline().strip():
        pass
    return stream, reader


class Messages:
    """The messages of a WebSocket."""

    def __init__(self, stream, reader):
        self.stream, self.reader = stream, reader
        self.lock = threading.Lock()

    def send(self, kind, data):
        length = len(data)
        if length < 126:
            size = bytes([0x80 | length])
        elif length < 1 << 16:
            size = bytes([0x80 | 126]) + length.to_bytes(2, "big")
        else:
            size = bytes([0x80 | 127]) + length.to_bytes(8, "big")
        # A mask of zeros leaves the data as it is.
        with self.lock:
            self.stream.sendall(bytes([0x80 | kind]) + size + bytes(4) + data)

    def frame(self):
        """Returns whether a frame is the last of its message, its kind and its data."""
        first, second = self.reader.read(2)
        length = second & 0x7F
        if length == 126:
            length = int.from_bytes(self.reader.read(2), "big")
        elif length == 127:
            length = int.from_bytes(self.reader.read(8), "big")
        return first >> 7, first & 0x0F, self.reader.read(length)

    def receive(self):
        """Returns the next message; `None` after the last one."""
        message = b""
        while True:
            try:
                is_last, kind, data = self.frame()
                if kind == PING:
                    self.send(PONG, data)
            except (ValueError, OSError):
                return None
            if kind == CLOSE:
                return None
            if kind not in (PING, PONG):
                message += data
                if is_last:
                    return message


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = os.path.expanduser(sys.argv[1])
    messages = Messages(*open_websocket(path, start_session(path)))

    def print_messages():
        while (message := messages.receive()) is not None:
            sys.stdout.buffer.write(message + b"\n")
            sys.stdout.buffer.flush()
        os._exit(0)

    printing = threading.Thread(target=print_messages, daemon=True)
    printing.start()
    for line in sys.stdin.buffer:
        messages.send(TEXT, line.rstrip(b"\r\n"))
    # The server sends what it still has to answer; after a close message it could not.
    messages.stream.shutdown(socket.SHUT_WR)
    printing.join()


if __name__ == "__main__":
    main()
