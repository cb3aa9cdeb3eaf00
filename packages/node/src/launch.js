// Starts the binary with the terminal of this process.

import { spawn } from "node:child_process";
import { findBinary } from "./binary.js";

/** Runs pi with arguments and exits like it. */
export function main(args = process.argv.slice(2)) {
  const child = spawn(findBinary(), args, { stdio: "inherit" });
  const forward = (signal) => child.kill(signal);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143);
      resolve();
    });
  });
}
