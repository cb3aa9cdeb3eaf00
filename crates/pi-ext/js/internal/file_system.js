// Shared code of `fs` and `fs/promises`: paths, flags, stats, directory entries, watching.
import { start } from "pi:operations";
import { fileURLToPath } from "node:url";
import { join, relative, resolve } from "node:path";

export const constants = {
  F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1,
  O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_NOFOLLOW: 131072, O_SYNC: 1052672,
  S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFCHR: 8192, S_IFBLK: 24576, S_IFIFO: 4096, S_IFLNK: 40960, S_IFSOCK: 49152,
  S_IRWXU: 448, S_IRUSR: 256, S_IWUSR: 128, S_IXUSR: 64, S_IRWXG: 56, S_IRGRP: 32, S_IWGRP: 16, S_IXGRP: 8, S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1,
  COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
  UV_FS_O_FILEMAP: 0,
};

function invalid(name, expected, value) {
  const error = new TypeError(`The "${name}" argument must be ${expected}. Received ${value === null ? "null" : typeof value}`);
  return Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
}

// Returns an absolute path for a string, a URL or a Buffer.
export function toPath(value, name = "path") {
  const text = typeof value === "string" ? value : value instanceof URL ? fileURLToPath(value) : value instanceof Uint8Array ? new TextDecoder().decode(value) : undefined;
  if (text === undefined) throw invalid(name, "of type string or an instance of Buffer or URL", value);
  if (text.includes("\0")) throw Object.assign(new TypeError(`The "${name}" argument must be a string without null bytes`), { code: "ERR_INVALID_ARG_VALUE" });
  return text === "" ? "" : resolve(text);
}

function encodingOf(options) {
  return typeof options === "string" ? options : (options?.encoding ?? undefined);
}

// Decodes bytes with the encoding of the options.
export function decode(bytes, options) {
  const encoding = encodingOf(options);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding && encoding !== "buffer" ? buffer.toString(encoding) : buffer;
}

