// Copies text to the clipboard with the system's clipboard program.
import { spawn } from "node:child_process";

const PROGRAMS = {
  darwin: [["pbcopy"]],
  win32: [["clip"]],
  linux: [["wl-copy"], ["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"], ["termux-clipboard-set"]],
};

function copyWith([program, ...args], text) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", reject);
    // Ignored, since the exit code is more informative than a write error.
    child.stdin.on("error", () => {});
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`${program} exited with code ${code}`))));
    child.stdin.end(text);
  });
}

export async function copyToClipboard(text) {
  let failure;
  for (const program of PROGRAMS[process.platform] ?? PROGRAMS.linux) {
    try {
      return await copyWith(program, text);
    } catch (error) {
      failure = error;
    }
  }
  throw new Error(`no clipboard program found; install wl-copy, xclip or xsel: ${failure?.message}`);
}
