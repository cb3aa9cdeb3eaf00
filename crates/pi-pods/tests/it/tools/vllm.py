#!/usr/bin/python3
"""A server that answers like vLLM."""
import http.server
import json
import os
import sys

arguments = sys.argv[1:]
names = ["CUDA_VISIBLE_DEVICES", "VLLM_API_KEY", "HF_TOKEN", "HF_HOME"]
record = {"arguments": arguments, "variables": {name: os.environ.get(name) for name in names}}
with open("@FAKE@/vllm.json", "w") as file:
    json.dump(record, file)
if "memory" in arguments[1]:
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB", flush=True)
    print("RuntimeError: Engine core initialization failed", flush=True)
    sys.exit(1)
port = int(arguments[arguments.index("--port") + 1])
served = arguments[arguments.index("--served-model-name") + 1]


class Handler(http.server.BaseHTTPRequestHandler):
    def reply(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_known(self):
        if self.headers.get("authorization") == "Bearer " + os.environ["VLLM_API_KEY"]:
            return True
        self.reply(401, "application/json", '{"error": {"message": "Unauthorized"}}')
        return False

    def do_GET(self):
        if self.path == "/health":
            self.reply(200, "text/plain", "")
        elif self.is_known():
            models = {"data": [{"id": served, "max_model_len": 40960}]}
            self.reply(200, "application/json", json.dumps(models))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.is_known():
            return
        if request["model"] != served:
            self.reply(404, "application/json", '{"error": {"message": "no such model"}}')
            return
        chunks = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello from the pod."}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        lines = ["data: " + json.dumps({"id": "c1", "model": served, **chunk}) for chunk in chunks]
        self.reply(200, "text/event-stream", "\n\n".join(lines + ["data: [DONE]", ""]))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Logs nothing: health checks close the connection before the end of the response."""


server = Server(("127.0.0.1", port), Handler)
print("\x1b]52;c;aGFja2Vk\x07\x1b[31mhostile\x1b[0m " + "x" * 100000, flush=True)
print("INFO:     Application startup complete.", flush=True)
server.serve_forever()
