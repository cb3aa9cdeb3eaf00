// Implements `pi.exec`: runs a program without a shell.
import { spawn } from "node:child_process";

// Milliseconds between SIGTERM and SIGKILL.
const KILL_DELAY = 5000;

// Runs a program to completion. On timeout or abort it is sent SIGTERM, then SIGKILL.
export function exec(command, args, options = {}) {
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
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
    const end = (code) => {
      clearTimeout(timer);
      clearTimeout(lastResort);
      options.signal?.removeEventListener("abort", kill);
      resolve({ stdout, stderr, code, killed });
    };
    if (options.timeout > 0) timer = setTimeout(kill, options.timeout);
    if (options.signal?.aborted) kill();
    else options.signal?.addEventListener("abort", kill, { once: true });
    // Decoded by the stream, since a character may span two chunks.
    child.stdout?.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (stderr += text));
    child.on("error", () => end(1));
    child.on("close", (code) => end(code ?? 0));
  });
}
