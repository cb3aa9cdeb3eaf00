// Finds the pi binary: PI_BINARY, then the platform package, then PATH.

import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";

const PACKAGE = "@pi-native/coding-agent";
const require = createRequire(import.meta.url);

/** Returns the name of the package with the binary for a platform. */
export function platformPackage(platform = process.platform, arch = process.arch) {
  return `${PACKAGE}-${platform}-${arch}`;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Returns the path of the binary. Throws an error that states what to do if there is none. */
export function findBinary(env = process.env) {
  const name = process.platform === "win32" ? "pi.exe" : "pi";
  if (env.PI_BINARY) {
    if (isExecutable(env.PI_BINARY)) return env.PI_BINARY;
    throw new Error(`PI_BINARY is not an executable file: ${env.PI_BINARY}`);
  }
  try {
    const path = require.resolve(`${platformPackage()}/bin/${name}`);
    if (isExecutable(path)) return path;
  } catch {
    // The platform package is optional.
  }
  for (const directory of (env.PATH ?? "").split(delimiter)) {
    const path = join(directory, name);
    // The launcher of the TypeScript pi and of this package are scripts of a package manager.
    if (directory && !directory.includes("node_modules") && isExecutable(path)) return path;
  }
  throw new Error(
    `cannot find the pi binary for ${process.platform}-${process.arch}. Install ${platformPackage()}, ` +
      "install pi so that it is on PATH, or set PI_BINARY to its path.",
  );
}
