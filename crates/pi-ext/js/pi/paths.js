// Paths of the program and its shells.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";

export const CONFIG_DIR_NAME = ".pi";

export function getAgentDir() {
  const chosen = process.env.PI_CODING_AGENT_DIR;
  if (!chosen) return join(homedir(), CONFIG_DIR_NAME, "agent");
  return chosen === "~" || chosen.startsWith("~/") ? join(homedir(), chosen.slice(1)) : chosen;
}
export function getPackageDir() {
  return process.env.PI_PACKAGE_DIR ?? dirname(process.execPath);
}
export function getDocsPath() {
  return join(getPackageDir(), "docs");
}
export function getExamplesPath() {
  return join(getPackageDir(), "examples");
}
export function getReadmePath() {
  return join(getPackageDir(), "README.md");
}

function onPath(name) {
  return (process.env.PATH ?? "").split(delimiter).map((directory) => join(directory, name)).find((file) => existsSync(file));
}

// Returns the shell for commands and its arguments.
export function getShellConfig(customShellPath) {
  if (customShellPath) {
    if (!existsSync(customShellPath)) throw new Error(`shell not found: ${customShellPath}`);
    return { shell: customShellPath, args: ["-c"] };
  }
  const bash = existsSync("/bin/bash") ? "/bin/bash" : onPath(process.platform === "win32" ? "bash.exe" : "bash");
  return { shell: bash ?? "sh", args: ["-c"] };
}
export function getPowerShellConfig() {
  const shell = onPath("pwsh") ?? onPath("pwsh.exe") ?? onPath("powershell.exe");
  if (!shell) throw new Error("PowerShell not found on PATH");
  return { shell, args: ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command"] };
}
