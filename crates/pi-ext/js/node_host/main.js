// Runs extensions on Node. The program and this script exchange lines of JSON: the program invokes functions of our
// modules, the script calls and requests what the program offers. A line of ours begins with a record separator, so
// that whatever else is written to the standard output can be told apart.
import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync, writeSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, extname } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

const OUTPUT = 1;
const nothing = new Int32Array(new SharedArrayBuffer(4));
const owners = new AsyncLocalStorage();

// Half of a surrogate pair is no text outside of JavaScript.
const HALVES = /\\(?:\\|ud[89a-f][0-9a-f]{2})/gi;
function spell(frame) {
  const text = JSON.stringify(frame);
  return text.includes("\\ud") ? text.replace(HALVES, (found) => (found === "\\\\" ? found : "\ufffd")) : text;
}

function send(frame) {
  const bytes = Buffer.from(`\u001e${spell(frame)}\n`);
  let start = 0;
  while (start < bytes.length) {
    try {
      start += writeSync(OUTPUT, bytes, start);
    } catch (error) {
      if (error.code !== "EAGAIN") return;
      Atomics.wait(nothing, 0, 0, 1);
    }
  }
}

const { port1, port2 } = new MessageChannel();
const counter = new Int32Array(new SharedArrayBuffer(4));
// The source of the reader is an argument of ours.
new Worker(process.argv[1], { eval: true, execArgv: [], workerData: { port: port1, counter }, transferList: [port1] });

// What arrived while the main thread waited for something else.
let late = [];
let lastId = 0;
const pending = new Map();

function errorOf({ message, code }) {
  const error = new Error(message);
  if (code) error.code = code;
  return error;
}

function ask(kind, area, method, args) {
  const id = ++lastId;
  send({ kind, id, area, method, arguments: args ?? null, extension: owners.getStore() ?? null });
  return id;
}

// Waits for the answer to a question; everything else has to wait as well.
function call(area, method, args) {
  const id = ask("call", area, method, args);
  for (;;) {
    const seen = Atomics.load(counter, 0);
    const received = receiveMessageOnPort(port2);
    if (!received) {
      Atomics.wait(counter, 0, seen);
      continue;
    }
    if (received.message === "") end();
    const frame = JSON.parse(received.message);
    if (frame.kind === "answer" && frame.id === id) {
      if (frame.error) throw errorOf(frame.error);
      return frame.value;
    }
    if (late.length === 0) setImmediate(catchUp);
    late.push(frame);
  }
}

// Asks for something that takes time; `abort(reason)` gives it up.
function request(method, args) {
  let id;
  const promise = new Promise((resolve, reject) => {
    id = ask("request", "host", method, args);
    pending.set(id, { resolve, reject });
  });
  return {
    promise,
    abort(reason) {
      const waiting = pending.get(id);
      if (!waiting) return;
      pending.delete(id);
      send({ kind: "abandon", id });
      waiting.reject(reason);
    },
  };
}

const leave = process.exit.bind(process);
function end() {
  leave(0);
}

function describe(error) {
  if (!(error instanceof Error)) return { name: "", message: String(error) };
  const { name, message, code, stack } = error;
  return { name: String(name), message: String(message), code: typeof code === "string" ? code : undefined, stack: typeof stack === "string" ? stack : undefined };
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
      return send({ kind: "unspeakable", id, message: String(error?.message ?? error) });
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

function catchUp() {
  while (late.length > 0) handle(late.shift());
}

port2.on("message", (line) => {
  if (line === "") return end();
  catchUp();
  handle(JSON.parse(line));
});

// The standard streams carry our lines; extensions get others in their place.
function outputStream(level, fd) {
  const write = (chunk, _, done) => {
    send({ kind: "print", level, text: String(chunk).replace(/\n$/, ""), extension: owners.getStore() ?? null });
    done();
  };
  return Object.assign(new Writable({ decodeStrings: false, write }), { fd, isTTY: false });
}

function replace(holder, name, value) {
  Object.defineProperty(holder, name, { value, configurable: true, enumerable: true, writable: true });
}

function refuse(what) {
  return () => {
    throw Object.assign(new Error(`${what} is not available to extensions: it would end all that run on Node`), { code: "ERR_NOT_AVAILABLE" });
  };
}

function fault(kind, error) {
  const { message, stack, name } = describe(error);
  send({ kind: "fault", fault: kind, message: name === "" || name === "Error" ? message : `${name}: ${message}`, stack, extension: owners.getStore() ?? null });
}

replace(process, "stdout", outputStream("info", 1));
replace(process, "stderr", outputStream("error", 2));
replace(process, "stdin", Object.assign(Readable.from([]), { fd: 0, isTTY: false }));
replace(process, "exit", refuse("process.exit()"));
replace(process, "abort", refuse("process.abort()"));
process.on("uncaughtException", (error) => fault("uncaught", error));
process.on("unhandledRejection", (error) => fault("rejection", error));

// Files that Node cannot run, or that may lean on what other loaders of extensions offer.
const FOREIGN = new Set([".ts", ".mts", ".cts", ".tsx", ".jsx"]);
const OWN = new Set([".js", ".mjs"]);
const UNFOUND = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT", "ERR_PACKAGE_PATH_NOT_EXPORTED"]);

const isRequire = (context) => context.conditions?.includes("require") === true;

function resolveHook(packages) {
  return (specifier, context, next) => {
    const ours = specifier.startsWith("pi:") ? specifier : packages[specifier];
    if (ours) return { url: ours, format: "module", shortCircuit: true };
    try {
      return next(specifier, context);
    } catch (error) {
      if (!UNFOUND.has(error?.code) || !context.parentURL?.startsWith("file:")) throw error;
      const importer = fileURLToPath(context.parentURL);
      const found = call("modules", "resolve", { specifier, importer, kind: isRequire(context) ? "require" : "import" });
      return { url: pathToFileURL(found).href, shortCircuit: true };
    }
  };
}

// The names of CommonJS, for an ES module that uses them.
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
  if (!FOREIGN.has(extension) && (!OWN.has(extension) || path.includes("node_modules"))) return next(url, context);
  const { isModule, code, map } = call("modules", "prepare", { path });
  const runnable = code.replace(/^(const \{[^}]*\} = )import\.meta\.commonjs;/, `$1${SCOPE};`);
  // Node reads the author's lines from the map.
  const trailer = map ? `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}` : "";
  return { format: isModule ? "module" : "commonjs", source: runnable + trailer, shortCircuit: true };
}

const require = nodeModule.createRequire(`${pathToFileURL(process.cwd()).href}/`);
if (typeof nodeModule.registerHooks === "function") {
  const { packages, program } = call("modules", "packages");
  globalThis[Symbol.for("pi.connection")] = { call, program, request, commonjsScope, requireModule: (name) => require(name) };
  nodeModule.registerHooks({ resolve: resolveHook(packages), load: loadHook });
  process.setSourceMapsEnabled(true);
  send({ kind: "ready" });
} else {
  send({ kind: "unfit", version: process.versions.node });
}
