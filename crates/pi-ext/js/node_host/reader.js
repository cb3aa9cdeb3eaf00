// Reads what the program says, on a thread of its own, so that Node's main thread can wait for an answer without
// giving way to anything else. It ends Node when the program is gone.
const { readSync } = require("node:fs");
const { workerData } = require("node:worker_threads");

const INPUT = 0;
// What the main thread has to end by itself once the program is gone, in milliseconds.
const PATIENCE = 1000;
const { port, counter } = workerData;
const nothing = new Int32Array(new SharedArrayBuffer(4));

function post(line) {
  port.postMessage(line);
  Atomics.add(counter, 0, 1);
  Atomics.notify(counter, 0);
}

// Reads once; null at the end.
function read(buffer) {
  for (;;) {
    try {
      const size = readSync(INPUT, buffer);
      return size === 0 ? null : buffer.subarray(0, size);
    } catch (error) {
      if (error.code !== "EAGAIN") return null;
      // Somebody made the pipe one that does not wait.
      Atomics.wait(nothing, 0, 0, 5);
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
  // The buffer is used again.
  if (start < chunk.length) parts.push(Buffer.from(chunk.subarray(start)));
}
post("");
Atomics.wait(nothing, 0, 0, PATIENCE);
process.kill(process.pid, "SIGKILL");
