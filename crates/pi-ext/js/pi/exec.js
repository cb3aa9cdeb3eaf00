// Runs a program for an extension, without a shell.
import { spawn } from "node:child_process";

const PATIENCE = 5000;

// Runs a program to its end; it is asked to stop at the timeout, and made to five seconds later.
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
      lastResort = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
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
    // As text, since a character may stand on the border of two pieces.
    child.stdout?.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (stderr += text));
    child.on("error", () => end(1));
    child.on("close", (code) => end(code ?? 0));
  });
}
