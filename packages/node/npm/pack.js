// Packs everything that is published: this package, and a package with the binary for each platform.
//
//   node npm/pack.js OUT linux-x64=target/dist/pi darwin-arm64=…
//
// Publish the platform packages first: `npm publish OUT/*-linux-x64-*.tgz --access public`, and so on.

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const license = join(root, "../../LICENSE");

function pack(directory, out) {
  copyFileSync(license, join(directory, "LICENSE"));
  const flags = ["pack", "--silent", "--ignore-scripts", "--pack-destination", out];
  const { status, stdout, stderr } = spawnSync("npm", flags, { cwd: directory, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm pack failed in ${directory}: ${stderr}`);
  return join(out, stdout.trim().split("\n").at(-1));
}

/** Packs the package and those of `binaries`, an object from platforms to paths. Returns the archives. */
export function packAll(out, binaries) {
  const target = resolve(out);
  mkdirSync(target, { recursive: true });
  const staging = mkdtempSync(join(tmpdir(), "pi-pack-"));
  try {
    const archives = Object.entries(binaries).map(([platform, binary]) => {
      const source = join(root, "npm", platform, "package.json");
      if (!existsSync(source)) throw new Error(`no package for the platform ${platform}`);
      const directory = join(staging, platform);
      const name = platform.startsWith("win32") ? "pi.exe" : "pi";
      mkdirSync(join(directory, "bin"), { recursive: true });
      copyFileSync(source, join(directory, "package.json"));
      copyFileSync(binary, join(directory, "bin", name));
      chmodSync(join(directory, "bin", name), 0o755);
      return pack(directory, target);
    });
    const main = join(staging, "main");
    const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const name of [...files, "package.json", "README.md"]) {
      cpSync(join(root, name), join(main, name), { recursive: true });
    }
    return [...archives, pack(main, target)];
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, ...words] = process.argv.slice(2);
  if (!out || words.some((word) => !word.includes("="))) {
    console.error("usage: node npm/pack.js OUT PLATFORM=BINARY…");
    process.exit(2);
  }
  const binaries = Object.fromEntries(words.map((word) => word.split(/=(.*)/s, 2)));
  for (const archive of packAll(out, binaries)) console.log(archive);
}
