// child_process.
import { processInfo } from "pi:native";
import { callSync, start } from "pi:operations";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const isWindows = processInfo().platform === "win32";
const DEFAULT_MAX_BUFFER = 1024 * 1024;

function invalid(name, expected) {
  return Object.assign(new TypeError(`The "${name}" argument must be ${expected}`), { code: "ERR_INVALID_ARG_TYPE" });
}

// Normalizes `stdio` to three entries, each a word or a file descriptor.
function streamsOf(stdio, fallback = "pipe") {
  const list = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
  return [0, 1, 2].map((index) => {
    const value = list[index] ?? fallback;
    if (value === "inherit" || value === index || value === globalThis.process?.stdin || value === globalThis.process?.stdout || value === globalThis.process?.stderr) return "inherit";
    const descriptor = typeof value === "number" ? value : value?.fd;
    if (typeof descriptor === "number") return { file: descriptor };
    return value === "ignore" ? "ignore" : "pipe";
  });
}

// Options of Node that take a value, and those that do not exist for pi.
const NODE_VALUES = new Set(["--import", "--require", "--loader", "--experimental-loader", "--conditions", "--env-file"]);
const isNodeFlag = (text) => /^--(no-warnings|experimental-|enable-source-maps|max-old-space-size|input-type|trace-|disable-warning|expose-gc|stack-|inspect|preserve-symlinks|import=|require=|loader=|conditions=|env-file=)/.test(text);
const isScript = (text) => /\.[cm]?[jt]sx?$/.test(text) && callSync("fs", "exists", { path: resolve(globalThis.process.cwd(), text) });

// Returns the script that arguments for Node run, or undefined if they are arguments of pi.
function scriptOf(list) {
  let index = 0;
  while (NODE_VALUES.has(list[index]) || isNodeFlag(list[index] ?? "")) index += NODE_VALUES.has(list[index]) ? 2 : 1;
  const [first = "", code = ""] = list.slice(index);
  if (first === "--eval" || (first === "-e" && /[(;={]/.test(code))) return "--eval";
  return isScript(first) ? first : undefined;
}

// `process.execPath` is this program, which runs no scripts: Node does. As its own script, it is pi.
function programOf(file, list) {
  const { execPath } = processInfo();
  if (file !== execPath) return [file, list];
  if (list[0] === execPath) return [file, list.slice(1)];
  return scriptOf(list) === undefined ? [file, list] : ["node", list];
}

// Returns the error of a program that cannot be started, in the words of Node.
function spawnFailure(error, name, file, list, requested) {
  if (typeof error.errno !== "number") return error;
  const syscall = `${name} ${file}`;
  const isScript = file === "node" && requested !== file && error.code === "ENOENT";
  const hint = isScript ? `: pi runs no scripts; install Node to run ${scriptOf(list)}` : "";
  const message = { value: `${syscall} ${error.code}${hint}`, configurable: true, writable: true };
  return Object.assign(Object.defineProperty(error, "message", message), { syscall, path: file, spawnargs: list });
}

// Converts the common arguments of all spawn functions.
function request(file, args, options) {
  if (typeof file !== "string" || file === "") throw invalid("file", "a non-empty string");
  const settings = options ?? {};
  const { process } = globalThis;
  const cwd = settings.cwd === undefined || settings.cwd === null ? process.cwd() : resolve(settings.cwd instanceof URL ? fileURLToPath(settings.cwd) : String(settings.cwd));
  const env = {};
  for (const [name, value] of Object.entries(settings.env ?? process.env)) if (value !== undefined) env[name] = String(value);
  let [command, list] = programOf(file, (args ?? []).map(String));
  if (settings.shell) {
    const line = [file, ...list].join(" ");
    const shell = typeof settings.shell === "string" ? settings.shell : isWindows ? (env.ComSpec ?? "cmd.exe") : "/bin/sh";
    list = isWindows && /cmd(\.exe)?$/i.test(shell) ? ["/d", "/s", "/c", `"${line}"`] : ["-c", line];
    command = shell;
  }
  return { file: command, arguments: list, cwd, env, detached: Boolean(settings.detached), uid: settings.uid, gid: settings.gid, timeout: Math.max(0, Number(settings.timeout ?? 0)) };
}

function spread(args, options) {
  return Array.isArray(args) ? [args, options ?? {}] : [[], args ?? options ?? {}];
}

function outputOf(id, operation) {
  return new Readable({
    async read() {
      const bytes = await start("child", operation, { id });
      this.push(bytes === undefined ? null : Buffer.from(bytes.buffer));
    },
  });
}

export class ChildProcess extends EventEmitter {
  pid = undefined;
  exitCode = null;
  signalCode = null;
  killed = false;
  connected = false;
  stdin = null;
  stdout = null;
  stderr = null;
  stdio = [null, null, null];
  spawnargs = [];
  spawnfile = "";

  kill(signal = "SIGTERM") {
    if (this.pid === undefined || this.exitCode !== null || this.signalCode !== null) return false;
    try {
      globalThis.process.kill(this.pid, signal);
      this.killed = true;
      return true;
    } catch (error) {
      if (error.code === "ESRCH") return false;
      throw error;
    }
  }
  ref() {}
  unref() {}
  disconnect() {}
  send() {
    throw Object.assign(new Error("IPC is not available for child processes of extensions"), { code: "ERR_NOT_AVAILABLE" });
  }
  [Symbol.dispose ?? Symbol.for("dispose")]() {
    this.kill();
  }
}

// Waits for a child to exit and emits its events.
async function watchExit(child, id) {
  const ends = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) ends.push(new Promise((done) => stream.once("close", done)));
  }
  const status = await start("child", "wait", { id });
  child.exitCode = status.code;
  child.signalCode = status.signal;
  child.stdin?.destroy();
  setImmediate(async () => {
    child.emit("exit", status.code, status.signal);
    // Unread output would never end.
    for (const stream of [child.stdout, child.stderr]) if (stream && stream.readableFlowing === null && stream.listenerCount("readable") === 0) stream.resume();
    await Promise.all(ends);
    callSync("child", "release", { id });
    setImmediate(() => child.emit("close", status.code, status.signal));
  });
}

