// Puts text into the clipboard, through the program that the system has for it.
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
    // How it ends tells more than that it stopped reading.
    child.stdin.on("error", () => {});
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))));
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
  throw new Error(`no program to fill the clipboard is there (wl-copy, xclip, xsel): ${failure?.message}`);
}
