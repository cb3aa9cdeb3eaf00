import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { platformPackage } from "../src/binary.js";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const manifest = JSON.parse(read("../package.json"));

test("the entry for the ACP registry starts this version of the package", () => {
  const entry = JSON.parse(read("../../../editors/acp-registry/pi/agent.json"));
  assert.match(entry.id, /^[a-z][a-z0-9-]*$/);
  assert.equal(entry.version, manifest.version);
  assert.deepEqual(entry.distribution, { npx: { package: `${manifest.name}@${manifest.version}`, args: ["acp"] } });
  const icon = read("../../../editors/acp-registry/pi/icon.svg");
  assert.match(icon, /width="16" height="16"/);
  assert.match(icon, /currentColor/);
});

test("every platform package has the version of the package and its own binary", () => {
  const entries = readdirSync(new URL("../npm", import.meta.url), { withFileTypes: true });
  const platforms = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
  const names = platforms.map((platform) => platformPackage(...platform.split("-")));
  assert.deepEqual(Object.keys(manifest.optionalDependencies).sort(), names);
  for (const platform of platforms) {
    const { name, version, os, cpu, files } = JSON.parse(read(`../npm/${platform}/package.json`));
    assert.equal(`${os}-${cpu}`, platform);
    assert.equal(name, platformPackage(os[0], cpu[0]));
    assert.equal(version, manifest.version);
    assert.equal(manifest.optionalDependencies[name], version);
    assert.deepEqual(files, [os[0] === "win32" ? "bin/pi.exe" : "bin/pi"]);
  }
  assert.ok(existsSync(new URL("../index.d.ts", import.meta.url)));
});

test("every name that can be imported has a type", async () => {
  const types = read("../index.d.ts");
  const missing = Object.keys(await import("../index.js")).filter((name) => !new RegExp(`export (declare )?(class|const|function) ${name}\\b`).test(types));
  assert.deepEqual(missing, []);
});