export function spawn(file, args, options) {
  const [list, settings] = spread(args, options);
  const child = new ChildProcess();
  const streams = streamsOf(settings.stdio);
  const values = { ...request(file, list, settings), streams };
  child.spawnfile = values.file;
  child.spawnargs = [settings.argv0 ?? values.file, ...values.arguments];
  let running;
  try {
    running = callSync("child", "spawn", values);
  } catch (error) {
    const failure = spawnFailure(error, "spawn", values.file, values.arguments, file);
    const silent = () => new Readable({ read() { this.push(null); } });
    if (streams[0] === "pipe") child.stdin = new Writable({ write: (chunk, encoding, done) => done() });
    if (streams[1] === "pipe") child.stdout = silent();
    if (streams[2] === "pipe") child.stderr = silent();
    child.stdio = [child.stdin, child.stdout, child.stderr];
    setImmediate(() => {
      child.emit("error", failure);
      setImmediate(() => child.emit("close", -2, null));
    });
    return child;
  }
  const { id, pid } = running;
  child.pid = pid;
  if (streams[0] === "pipe") {
    child.stdin = new Writable({
      write: (chunk, encoding, done) => start("child", "write", { id }, new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)).then(() => done(), done),
      final: (done) => start("child", "closeStdin", { id }).then(() => done(), done),
      destroy: (error, done) => start("child", "closeStdin", { id }).then(() => done(error), () => done(error)),
    });
  }
  if (streams[1] === "pipe") child.stdout = outputOf(id, "readStdout");
  if (streams[2] === "pipe") child.stderr = outputOf(id, "readStderr");
  child.stdio = [child.stdin, child.stdout, child.stderr];
  setImmediate(() => child.emit("spawn"));
  watchExit(child, id).catch((error) => child.emit("error", error));
  if (settings.timeout > 0) {
    const timer = setTimeout(() => child.kill(settings.killSignal ?? "SIGTERM"), settings.timeout);
    child.once("exit", () => clearTimeout(timer));
  }
  const { signal } = settings;
  if (signal) {
    const stop = () => {
      if (child.kill(settings.killSignal ?? "SIGTERM") || child.exitCode === null) {
        child.emit("error", Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: signal.reason }));
      }
    };
    if (signal.aborted) setImmediate(stop);
    else {
      signal.addEventListener("abort", stop, { once: true });
      child.once("exit", () => signal.removeEventListener("abort", stop));
    }
  }
  return child;
}

