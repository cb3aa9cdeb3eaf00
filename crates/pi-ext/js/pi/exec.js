// Implements `pi.exec`: runs a program without a shell.
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

// Milliseconds between SIGTERM and SIGKILL.
const KILL_DELAY = 5000;
// Bytes of both streams together that are kept by default.
const DEFAULT_MAX_BUFFER = 256 * 1024 * 1024;
// Characters that a string may have.
const LARGEST_MAX_BUFFER = 536870888;

function checkMaxBuffer(maxBuffer) {
  if (Number.isInteger(maxBuffer) && maxBuffer >= 0 && maxBuffer <= LARGEST_MAX_BUFFER) return;
  throw new RangeError(`maxBuffer must be a whole number of bytes from 0 to ${LARGEST_MAX_BUFFER}`);
}

// Runs a program to completion. On timeout, abort or too much output it is sent SIGTERM, then SIGKILL.
export async function exec(command, args, options = {}) {
  const maxBuffer = options.maxBuffer ?? DEFAULT_MAX_BUFFER;
  checkMaxBuffer(maxBuffer);
  return new Promise((resolve) => {
    const text = { stdout: "", stderr: "" };
    // A character may span two chunks.
    const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
    let bytes = 0;
    let truncated = false;
    let killed = false;
    let timer;
    let lastResort;
    const child = spawn(command, args ?? [], { cwd: options.cwd, stdio: ["ignore", "pipe", "pipe"] });
    const kill = () => {
      if (killed) return;
      killed = true;
      child.kill("SIGTERM");
      lastResort = setTimeout(() => child.kill("SIGKILL"), KILL_DELAY);
    };
    const receive = (stream, data) => {
      if (truncated) return;
      const room = maxBuffer - bytes;
      if (data.length > room) {
        truncated = true;
        kill();
      }
      const kept = truncated ? data.subarray(0, room) : data;
      bytes += kept.length;
      text[stream] += decoders[stream].write(kept);
    };
    const end = (code) => {
      clearTimeout(timer);
      clearTimeout(lastResort);
      options.signal?.removeEventListener("abort", kill);
      // A character that the limit cut in half is dropped.
      if (!truncated) for (const stream of ["stdout", "stderr"]) text[stream] += decoders[stream].end();
      resolve({ ...text, code: truncated && code === 0 ? 1 : code, killed, truncated });
    };
    if (options.timeout > 0) timer = setTimeout(kill, options.timeout);
    if (options.signal?.aborted) kill();
    else options.signal?.addEventListener("abort", kill, { once: true });
    child.stdout?.on("data", (data) => receive("stdout", data));
    child.stderr?.on("data", (data) => receive("stderr", data));
    child.on("error", (error) => {
      text.stderr ||= error.message;
      end(1);
    });
    child.on("close", (code) => end(code ?? 0));
  });
}
