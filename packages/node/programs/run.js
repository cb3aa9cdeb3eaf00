// Runs programs that embed the TypeScript pi on this package. They are installed from the registry into a directory
// (PI_NODE_PROGRAMS_DIR, or one in the user's cache); only the dependency is replaced.
//
//   PI_BINARY=target/debug/pi node packages/node/programs/run.js

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { call, startModel, text } from "../test/harness.js";

const NAMES = ["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"];
const home = homedir();
const cache = process.env.PI_NODE_PROGRAMS_DIR ?? join(home, ".cache/pi-node-programs");
const root = fileURLToPath(new URL("..", import.meta.url));

/** Installs a program and replaces its dependency with this package. Returns its directory; undefined without a registry. */
function install(name, version, further = {}, furtherFlags = []) {
  const directory = join(cache, name.replaceAll("/", "+"));
  const overrides = Object.fromEntries(NAMES.map((it) => [it, `file:${root}`]));
  mkdirSync(directory, { recursive: true });
  const dependencies = { [name]: version, ...further };
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, dependencies, overrides }));
  const program = join(directory, "node_modules", name);
  if (!existsSync(program)) {
    const flags = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--install-links=false", ...furtherFlags];
    const { status } = spawnSync("npm", flags, { cwd: directory, stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0 || !existsSync(program)) {
      console.log(`skipped: ${name}@${version} cannot be installed`);
      return undefined;
    }
  }
  return { directory, program };
}

/** A client of the Agent Client Protocol over stdin and stdout of a program. */
class AcpProgram {
  #pending = new Map();
  #lastId = 0;
  updates = [];

  constructor(command, args, options) {
    this.child = spawn(command, args, { ...options, stdio: ["pipe", "pipe", "inherit"] });
    let rest = "";
    this.child.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines.filter((it) => it.trim())) {
        const message = JSON.parse(line);
        if (message.method) this.updates.push(message.params?.update ?? {});
        else this.#pending.get(message.id)?.(message);
      }
    });
    this.child.on("exit", () => {
      for (const resolve of this.#pending.values()) resolve({ error: { message: "the program ended" } });
    });
  }

  async request(method, params) {
    this.#lastId += 1;
    const id = this.#lastId;
    const response = await new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
    assert.equal(response.error, undefined, JSON.stringify(response.error));
    return response.result;
  }
}

/** Drives an agent: a session, a text, a tool call; returns the updates. */
async function driveAcp(command, args, { environment = {}, stop } = {}) {
  const model = await startModel(text("Hel", "lo"), call("bash", { command: "echo tool-ran" }), text("done"));
  const runtime = mkdtempSync(join(tmpdir(), "pi-node-run-"));
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime, ...environment };
  const program = new AcpProgram(command, args, { cwd: model.cwd, env });
  try {
    await program.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await program.request("session/new", { cwd: model.cwd, mcpServers: [] });
    const prompt = (words) => program.request("session/prompt", { sessionId, prompt: [{ type: "text", text: words }] });
    assert.equal((await prompt("hi")).stopReason, "end_turn");
    assert.equal((await prompt("run")).stopReason, "end_turn");
    const chunks = program.updates.filter((it) => it.sessionUpdate === "agent_message_chunk").map((it) => it.content.text);
    // Some programs greet first.
    assert.match(chunks.join(""), /Hellodone$/);
    const updates = program.updates.filter((it) => it.toolCallId === "call_1");
    assert.equal(updates.at(-1).status, "completed");
    assert.match(JSON.stringify(updates), /tool-ran\\n/);
    assert.match(JSON.stringify(model.requests[2].messages.at(-1)), /tool-ran/);
  } finally {
    program.child.stdin.end();
    program.child.kill();
    if (stop) spawnSync(command, [...args, stop], { env, stdio: "ignore" });
    rmSync(runtime, { recursive: true, force: true });
    model.close();
  }
}

