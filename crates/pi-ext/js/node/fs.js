// fs: sync and callback functions, streams and watchers.
import { requireModule } from "pi:native";
import { callSync, start } from "pi:operations";
import { BigIntStats, Dirent, Stats, watchChanges, constants, decode, descriptorOperations, operations, plain, toBytes, toFlag, toMode, toPath } from "pi:file_system";
import { EventEmitter } from "node:events";
import { Readable, Writable } from "node:stream";
import promises, { Dir } from "node:fs/promises";

const sync = {};
const callback = {};

function called(args) {
  const done = args.pop();
  if (typeof done !== "function") {
    throw Object.assign(new TypeError('The "cb" argument must be of type function'), { code: "ERR_INVALID_ARG_TYPE" });
  }
  return done;
}

// Passes the outcome of a promise to a callback, outside the promise chain, so that exceptions thrown by the callback
// do not become rejections.
function toCallback(promise, done) {
  promise.then(
    (value) => setImmediate(() => done(null, value)),
    (error) => setImmediate(() => done(error)),
  );
}

for (const [name, { request, response }] of [...Object.entries(operations), ...Object.entries(descriptorOperations)]) {
  sync[name] = (...args) => {
    if (name === "readFile" && typeof args[0] === "number") return decode(readToEnd(args[0]), args[1]);
    if ((name === "writeFile" || name === "appendFile") && typeof args[0] === "number") return void callSync("fs", "write", { descriptor: args[0] }, toBytes(args[1], args[2]));
    const [operation, values, bytes] = request(...args);
    const value = callSync("fs", operation, values, bytes);
    return response ? response(value, args) : value;
  };
  callback[name] = (...args) => {
    const done = called(args);
    const [operation, values, bytes] = request(...args);
    const promise = start("fs", operation, values, bytes);
    toCallback(response ? promise.then((value) => response(value, args)) : promise, done);
  };
  Object.defineProperty(callback[name], "name", { value: name });
}

function readToEnd(descriptor) {
  const chunks = [];
  for (;;) {
    const bytes = callSync("fs", "read", { descriptor, length: 1 << 20 });
    if (bytes.length === 0) return Buffer.concat(chunks);
    chunks.push(bytes);
  }
}

