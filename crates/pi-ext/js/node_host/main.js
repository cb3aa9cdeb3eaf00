// Runs extensions on Node. The program and this script exchange JSON lines: the program invokes exported functions
// of modules, and the script calls host methods. Lines of the script start with a record separator, to distinguish
// them from other output where the protocol shares stdout.
import { AsyncLocalStorage } from "node:async_hooks";
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, extname } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

// Longest frame that the program accepts, in bytes.
const MAX_FRAME = 64 * 1024 * 1024;
// Longest text of an error or a line of output, in characters.
const MAX_TEXT = 64 * 1024;

// Opens a file under a descriptor number, which is closed before.
function reopen(descriptor, path, flags) {
  closeSync(descriptor);
  if (openSync(path, flags) !== descriptor) throw new Error(`cannot replace descriptor ${descriptor}`);
}

// Moves the protocol from stdin and stdout to descriptors that child processes do not inherit. From then on, stdin is
// empty, and stdout is another name for stderr.
function moveProtocol() {
  const { O_RDONLY, O_WRONLY } = constants;
  const descriptors = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  let moved;
  try {
    moved = { input: openSync(`${descriptors}/0`, O_RDONLY), output: openSync(`${descriptors}/1`, O_WRONLY) };
  } catch {
    // Windows, or a system without these files: the protocol stays where it is.
    return { input: 0, output: 1 };
  }
  reopen(0, "/dev/null", O_RDONLY);
  reopen(1, `${descriptors}/2`, O_WRONLY);
  return moved;
}
const { input, output } = moveProtocol();

// The script itself; child processes and threads of extensions must not get it.
process.execArgv = [];

// Never notified; used to sleep.
const sleeper = new Int32Array(new SharedArrayBuffer(4));
const owners = new AsyncLocalStorage();

// Unpaired surrogates are not valid outside JavaScript.
const LONE_SURROGATES = /\\(?:\\|ud[89a-f][0-9a-f]{2})/gi;
function serialize(frame) {
  const text = JSON.stringify(frame);
  return text.includes("\\ud") ? text.replace(LONE_SURROGATES, (found) => (found === "\\\\" ? found : "\ufffd")) : text;
}