const programs = {
  async "@rivet-dev/agent-os-pi 0.1.1"(name, version) {
    const installed = install(name, version);
    if (!installed) return false;
    await driveAcp(process.execPath, [join(installed.program, "dist/adapter.js")]);
    return true;
  },
  async "@victor-software-house/pi-acp 0.17.1"(name, version) {
    const installed = install(name, version, { [`@oven/bun-${process.platform}-${process.arch}`]: "1" });
    if (!installed) return false;
    const bun = join(installed.directory, "node_modules/@oven", `bun-${process.platform}-${process.arch}`, "bin/bun");
    await driveAcp(bun, [join(installed.program, "dist/index.mjs")], { stop: "--daemon-stop" });
    return true;
  },
  async "pi-acp 0.0.34"(name, version) {
    const installed = install(name, version, { [NAMES[0]]: `file:${root}` });
    if (!installed) return false;
    const bin = join(installed.directory, "node_modules/.bin");
    const environment = { PATH: `${bin}:${process.env.PATH}`, PI_ACP_PI_COMMAND: join(bin, "pi") };
    await driveAcp(process.execPath, [join(installed.program, "dist/index.js")], { environment });
    return true;
  },
  async "pi-orchestrator 1.1.1"(name, version) {
    const installed = install(name, version, { [NAMES[1]]: `file:${root}` }, ["--legacy-peer-deps"]);
    if (!installed) return false;
    const { runSessionPrompt } = await import(pathToFileURL(join(installed.program, "dist/src/dispatch/session-runner.js")).href);
    const model = await startModel(call("bash", { command: "echo tool-ran" }), text("first"), text("second"));
    try {
      const sessionDir = join(model.cwd, "sessions");
      const options = { cwd: model.cwd, sessionDir, modelSpec: "mock/alpha", thinking: "low" };
      const first = await runSessionPrompt({ ...options, prompt: "one", sessionStrategy: "new" });
      assert.equal(first.output, "first");
      assert.equal(first.model, "mock/alpha");
      assert.equal(first.stats.toolCalls, 1);
      assert.match(JSON.stringify(model.requests[1].messages.at(-1)), /tool-ran/);
      const second = await runSessionPrompt({ ...options, prompt: "two", sessionPath: first.sessionFile });
      assert.equal(second.output, "second");
      assert.equal(second.sessionId, first.sessionId);
      assert.match(JSON.stringify(model.requests[2].messages), /first/);
    } finally {
      model.close();
    }
    return true;
  },
  async "@earendil-works/pi-coding-agent 1.5.0"(name, version) {
    return runExamples(name, version);
  },
};

/** Examples of the TypeScript pi for its SDK, with the number of requests that each makes. */
const EXAMPLES = {
  "01-minimal.ts": 1,
  "02-custom-model.ts": 1,
  "03-custom-prompt.ts": 2,
  "04-skills.ts": 0,
  "07-context-files.ts": 0,
  "08-prompt-templates.ts": 0,
  "09-api-keys-and-oauth.ts": 0,
  "10-settings.ts": 0,
  "11-sessions.ts": 0,
  "13-session-runtime.ts": 0,
};

/** Runs the examples of the TypeScript pi on this package. */
async function runExamples(name, version) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 6)) {
    console.log(`skipped: ${name}@${version} needs Node 22.6, which runs TypeScript`);
    return false;
  }
  const directory = join(cache, "examples");
  const sources = join(directory, "package/examples/sdk");
  mkdirSync(directory, { recursive: true });
  if (!existsSync(sources)) {
    const { status, stdout } = spawnSync("npm", ["pack", "--silent", `${name}@${version}`], { cwd: directory, encoding: "utf8" });
    const archive = stdout.trim().split("\n").at(-1);
    if (status !== 0 || spawnSync("tar", ["-xzf", archive], { cwd: directory }).status !== 0) {
      console.log(`skipped: ${name}@${version} cannot be downloaded`);
      return false;
    }
  }
  const run = join(directory, "run");
  const modules = join(run, "node_modules", name);
  rmSync(run, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  cpSync(root, modules, { recursive: true });
  writeFileSync(join(run, "package.json"), '{"type":"module"}');
  for (const [example, requests] of Object.entries(EXAMPLES)) {
    cpSync(join(sources, example), join(run, example));
    const model = await startModel(text("one"), text("two"));
    const child = spawn(process.execPath, ["--experimental-strip-types", "--no-warnings", example], { cwd: run, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.on("data", (data) => (stderr += data));
    const code = await new Promise((resolve) => child.on("exit", resolve));
    assert.equal(code, 0, `${example}: ${stderr}`);
    assert.equal(model.requests.length, requests, example);
    model.close();
  }
  return true;
}

let failed = 0;
const chosen = process.argv.slice(2);
for (const [label, run] of Object.entries(programs)) {
  if (chosen.length > 0 && !chosen.some((it) => label.includes(it))) continue;
  const [name, version] = label.split(" ");
  try {
    if (await run(name, version)) console.log(`ok: ${label}`);
  } catch (error) {
    failed += 1;
    console.log(`failed: ${label}: ${error.stack}`);
  }
}
process.exit(failed === 0 ? 0 : 1);