export function execFile(file, ...rest) {
  const done = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
  const [list, settings] = spread(rest[0], rest[1]);
  const encoding = settings.encoding === undefined ? "utf8" : settings.encoding;
  const limit = settings.maxBuffer ?? DEFAULT_MAX_BUFFER;
  const child = spawn(file, list, { ...settings, stdio: "pipe", timeout: 0 });
  // Do not wait for descendants that keep the output open.
  const giveUp = () => {
    child.kill(settings.killSignal ?? "SIGTERM");
    child.stdout.destroy();
    child.stderr.destroy();
  };
  if (settings.timeout > 0) {
    const timer = setTimeout(giveUp, settings.timeout);
    child.once("exit", () => clearTimeout(timer));
  }
  const output = { stdout: [], stderr: [] };
  const sizes = { stdout: 0, stderr: 0 };
  let failure;
  let isDone = false;
  for (const name of ["stdout", "stderr"]) {
    child[name].on("data", (chunk) => {
      sizes[name] += chunk.length;
      if (sizes[name] > limit) {
        const room = limit - (sizes[name] - chunk.length);
        if (room > 0) output[name].push(chunk.subarray(0, room));
        failure ??= Object.assign(new RangeError(`${name} maxBuffer length exceeded`), { code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER" });
        giveUp();
      } else {
        output[name].push(chunk);
      }
    });
  }
  const text = (name) => {
    const bytes = Buffer.concat(output[name]);
    return encoding && encoding !== "buffer" ? bytes.toString(encoding) : bytes;
  };
  const finish = (code, signal) => {
    if (isDone) return;
    isDone = true;
    const stdout = text("stdout");
    const stderr = text("stderr");
    const command = settings.shell ? file : [file, ...list].join(" ");
    if (!failure && (code !== 0 || signal !== null)) {
      failure = Object.assign(new Error(`Command failed: ${command}\n${stderr}`), { code, killed: child.killed, signal });
    }
    if (failure) Object.assign(failure, { cmd: command, stdout, stderr });
    done?.(failure ?? null, stdout, stderr);
  };
  child.on("error", (error) => {
    failure ??= error;
    if (error.code !== "ABORT_ERR") return finish(null, null);
    giveUp();
  });
  child.on("close", finish);
  return child;
}

export function exec(command, options, callback) {
  const settings = typeof options === "object" && options !== null ? options : {};
  const done = typeof options === "function" ? options : callback;
  const args = [command, [], { ...settings, shell: settings.shell ?? true }];
  return done ? execFile(...args, done) : execFile(...args);
}

// The promisified forms resolve to both outputs and expose the child.
for (const run of [exec, execFile]) {
  Object.defineProperty(run, promisify.custom, {
    value: (...args) => {
      let child;
      const promise = new Promise((fulfill, reject) => {
        child = run(...args, (error, stdout, stderr) => (error ? reject(error) : fulfill({ stdout, stderr })));
      });
      return Object.assign(promise, { child });
    },
    enumerable: false,
  });
}

export function spawnSync(file, args, options) {
  const [list, settings] = spread(args, options);
  const streams = streamsOf(settings.stdio);
  const encoding = settings.encoding;
  const input = settings.input;
  const bytes = input === undefined || input === null ? undefined : typeof input === "string" ? Buffer.from(input, encoding === "buffer" ? "utf8" : encoding) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (bytes) streams[0] = "pipe";
  const shape = (value) => (encoding && encoding !== "buffer" ? value.toString(encoding) : value);
  const values = { ...request(file, list, settings), streams, maxBuffer: settings.maxBuffer ?? DEFAULT_MAX_BUFFER };
  if (values.maxBuffer === Infinity) delete values.maxBuffer;
  try {
    const [status, out, err] = callSync("child", "spawnSync", values, bytes ? new Uint8Array(bytes) : new Uint8Array());
    const stdout = streams[1] === "pipe" ? shape(Buffer.from(out.buffer).subarray(0, values.maxBuffer)) : null;
    const stderr = streams[2] === "pipe" ? shape(Buffer.from(err.buffer).subarray(0, values.maxBuffer)) : null;
    const result = { pid: status.pid, output: [null, stdout, stderr], stdout, stderr, status: status.code, signal: status.signal };
    if (status.timedOut) result.error = Object.assign(new Error(`spawnSync ${file} ETIMEDOUT`), { code: "ETIMEDOUT", errno: -110, syscall: `spawnSync ${file}`, path: file, spawnargs: list });
    else if (status.overflowed) result.error = Object.assign(new Error(`spawnSync ${file} ENOBUFS`), { code: "ENOBUFS", errno: -105, syscall: `spawnSync ${file}`, path: file, spawnargs: list });
    return result;
  } catch (error) {
    if (error.code === "ERR_INVALID_ARG_TYPE") throw error;
    return { pid: 0, output: null, stdout: null, stderr: null, status: null, signal: null, error: spawnFailure(error, "spawnSync", values.file, values.arguments, file) };
  }
}

function checked(command, result, inheritsErrors) {
  if (result.error) throw Object.assign(result.error, result);
  if (result.status === 0) return result.stdout;
  const detail = result.stderr && !inheritsErrors ? `\n${result.stderr.toString()}` : "";
  const { output, ...fields } = result;
  throw Object.assign(new Error(`Command failed: ${command}${detail}`), fields, { output });
}

export function execFileSync(file, args, options) {
  const [list, settings] = spread(args, options);
  return checked([file, ...list].join(" "), spawnSync(file, list, settings));
}

export function execSync(command, options = {}) {
  return checked(command, spawnSync(command, [], { ...options, shell: options.shell ?? true }));
}

export function fork() {
  throw Object.assign(new Error("child_process.fork is not available to extensions: it requires Node"), { code: "ERR_NOT_AVAILABLE" });
}

export default { ChildProcess, spawn, exec, execFile, spawnSync, execSync, execFileSync, fork };
