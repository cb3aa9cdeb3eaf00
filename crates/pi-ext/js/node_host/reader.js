// Reads frames on a worker thread, so that the main thread can block on a response. Kills Node when the
// program has exited.
const { readSync } = require("node:fs");
const { workerData } = require("node:worker_threads");

// Milliseconds that the main thread has to exit after the input has ended.
const EXIT_GRACE = 1000;
const { port, counter, input } = workerData;
// Never notified; used to sleep.
const sleeper = new Int32Array(new SharedArrayBuffer(4));

function post(line) {
  port.postMessage(line);
  Atomics.add(counter, 0, 1);
  Atomics.notify(counter, 0);
}

// Reads a chunk. Returns null at the end of the stream.
function read(buffer) {
  for (;;) {
    try {
      const size = readSync(input, buffer);
      return size === 0 ? null : buffer.subarray(0, size);
    } catch (error) {
      if (error.code !== "EAGAIN") return null;
      // The pipe was set to non-blocking mode.
      Atomics.wait(sleeper, 0, 0, 5);
    }
  }
}

const buffer = Buffer.alloc(64 * 1024);
let parts = [];
for (let chunk = read(buffer); chunk !== null; chunk = read(buffer)) {
  let start = 0;
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
    parts.push(chunk.subarray(start, end));
    post(Buffer.concat(parts).toString());
    parts = [];
    start = end + 1;
  }
  // Copied, since the buffer is reused.
  if (start < chunk.length) parts.push(Buffer.from(chunk.subarray(start)));
}
post("");
Atomics.wait(sleeper, 0, 0, EXIT_GRACE);
process.kill(process.pid, "SIGKILL");