function send(frame) {
  const bytes = Buffer.from(`\u001e${serialize(frame)}\n`);
  if (bytes.length > MAX_FRAME) throw new RangeError(`${bytes.length} bytes are too many for one result or call; the limit is ${MAX_FRAME}`);
  let start = 0;
  while (start < bytes.length) {
    try {
      start += writeSync(output, bytes, start);
    } catch (error) {
      if (error.code !== "EAGAIN") return;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}

const { port1, port2 } = new MessageChannel();
const counter = new Int32Array(new SharedArrayBuffer(4));
// The source of the reader is passed as an argument.
new Worker(process.argv[1], { eval: true, execArgv: [], workerData: { port: port1, counter, input }, transferList: [port1] });

// Frames received while the main thread waited for a response.
let deferred = [];
let lastId = 0;
const pending = new Map();

function errorOf({ message, code }) {
  const error = new Error(message);
  if (code) error.code = code;
  return error;
}

function sendCall(kind, target, method, args) {
  const id = ++lastId;
  send({ kind, id, target, method, arguments: args ?? null, extension: owners.getStore() ?? null });
  return id;
}

// Calls a synchronous method. Blocks the main thread until the response arrives.
function call(target, method, args) {
  const id = sendCall("call", target, method, args);
  for (;;) {
    const seen = Atomics.load(counter, 0);
    const received = receiveMessageOnPort(port2);
    if (!received) {
      Atomics.wait(counter, 0, seen);
      continue;
    }
    if (received.message === "") exit();
    const frame = JSON.parse(received.message);
    if (frame.kind === "response" && frame.id === id) {
      if (frame.error) throw errorOf(frame.error);
      return frame.value;
    }
    if (deferred.length === 0) setImmediate(handleDeferred);
    deferred.push(frame);
  }
}

// Calls an asynchronous host method. `abort(reason)` cancels it.
function request(method, args) {
  let id;
  const promise = new Promise((resolve, reject) => {
    id = sendCall("request", "host", method, args);
    pending.set(id, { resolve, reject });
  });
  return {
    promise,
    abort(reason) {
      const waiting = pending.get(id);
      if (!waiting) return;
      pending.delete(id);
      send({ kind: "cancel", id });
      waiting.reject(reason);
    },
  };
}

// Does not wait for a response, since it is sent for every handler.
function enterHandler(dispatch, extension) {
  send({ kind: "handler", dispatch, extension });
}

const exitProcess = process.exit.bind(process);
function exit() {
  exitProcess(0);
}

// Extensions may throw anything, also objects whose members throw.
function describe(error) {
  const text = (value) => String(value).slice(0, MAX_TEXT);
  try {
    if (!(error instanceof Error)) return { name: "", message: text(error) };
    const { name, message, code, stack } = error;
    return { name: text(name), message: text(message), code: typeof code === "string" ? text(code) : undefined, stack: typeof stack === "string" ? text(stack) : undefined };
  } catch {
    return { name: "", message: "unknown error" };
  }
}

const modules = new Map();

async function invoke({ id, module, export: name, arguments: args, extension }) {
  try {
    let namespace = modules.get(module);
    if (!namespace) modules.set(module, (namespace = await import(module)));
    const value = await owners.run(extension ?? undefined, () => namespace[name](...args));
    let text;
    try {
      text = JSON.stringify(value ?? null) ?? "null";
    } catch (error) {
      return send({ kind: "unserializable", id, message: describe(error).message });
    }
    send({ kind: "settled", id, value: JSON.parse(text) });
  } catch (error) {
    send({ kind: "failed", id, error: describe(error) });
  }
}

function handle(frame) {
  if (frame.kind === "invoke") return void invoke(frame);
  if (frame.kind === "ping") return send({ kind: "pong" });
  const waiting = pending.get(frame.id);
  if (!waiting) return;
  pending.delete(frame.id);
  if (frame.error) waiting.reject(errorOf(frame.error));
  else waiting.resolve(frame.value);
}

function handleDeferred() {
  while (deferred.length > 0) handle(deferred.shift());
}

port2.on("message", (line) => {
  if (line === "") return exit();
  handleDeferred();
  handle(JSON.parse(line));
});

// Output is attributed to extensions, and stdin is empty.
function outputStream(level, fd) {
  const write = (chunk, _, done) => {
    send({ kind: "print", level, text: String(chunk).slice(0, MAX_TEXT).replace(/\n$/, ""), extension: owners.getStore() ?? null });
    done();
  };
  return Object.assign(new Writable({ decodeStrings: false, write }), { fd, isTTY: false });
}

function replace(holder, name, value) {
  Object.defineProperty(holder, name, { value, configurable: true, enumerable: true, writable: true });
}

function forbid(name) {
  return () => {
    throw Object.assign(new Error(`${name} is not available to extensions: it would terminate all extensions on Node`), { code: "ERR_NOT_AVAILABLE" });
  };
}

function fault(kind, error) {
  const { message, stack, name } = describe(error);
  send({ kind: "fault", fault: kind, message: name === "" || name === "Error" ? message : `${name}: ${message}`, stack, extension: owners.getStore() ?? null });
}

replace(process, "stdout", outputStream("info", 1));
replace(process, "stderr", outputStream("error", 2));
replace(process, "stdin", Object.assign(Readable.from([]), { fd: 0, isTTY: false }));
replace(process, "exit", (code) => {
  try {
    require("pi:pi/program").exit(code);
  } catch {
    // Not allowed now.
  }
  forbid("process.exit()")();
});
replace(process, "abort", forbid("process.abort()"));
process.on("uncaughtException", (error) => fault("uncaught", error));
process.on("unhandledRejection", (error) => fault("rejection", error));

// File extensions that always need transpiling, and those that need it outside `node_modules` because extensions
// may rely on features of other loaders.
const TRANSPILED = new Set([".ts", ".mts", ".cts", ".tsx", ".jsx"]);
const TRANSPILED_IN_EXTENSIONS = new Set([".js", ".mjs"]);
const NOT_FOUND_CODES = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT", "ERR_PACKAGE_PATH_NOT_EXPORTED"]);

const isRequire = (context) => context.conditions?.includes("require") === true;

function resolveHook(packages) {
  return (specifier, context, next) => {
    const embedded = specifier.startsWith("pi:") ? specifier : packages[specifier];
    if (embedded) return { url: embedded, format: "module", shortCircuit: true };
    try {
      return next(specifier, context);
    } catch (error) {
      if (!NOT_FOUND_CODES.has(error?.code) || !context.parentURL?.startsWith("file:")) throw error;
      const importer = fileURLToPath(context.parentURL);
      const found = call("modules", "resolve", { specifier, importer, kind: isRequire(context) ? "require" : "import" });
      return { url: pathToFileURL(found).href, shortCircuit: true };
    }
  };
}

// CommonJS variables for an ES module that uses them.
function commonjsScope(url) {
  const filename = fileURLToPath(url);
  const module = { exports: {} };
  return { require: nodeModule.createRequire(url), module, exports: module.exports, __filename: filename, __dirname: dirname(filename) };
}
const SCOPE = "globalThis[Symbol.for('pi.connection')].commonjsScope(import.meta.url)";

function loadHook(url, context, next) {
  if (url.startsWith("pi:")) return { format: "module", source: call("modules", "source", { name: url }), shortCircuit: true };
  if (!url.startsWith("file:")) return next(url, context);
  const path = fileURLToPath(url);
  const extension = extname(path);
  if (extension === ".json" && !isRequire(context) && context.importAttributes?.type !== "json") {
    return { format: "module", source: `export default ${readFileSync(path, "utf8")};`, shortCircuit: true };
  }
  if (!TRANSPILED.has(extension) && (!TRANSPILED_IN_EXTENSIONS.has(extension) || path.includes("node_modules"))) return next(url, context);
  const { isModule, code, map } = call("modules", "prepare", { path });
  const runnable = code.replace(/^(const \{[^}]*\} = )import\.meta\.commonjs;/, `$1${SCOPE};`);
  // Node maps stack traces with the inline source map.
  const trailer = map ? `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}` : "";
  return { format: isModule ? "module" : "commonjs", source: runnable + trailer, shortCircuit: true };
}

const require = nodeModule.createRequire(`${pathToFileURL(process.cwd()).href}/`);
if (typeof nodeModule.registerHooks === "function") {
  const { packages, executable } = call("modules", "packages");
  globalThis[Symbol.for("pi.connection")] = { call, enterHandler, executable, request, commonjsScope, requireModule: (name) => require(name) };
  nodeModule.registerHooks({ resolve: resolveHook(packages), load: loadHook });
  Object.defineProperty(globalThis, Symbol.for("pi.standalone"), { get: () => require("pi:standalone").createStandaloneProcess() });
  process.setSourceMapsEnabled(true);
  send({ kind: "ready" });
} else {
  send({ kind: "unsupported", version: process.versions.node });
}
