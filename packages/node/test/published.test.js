// What is published works after `npm install`, without PI_BINARY and without pi on PATH.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import test from "node:test";
import { packAll } from "../npm/pack.js";

const platform = `${process.platform}-${process.arch}`;
const npm = spawnSync("npm", ["--version"]).status === 0;

test("the archives install and find their binary", { skip: process.platform === "win32" || !npm, timeout: 180_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "pi-published-"));
  try {
    // A script in place of the binary, which is large without optimizations.
    const script = join(directory, "pi");
    writeFileSync(script, `#!/bin/sh\nexec '${resolve(process.env.PI_BINARY)}' "$@"\n`);
    const [binary, main] = packAll(join(directory, "out"), { [platform]: script });
    const dependencies = {
      "@earendil-works/pi-coding-agent": `file:${main}`,
      [`@pi-native/coding-agent-${platform}`]: `file:${binary}`,
    };
    writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
    const program = `
      import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
      const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory() });
      console.log("messages", session.messages.length);
      session.dispose();`;
    writeFileSync(join(directory, "program.js"), program);
    const { PI_BINARY: _, ...rest } = process.env;
    const env = { ...rest, HOME: directory, PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, PI_OFFLINE: "1" };
    const run = (command, ...args) => {
      const ended = spawnSync(command, args, { cwd: directory, env, encoding: "utf8" });
      assert.equal(ended.status, 0, ended.stderr);
      return ended.stdout;
    };
    // The packages of other platforms are optional, and cannot be fetched offline.
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0");
    const installed = join(directory, "node_modules/@earendil-works/pi-coding-agent");
    for (const name of ["LICENSE", "README.md", "index.d.ts", "dist/cli.js"]) assert.ok(existsSync(join(installed, name)), name);
    assert.equal(run(process.execPath, "program.js"), "messages 0\n");
    const version = spawnSync(process.env.PI_BINARY, ["--version"], { encoding: "utf8" }).stdout;
    assert.equal(run("node_modules/.bin/pi", "--version"), version);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
