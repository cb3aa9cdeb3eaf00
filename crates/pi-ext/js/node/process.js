// process.
import { now, print, processInfo, requireModule } from "pi:native";
import { callSync } from "pi:operations";
import { EventEmitter } from "node:events";

const info = processInfo();
const startedAt = now();
let directory = info.cwd;

// A stream that forwards complete lines to the host. Writes never block.
function outputStream(level, descriptor) {
  const stream = new EventEmitter();
  let buffered = "";
  return Object.assign(stream, {
    fd: descriptor,
    isTTY: false,
    writable: true,
    columns: undefined,
    rows: undefined,
    writableLength: 0,
    write(chunk, encoding, callback) {
      const text = buffered + (typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk));
      const lines = text.split("\n");
      buffered = lines.pop();
      for (const line of lines) print(level, line.toWellFormed());
      const done = typeof encoding === "function" ? encoding : callback;
      if (done) queueMicrotask(() => done());
      return true;
    },
    end(chunk, encoding, callback) {
      if (chunk !== undefined && typeof chunk !== "function") stream.write(chunk, encoding);
      if (buffered) stream.write("\n");
      const done = [chunk, encoding, callback].find((value) => typeof value === "function");
      if (done) queueMicrotask(() => done());
      return stream;
    },
    cork() {},
    uncork() {},
    destroy: () => stream,
    getColorDepth: () => 1,
    hasColors: () => false,
    getWindowSize: () => [80, 24],
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
    clearScreenDown: () => true,
  });
}

function inputStream() {
  const stream = new EventEmitter();
  const self = () => stream;
  return Object.assign(stream, { fd: 0, isTTY: false, readable: false, isRaw: false, setRawMode: self, setEncoding: self, resume: self, pause: self, ref: self, unref: self, destroy: self, read: () => null, pipe: (target) => target });
}

function forbidden(name) {
  return Object.assign(new Error(`${name} is not available to extensions: it would terminate pi`), { code: "ERR_NOT_AVAILABLE" });
}

const process = new EventEmitter();
const ids = info.ids ?? undefined;
Object.assign(process, {
  title: "pi",
  pid: info.pid,
  ppid: ids?.[4] ?? 0,
  platform: info.platform,
  arch: info.arch,
  // The second element is the script on Node; here it is the program, too.
  argv: [info.execPath, info.execPath, ...info.argv.slice(1)],
  argv0: info.argv[0] ?? "pi",
  execArgv: [],
  execPath: info.execPath,
  env: info.env,
  exitCode: undefined,
  version: "v22.19.0",
  versions: { node: "22.19.0", pi: info.version, v8: "0.0.0", modules: "127" },
  release: { name: "node", lts: "Jod" },
  config: { target_defaults: {}, variables: {} },
  features: { inspector: false, typescript: "transform", require_module: true },
  stdout: outputStream("info", 1),
  stderr: outputStream("error", 2),
  stdin: inputStream(),
  connected: false,
  debugPort: 0,
  cwd: () => directory,
  chdir(path) {
    const target = path.startsWith("/") || /^[A-Za-z]:/.test(path) ? path : `${directory}/${path}`;
    directory = callSync("fs", "realpath", { path: target });
  },
  exit(code) {
    try {
      requireModule("pi:standalone").exitProgram(code);
    } catch {
      // Not allowed now.
    }
    throw forbidden("process.exit()");
  },
  reallyExit() {
    throw forbidden("process.reallyExit()");
  },
  abort() {
    throw forbidden("process.abort()");
  },
  kill(pid, signal = "SIGTERM") {
    if (pid === info.pid && signal !== 0 && signal !== "0") throw forbidden("killing this process");
    const names = { 0: "0", 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 9: "SIGKILL", 15: "SIGTERM" };
    callSync("child", "kill", { pid: Number(pid), signal: typeof signal === "number" ? (names[signal] ?? String(signal)) : signal });
    return true;
  },
  nextTick(callback, ...args) {
    queueMicrotask(() => callback(...args));
  },
  hrtime: Object.assign(
    (previous) => {
      const time = now() + 1e6;
      const result = [Math.floor(time / 1000), Math.floor((time % 1000) * 1e6)];
      if (!previous) return result;
      let [seconds, nanoseconds] = [result[0] - previous[0], result[1] - previous[1]];
      if (nanoseconds < 0) [seconds, nanoseconds] = [seconds - 1, nanoseconds + 1e9];
      return [seconds, nanoseconds];
    },
    { bigint: () => BigInt(Math.round((now() + 1e6) * 1e6)) },
  ),
  uptime: () => (now() - startedAt) / 1000,
  memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
  cpuUsage: () => ({ user: Math.round(now() * 1000), system: 0 }),
  resourceUsage: () => ({ userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 }),
  umask: () => 0o022,
  emitWarning(warning, type) {
    const name = typeof type === "object" ? type?.type : type;
    print("warn", `${name ?? warning?.name ?? "Warning"}: ${warning?.message ?? warning}`);
  },
  getuid: ids && (() => ids[0]),
  getgid: ids && (() => ids[1]),
  geteuid: ids && (() => ids[2]),
  getegid: ids && (() => ids[3]),
  getgroups: () => [],
  binding() {
    throw forbidden("process.binding()");
  },
  setUncaughtExceptionCaptureCallback() {},
  hasUncaughtExceptionCaptureCallback: () => false,
  loadEnvFile() {},
  allowedNodeEnvironmentFlags: new Set(),
  report: { getReport: () => ({}) },
});
Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

export { process };
export default process;
export const { pid, ppid, platform, arch, argv, argv0, execArgv, execPath, env, version, versions, release, stdout, stderr, stdin, cwd, chdir, exit, kill, nextTick, hrtime, uptime, memoryUsage, cpuUsage, umask, emitWarning, getuid, getgid, features } = process;
