// Directories and names that programs share with pi.

import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const CONFIG_DIR_NAME = ".pi";

/** Returns a path with `~` replaced by the home directory. */
export function expandHome(path) {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

/** Returns the directory with settings, credentials and sessions. */
export function getAgentDir() {
  const directory = process.env.PI_CODING_AGENT_DIR;
  return directory ? resolve(expandHome(directory)) : join(homedir(), CONFIG_DIR_NAME, "agent");
}

export function getPackageDir() {
  return dirname(dirname(fileURLToPath(import.meta.url)));
}

export function getReadmePath() {
  return join(getPackageDir(), "README.md");
}

/** Returns the directory in which pi keeps the sessions of a working directory. */
export function getDefaultSessionDir(cwd, agentDir = getAgentDir()) {
  const name = resolve(cwd).replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
  return join(agentDir, "sessions", `--${name}--`);
}