// Implements `throwIfNoEntry: false` for stat functions.
function withoutEntryError(stat) {
  return (path, options) => {
    try {
      return stat(path, options);
    } catch (error) {
      if (options?.throwIfNoEntry === false && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
      throw error;
    }
  };
}

export const statSync = withoutEntryError(sync.stat);
export const lstatSync = withoutEntryError(sync.lstat);

export function existsSync(path) {
  try {
    return callSync("fs", "exists", { path: toPath(path) });
  } catch {
    return false;
  }
}

export function exists(path, done) {
  setImmediate(() => done(existsSync(path)));
}

function readArguments(target, offset, length, position) {
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  const at = offset ?? 0;
  const where = position === undefined || position === null || position < 0 ? undefined : Number(position);
  return { at, length: length ?? target.byteLength - at, position: where };
}

export function readSync(descriptor, target, offset, length, position) {
  const options = readArguments(target, offset, length, position);
  const bytes = callSync("fs", "read", { descriptor, length: options.length, position: options.position });
  new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(bytes, options.at);
  return bytes.length;
}

export function read(descriptor, ...args) {
  const done = called(args);
  const [first, ...rest] = args;
  const target = ArrayBuffer.isView(first) ? first : (first?.buffer ?? Buffer.alloc(16384));
  const options = ArrayBuffer.isView(first) ? readArguments(target, ...rest) : readArguments(target, first ?? {});
  start("fs", "read", { descriptor, length: options.length, position: options.position }).then(
    (bytes) => {
      new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(bytes, options.at);
      setImmediate(() => done(null, bytes.length, target));
    },
    (error) => setImmediate(() => done(error)),
  );
}

function writeArguments(data, offset, length, position) {
  if (typeof data === "string") return { bytes: toBytes(data, length), position: offset ?? undefined };
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  const at = offset ?? 0;
  return { bytes: plain(new Uint8Array(data.buffer, data.byteOffset + at, length ?? data.byteLength - at)), position: position ?? undefined };
}

export function writeSync(descriptor, data, ...rest) {
  const { bytes, position } = writeArguments(data, ...rest);
  if (descriptor === 1 || descriptor === 2) {
    globalThis.process[descriptor === 1 ? "stdout" : "stderr"].write(bytes);
    return bytes.length;
  }
  return callSync("fs", "write", { descriptor, position }, bytes);
}

export function write(descriptor, data, ...args) {
  const done = called(args);
  const { bytes, position } = writeArguments(data, ...args);
  start("fs", "write", { descriptor, position }, bytes).then(
    (count) => setImmediate(() => done(null, count, data)),
    (error) => setImmediate(() => done(error)),
  );
}

export function opendirSync(path, options) {
  return new Dir(toPath(path), sync.readdir(path, { ...options, withFileTypes: true }));
}

export function opendir(path, ...args) {
  const done = called(args);
  toCallback(promises.opendir(path, ...args), done);
}

// Returns a promise for a stream's file descriptor: the `fd` option, or the file it opens.
function openDescriptor(stream, settings, describe) {
  const descriptor = settings.fd?.fd ?? settings.fd;
  const opening = descriptor === undefined || descriptor === null ? start("fs", "open", describe()) : Promise.resolve(descriptor);
  opening.then(
    (descriptor) => {
      stream.fd = descriptor;
      stream.pending = false;
      stream.emit("open", descriptor);
      stream.emit("ready");
    },
    (error) => stream.destroy(error),
  );
  return opening;
}

// Closes a file, even if it is still being opened.
function closeDescriptor(opening) {
  return opening.then((descriptor) => start("fs", "close", { descriptor })).catch(() => {});
}

export class ReadStream extends Readable {
  #descriptor;
  #position;
  #end;
  #close;

  constructor(path, options = {}) {
    const settings = typeof options === "string" ? { encoding: options } : (options ?? {});
    super({ highWaterMark: settings.highWaterMark ?? 65536, encoding: settings.encoding, signal: settings.signal });
    this.path = path;
    this.bytesRead = 0;
    this.pending = true;
    this.#position = settings.start;
    this.#end = settings.end ?? Infinity;
    this.#close = settings.autoClose !== false;
    this.#descriptor = openDescriptor(this, settings, () => ({ path: toPath(path), flag: toFlag(settings.flags, "r") }));
  }

  async _read(size) {
    try {
      const descriptor = await this.#descriptor;
      const at = (this.#position ?? 0) + (this.#position === undefined ? this.bytesRead : 0);
      const length = Math.min(size, this.#end - at + 1);
      const bytes = length > 0 ? await start("fs", "read", { descriptor, length, position: this.#position }) : new Uint8Array();
      if (this.#position !== undefined) this.#position += bytes.length;
      this.bytesRead += bytes.length;
      this.push(bytes.length > 0 ? Buffer.from(bytes.buffer) : null);
    } catch (error) {
      this.destroy(error);
    }
  }

  _destroy(error, done) {
    if (this.#close) closeDescriptor(this.#descriptor).then(() => done(error));
    else done(error);
  }

  close(done) {
    if (done) this.once("close", done);
    this.destroy();
  }
}

export class WriteStream extends Writable {
  #descriptor;
  #position;
  #close;

  constructor(path, options = {}) {
    const settings = typeof options === "string" ? { encoding: options } : (options ?? {});
    super({ highWaterMark: settings.highWaterMark, decodeStrings: true, defaultEncoding: settings.encoding, signal: settings.signal });
    this.path = path;
    this.bytesWritten = 0;
    this.pending = true;
    this.#position = settings.start;
    this.#close = settings.autoClose !== false;
    this.#descriptor = openDescriptor(this, settings, () => ({ path: toPath(path), flag: toFlag(settings.flags, "w"), mode: toMode(settings.mode) ?? 0o666 }));
  }

  _write(chunk, encoding, done) {
    this.#descriptor
      .then((descriptor) => start("fs", "write", { descriptor, position: this.#position }, toBytes(chunk, encoding)))
      .then(
        (count) => {
          if (this.#position !== undefined) this.#position += count;
          this.bytesWritten += count;
          done();
        },
        (error) => done(error),
      );
  }

  _destroy(error, done) {
    if (this.#close) closeDescriptor(this.#descriptor).then(() => done(error));
    else done(error);
  }

  close(done) {
    if (done) this.once("close", done);
    this.end();
  }
}

export function createReadStream(path, options) {
  return new ReadStream(path, options);
}

export function createWriteStream(path, options) {
  return new WriteStream(path, options);
}

export class FSWatcher extends EventEmitter {
  #changes;
  #closed = false;

  constructor(path, options) {
    super();
    this.#changes = watchChanges(path, options ?? {});
    this.#follow();
    options?.signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  async #follow() {
    try {
      for await (const [kind, name] of this.#changes.each()) if (!this.#closed) this.emit("change", kind, name);
    } catch (error) {
      if (!this.#closed) this.emit("error", error);
    }
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#changes.stop();
    this.emit("close");
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}

export function watch(path, options, listener) {
  const settings = typeof options === "object" ? options : {};
  const onChange = typeof options === "function" ? options : listener;
  // As in Node, a nonexistent path throws immediately.
  callSync("fs", "stat", { path: toPath(path) });
  const watcher = new FSWatcher(path, settings);
  if (onChange) watcher.on("change", onChange);
  return watcher;
}

const fileWatchers = new Map();

export function watchFile(path, options, listener) {
  const onChange = typeof options === "function" ? options : listener;
  const interval = (typeof options === "object" && options?.interval) || 5007;
  const name = toPath(path);
  const currentStats = () => statSync(name, { throwIfNoEntry: false }) ?? new Stats({ mode: 0, size: 0, mtimeMs: 0, atimeMs: 0, ctimeMs: 0, birthtimeMs: 0, ino: 0, nlink: 0 });
  let before = currentStats();
  const timer = setInterval(() => {
    const after = currentStats();
    if (after.mtimeMs !== before.mtimeMs || after.size !== before.size || after.ino !== before.ino) onChange(after, before);
    before = after;
  }, interval);
  const list = fileWatchers.get(name) ?? [];
  fileWatchers.set(name, [...list, { listener: onChange, timer }]);
  return { ref() {}, unref() {} };
}

export function unwatchFile(path, listener) {
  const name = toPath(path);
  const remaining = [];
  for (const entry of fileWatchers.get(name) ?? []) {
    if (listener === undefined || entry.listener === listener) clearInterval(entry.timer);
    else remaining.push(entry);
  }
  if (remaining.length > 0) fileWatchers.set(name, remaining);
  else fileWatchers.delete(name);
}

export function globSync(pattern, options) {
  return requireModule("pi:glob").findMatches(pattern, options);
}

export function glob(pattern, options, callback) {
  const [settings, done] = typeof options === "function" ? [{}, options] : [options, callback];
  setImmediate(() => {
    try {
      done(null, globSync(pattern, settings));
    } catch (error) {
      done(error);
    }
  });
}

export const readFileSync = sync.readFile;
export const writeFileSync = sync.writeFile;
export const appendFileSync = sync.appendFile;
export const accessSync = sync.access;
export const readdirSync = sync.readdir;
export const mkdirSync = sync.mkdir;
export const mkdtempSync = sync.mkdtemp;
export const rmSync = sync.rm;
export const rmdirSync = sync.rmdir;
export const unlinkSync = sync.unlink;
export const renameSync = sync.rename;
export const copyFileSync = sync.copyFile;
export const cpSync = sync.cp;
export const realpathSync = Object.assign((path, options) => sync.realpath(path, options), { native: (path, options) => sync.realpath(path, options) });
export const readlinkSync = sync.readlink;
export const symlinkSync = sync.symlink;
export const linkSync = sync.link;
export const chmodSync = sync.chmod;
export const chownSync = sync.chown;
export const lchownSync = sync.lchown;
export const utimesSync = sync.utimes;
export const truncateSync = sync.truncate;
export const openSync = sync.open;
export const closeSync = sync.close;
export const fstatSync = sync.fstat;
export const fsyncSync = sync.fsync;
export const fdatasyncSync = sync.fdatasync;
export const ftruncateSync = sync.ftruncate;
export const fchmodSync = sync.fchmod;
callback.realpath.native = callback.realpath;

export const { readFile, writeFile, appendFile, access, stat, lstat, readdir, mkdir, mkdtemp, rm, rmdir, unlink, rename, copyFile, cp, realpath, readlink, symlink, link, chmod, chown, lchown, utimes, lutimes, truncate, open, close, fstat, fsync, fdatasync, ftruncate, fchmod } = callback;
export const { F_OK, R_OK, W_OK, X_OK } = constants;
export { constants, promises, Stats, BigIntStats, Dirent, Dir };

export default {
  ...callback, exists, existsSync, glob, globSync, statSync, lstatSync, read, readSync, write, writeSync, opendir, opendirSync, createReadStream, createWriteStream, ReadStream, WriteStream, watch, watchFile, unwatchFile, FSWatcher,
  readFileSync, writeFileSync, appendFileSync, accessSync, readdirSync, mkdirSync, mkdtempSync, rmSync, rmdirSync, unlinkSync, renameSync, copyFileSync, cpSync, realpathSync, readlinkSync, symlinkSync, linkSync, chmodSync, chownSync, lchownSync, utimesSync, truncateSync, openSync, closeSync, fstatSync, fsyncSync, fdatasyncSync, ftruncateSync, fchmodSync,
  constants, promises, Stats, BigIntStats, Dirent, Dir, F_OK, R_OK, W_OK, X_OK,
};
