import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findBinary, platformPackage } from "../src/binary.js";
import { startModel } from "./harness.js";

const index = fileURLToPath(new URL("../index.js", import.meta.url));

test("a program that forgets to dispose a session still ends", async (t) => {
  const model = await startModel();
  t.after(() => model.close());
  const program = `
    const { createAgentSession, SessionManager } = await import(${JSON.stringify(index)});
    const { session } = await createAgentSession({ cwd: ${JSON.stringify(model.cwd)}, sessionManager: SessionManager.inMemory() });
    console.log(session.sessionId.length);`;
  const result = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8", timeout: 30_000 });
  assert.equal(result.stdout, "36\n", result.stderr);
  assert.equal(result.status, 0);
});

test("the launchers start the binary", () => {
  for (const path of ["../bin/pi.js", "../dist/cli.js"]) {
    const script = fileURLToPath(new URL(path, import.meta.url));
    const result = spawnSync(process.execPath, [script, "--version"], { encoding: "utf8" });
    assert.match(result.stdout, /^\d+\.\d+\.\d+/);
  }
});

test("a missing binary is an error that states what to do", () => {
  assert.throws(() => findBinary({ PI_BINARY: "/does/not/exist" }), /PI_BINARY/);
  assert.throws(() => findBinary({ PATH: "" }), /Install .*set PI_BINARY/);
  assert.equal(platformPackage("linux", "x64"), "@pi-native/coding-agent-linux-x64");
});