// Converts text or binary data to bytes for writing.
export function toBytes(data, options) {
  if (typeof data === "string") return plain(Buffer.from(data, encodingOf(options) ?? "utf8"));
  if (ArrayBuffer.isView(data)) return plain(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw invalid("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
}

export function plain(bytes) {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// Converts numeric flags to Node's letters. `c` creates a file without truncating an existing one.
export function toFlag(flags, fallback = "r") {
  if (flags === undefined || flags === null) return fallback;
  if (typeof flags === "string") return flags;
  const access = flags & 3;
  const isExclusive = (flags & constants.O_EXCL) !== 0;
  const suffix = `${isExclusive ? "x" : ""}${access === constants.O_WRONLY ? "" : "+"}`;
  if (flags & constants.O_APPEND) return `a${suffix}`;
  if (flags & constants.O_TRUNC || (flags & constants.O_CREAT && isExclusive)) return `w${suffix}`;
  if (flags & constants.O_CREAT) return `c${suffix}`;
  return access === constants.O_RDONLY ? "r" : "r+";
}

export function toMode(mode) {
  return mode === undefined || mode === null ? undefined : typeof mode === "string" ? Number.parseInt(mode, 8) : mode;
}

function toSeconds(time) {
  return time instanceof Date ? time.getTime() / 1000 : Number(time);
}

export class Stats {
  constructor(fields) {
    Object.assign(this, fields);
    for (const name of ["atime", "mtime", "ctime", "birthtime"]) this[name] = new Date(fields[`${name}Ms`]);
  }
  #is(kind) {
    return (this.mode & constants.S_IFMT) === kind;
  }
  isFile() {
    return this.#is(constants.S_IFREG);
  }
  isDirectory() {
    return this.#is(constants.S_IFDIR);
  }
  isSymbolicLink() {
    return this.#is(constants.S_IFLNK);
  }
  isFIFO() {
    return this.#is(constants.S_IFIFO);
  }
  isSocket() {
    return this.#is(constants.S_IFSOCK);
  }
  isBlockDevice() {
    return this.#is(constants.S_IFBLK);
  }
  isCharacterDevice() {
    return this.#is(constants.S_IFCHR);
  }
}

export class BigIntStats extends Stats {
  constructor(fields) {
    super(fields);
    for (const name of Object.keys(fields)) this[name] = BigInt(Math.trunc(fields[name]));
    for (const name of ["atime", "mtime", "ctime", "birthtime"]) this[`${name}Ns`] = BigInt(Math.round(fields[`${name}Ms`] * 1e6));
    Object.defineProperty(this, "mode", { value: fields.mode, enumerable: true });
  }
}

export function toStats(fields, options) {
  return options?.bigint ? new BigIntStats(fields) : new Stats(fields);
}

export class Dirent {
  #kind;
  constructor(name, parentPath, kind) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    this.#kind = kind;
  }
  isFile() {
    return this.#kind === 1;
  }
  isDirectory() {
    return this.#kind === 2;
  }
  isSymbolicLink() {
    return this.#kind === 3;
  }
  isFIFO() {
    return this.#kind === 4;
  }
  isSocket() {
    return this.#kind === 5;
  }
  isCharacterDevice() {
    return this.#kind === 6;
  }
  isBlockDevice() {
    return this.#kind === 7;
  }
}

function toEntries(list, root, options) {
  if (options?.withFileTypes) return list.map(([name, parent, kind]) => new Dirent(name, parent, kind));
  const names = list.map(([name, parent]) => (options?.recursive ? relative(root, join(parent, name)) : name));
  return encodingOf(options) === "buffer" ? names.map((name) => Buffer.from(name)) : names;
}

// Operations that have the same signature in sync, callback and promise form. `request` returns
// `[operation, arguments, bytes]`; `response` converts the native result to Node's.
export const operations = {
  readFile: {
    request: (file) => ["readFile", { path: toPath(file) }],
    response: (bytes, [, options]) => decode(bytes, options),
  },
  writeFile: {
    request: (file, data, options) => ["writeFile", { path: toPath(file), flag: toFlag(options?.flag, "w"), mode: toMode(options?.mode) ?? 0o666 }, toBytes(data, options)],
  },
  appendFile: {
    request: (file, data, options) => ["writeFile", { path: toPath(file), flag: toFlag(options?.flag, "a"), mode: toMode(options?.mode) ?? 0o666 }, toBytes(data, options)],
  },
  access: { request: (path, mode = 0) => ["access", { path: toPath(path), mode }] },
  stat: { request: (path) => ["stat", { path: toPath(path) }], response: (fields, [, options]) => toStats(fields, options) },
  lstat: { request: (path) => ["lstat", { path: toPath(path) }], response: (fields, [, options]) => toStats(fields, options) },
  readdir: {
    request: (path, options) => ["readdir", { path: toPath(path), recursive: Boolean(options?.recursive) }],
    response: (list, [path, options]) => toEntries(list, toPath(path), options),
  },
  mkdir: {
    request: (path, options) => ["mkdir", { path: toPath(path), recursive: Boolean(options?.recursive), mode: toMode(typeof options === "object" ? options?.mode : options) }],
  },
  mkdtemp: { request: (prefix) => ["mkdtemp", { prefix: prefix.endsWith("/") ? `${toPath(prefix)}/` : toPath(prefix, "prefix") }] },
  rm: { request: (path, options) => ["rm", { path: toPath(path), recursive: Boolean(options?.recursive), force: Boolean(options?.force) }] },
  rmdir: { request: (path, options) => [options?.recursive ? "rm" : "rmdir", { path: toPath(path), recursive: true }] },
  unlink: { request: (path) => ["unlink", { path: toPath(path) }] },
  rename: { request: (from, to) => ["rename", { path: toPath(from), destination: toPath(to) }] },
  copyFile: { request: (from, to, mode = 0) => ["copyFile", { path: toPath(from), destination: toPath(to), exclusive: Boolean(mode & 1) }] },
  cp: { request: (from, to, options) => ["cp", { path: toPath(from), destination: toPath(to), recursive: Boolean(options?.recursive), force: options?.force !== false }] },
  realpath: { request: (path) => ["realpath", { path: toPath(path) }] },
  readlink: { request: (path) => ["readlink", { path: toPath(path) }] },
  symlink: { request: (target, path) => ["symlink", { path: String(target), destination: toPath(path) }] },
  link: { request: (from, to) => ["link", { path: toPath(from), destination: toPath(to) }] },
  chmod: { request: (path, mode) => ["chmod", { path: toPath(path), mode: toMode(mode) }] },
  chown: { request: (path, user, group) => ["chown", { path: toPath(path), user, group, follow: true }] },
  lchown: { request: (path, user, group) => ["chown", { path: toPath(path), user, group }] },
  utimes: { request: (path, accessed, modified) => ["utimes", { path: toPath(path), accessed: toSeconds(accessed), modified: toSeconds(modified) }] },
  lutimes: { request: (path, accessed, modified) => ["utimes", { path: toPath(path), accessed: toSeconds(accessed), modified: toSeconds(modified) }] },
  truncate: { request: (path, length = 0) => ["truncate", { path: toPath(path), length }] },
};

// Operations on descriptors, which are methods of `FileHandle` in the promise API.
export const descriptorOperations = {
  open: { request: (path, flags, mode) => ["open", { path: toPath(path), flag: toFlag(flags), mode: toMode(mode) ?? 0o666 }] },
  close: { request: (descriptor) => ["close", { descriptor }] },
  fstat: { request: (descriptor) => ["fstat", { descriptor }], response: (fields, [, options]) => toStats(fields, options) },
  fsync: { request: (descriptor) => ["fsync", { descriptor }] },
  fdatasync: { request: (descriptor) => ["fsync", { descriptor }] },
  ftruncate: { request: (descriptor, length = 0) => ["ftruncate", { descriptor, length }] },
  fchmod: { request: (descriptor, mode) => ["fchmod", { descriptor, mode: toMode(mode) }] },
};

// Watches a file or directory. `each()` yields `[kind, name]` for every change until `stop()`.
export function watchChanges(path, { recursive, interval }) {
  const values = { path: toPath(path), recursive: Boolean(recursive), interval };
  let watcher;
  let isStopped = false;
  return {
    async *each() {
      watcher = await start("watch", "open", values);
      if (isStopped) start("watch", "close", { watcher });
      while (!isStopped) {
        const changes = await start("watch", "next", { ...values, watcher });
        if (isStopped || changes === undefined) return;
        yield* changes;
      }
    },
    stop() {
      if (!isStopped && watcher !== undefined) start("watch", "close", { watcher });
      isStopped = true;
    },
  };
}
