// fs/promises.
import { requireModule } from "pi:native";
import { start } from "pi:operations";
import { watchChanges, constants, decode, operations, plain, toBytes, toFlag, toMode, toPath, toStats } from "pi:file_system";

const forms = {};
for (const [name, { request, response }] of Object.entries(operations)) {
  forms[name] = async (...args) => {
    const signal = args.at(-1)?.signal;
    signal?.throwIfAborted?.();
    if (name === "readFile" && args[0] instanceof FileHandle) return args[0].readFile(args[1]);
    if ((name === "writeFile" || name === "appendFile") && args[0] instanceof FileHandle) return args[0].writeFile(args[1], args[2]);
    if (name === "writeFile" && isStream(args[1])) return writeStream(args);
    const [operation, values, bytes] = request(...args);
    const value = await start("fs", operation, values, bytes);
    return response ? response(value, args) : value;
  };
  Object.defineProperty(forms[name], "name", { value: name });
}

function isStream(data) {
  return typeof data === "object" && data !== null && !ArrayBuffer.isView(data) && (typeof data[Symbol.asyncIterator] === "function" || typeof data[Symbol.iterator] === "function");
}

async function writeStream([file, data, options]) {
  const handle = await open(file, options?.flag ?? "w", options?.mode);
  try {
    for await (const chunk of data) await handle.write(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  } finally {
    await handle.close();
  }
}

export class FileHandle {
  #descriptor;

  constructor(descriptor) {
    this.#descriptor = descriptor;
  }
  get fd() {
    return this.#descriptor;
  }
  #start(operation, values, bytes) {
    return start("fs", operation, { descriptor: this.#descriptor, ...values }, bytes);
  }
  async read(target, offset, length, position) {
    if (target === undefined || !ArrayBuffer.isView(target)) ({ buffer: target = Buffer.alloc(16384), offset, length, position } = target ?? {});
    else if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
    const at = offset ?? 0;
    const bytes = await this.#start("read", { length: length ?? target.byteLength - at, position: position ?? undefined });
    new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(bytes, at);
    return { bytesRead: bytes.length, buffer: target };
  }
  async write(data, offset, length, position) {
    if (typeof data === "string") {
      const bytes = toBytes(data, length);
      return { bytesWritten: await this.#start("write", { position: offset ?? undefined }, bytes), buffer: data };
    }
    const at = offset ?? 0;
    const bytes = plain(new Uint8Array(data.buffer, data.byteOffset + at, length ?? data.byteLength - at));
    return { bytesWritten: await this.#start("write", { position: position ?? undefined }, bytes), buffer: data };
  }
  async readFile(options) {
    const chunks = [];
    for (;;) {
      const bytes = await this.#start("read", { length: 1 << 20 });
      if (bytes.length === 0) break;
      chunks.push(bytes);
    }
    return decode(Buffer.concat(chunks), options);
  }
  async writeFile(data, options) {
    await this.#start("write", {}, toBytes(data, options));
  }
  appendFile(data, options) {
    return this.writeFile(data, options);
  }
  async stat(options) {
    return toStats(await this.#start("fstat"), options);
  }
  async truncate(length = 0) {
    await this.#start("ftruncate", { length });
  }
  async sync() {
    await this.#start("fsync");
  }
  async datasync() {
    await this.#start("fsync");
  }
  async chmod(mode) {
    await this.#start("fchmod", { mode: toMode(mode) });
  }
  async close() {
    if (this.#descriptor < 0) return;
    const descriptor = this.#descriptor;
    this.#descriptor = -1;
    await start("fs", "close", { descriptor });
  }
  async *readLines() {
    yield* String(await this.readFile("utf8")).split(/\r?\n/);
  }
  createReadStream(options) {
    return fsModule().createReadStream("", { ...options, fd: this.#descriptor, autoClose: false });
  }
  createWriteStream(options) {
    return fsModule().createWriteStream("", { ...options, fd: this.#descriptor, autoClose: false });
  }
  [Symbol.asyncDispose ?? Symbol.for("asyncDispose")]() {
    return this.close();
  }
}

// Loaded lazily, since `fs` imports this module.
const fsModule = () => requireModule("node:fs");

export async function open(path, flags, mode) {
  return new FileHandle(await start("fs", "open", { path: toPath(path), flag: toFlag(flags), mode: toMode(mode) ?? 0o666 }));
}

export async function opendir(path, options) {
  const entries = await forms.readdir(path, { ...options, withFileTypes: true });
  return new Dir(toPath(path), entries);
}

export class Dir {
  #entries;
  constructor(path, entries) {
    this.path = path;
    this.#entries = entries;
  }
  async read() {
    return this.#entries.shift() ?? null;
  }
  readSync() {
    return this.#entries.shift() ?? null;
  }
  async close() {}
  closeSync() {}
  async *[Symbol.asyncIterator]() {
    for (let entry = await this.read(); entry; entry = await this.read()) yield entry;
  }
}

export async function* watch(path, options = {}) {
  const { signal } = options;
  signal?.throwIfAborted();
  const changes = watchChanges(path, options);
  const stop = () => changes.stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for await (const [eventType, filename] of changes.each()) yield { eventType, filename };
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

export async function* glob(pattern, options) {
  yield* requireModule("pi:glob").findMatches(pattern, options);
}

export const { readFile, writeFile, appendFile, access, stat, lstat, readdir, mkdir, mkdtemp, rm, rmdir, unlink, rename, copyFile, cp, realpath, readlink, symlink, link, chmod, chown, lchown, utimes, lutimes, truncate } = forms;
export { constants };
export default { ...forms, open, opendir, watch, glob, constants, FileHandle };
