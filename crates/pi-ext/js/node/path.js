// path, for POSIX and Windows.
import { processInfo } from "pi:native";

const isWindows = processInfo().platform === "win32";

function check(value, name) {
  if (typeof value !== "string") {
    const error = new TypeError(`The "${name}" argument must be of type string. Received ${value === null ? "null" : typeof value}`);
    throw Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
  }
}

// Removes `.` and `..` from the parts of a path.
function reduce(parts, allowAbove) {
  const result = [];
  for (const part of parts) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (result.length > 0 && result.at(-1) !== "..") result.pop();
      else if (allowAbove) result.push("..");
    } else {
      result.push(part);
    }
  }
  return result;
}

function make(sep, windows) {
  const separators = windows ? /[\\/]+/ : /\/+/;
  const isSeparator = (character) => character === "/" || (windows && character === "\\");

  // Splits off the root of a path: drive, share or slash.
  function rootOf(path) {
    if (!windows) return { device: "", root: path.startsWith("/") ? "/" : "", rest: path.startsWith("/") ? path.slice(1) : path };
    const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
    if (share) return { device: `\\\\${share[1]}\\${share[2]}`, root: "\\", rest: path.slice(share[0].length).replace(/^[\\/]+/, "") };
    const drive = /^[A-Za-z]:/.exec(path);
    const device = drive ? drive[0] : "";
    const after = path.slice(device.length);
    return isSeparator(after[0]) ? { device, root: "\\", rest: after.replace(/^[\\/]+/, "") } : { device, root: "", rest: after };
  }

  function workingDirectory() {
    return globalThis.process.cwd();
  }

  function normalize(path) {
    check(path, "path");
    if (path === "") return ".";
    const { device, root, rest } = rootOf(path);
    const combined = reduce(rest.split(separators), root === "").join(sep);
    const trailing = isSeparator(path.at(-1)) && combined !== "" ? sep : "";
    return device + root + combined + trailing || ".";
  }

  function resolve(...paths) {
    let device = "";
    let root = "";
    let tail = "";
    for (let index = paths.length - 1; index >= -1 && root === ""; index--) {
      const path = index >= 0 ? paths[index] : workingDirectory();
      check(path, `paths[${index}]`);
      if (path === "") continue;
      const parts = rootOf(path);
      if (parts.device && device && parts.device.toLowerCase() !== device.toLowerCase()) continue;
      device ||= parts.device;
      tail = tail === "" ? parts.rest : `${parts.rest}${sep}${tail}`;
      root = parts.root;
    }
    return device + root + reduce(tail.split(separators), root === "").join(sep) || ".";
  }

  function join(...paths) {
    for (const path of paths) check(path, "path");
    const combined = paths.filter((path) => path !== "").join(sep);
    return combined === "" ? "." : normalize(combined);
  }

  function relative(from, to) {
    check(from, "from");
    check(to, "to");
    const start = resolve(from);
    const end = resolve(to);
    const same = windows ? (a, b) => a.toLowerCase() === b.toLowerCase() : (a, b) => a === b;
    if (same(start, end)) return "";
    const left = rootOf(start);
    const right = rootOf(end);
    if (!same(left.device, right.device)) return end;
    const a = left.rest.split(separators).filter(Boolean);
    const b = right.rest.split(separators).filter(Boolean);
    let common = 0;
    while (common < a.length && common < b.length && same(a[common], b[common])) common++;
    return [...a.slice(common).map(() => ".."), ...b.slice(common)].join(sep);
  }

  function dirname(path) {
    check(path, "path");
    if (path === "") return ".";
    const { device, root } = rootOf(path);
    const prefix = device + root;
    let end = path.length;
    while (end > prefix.length && isSeparator(path[end - 1])) end--;
    while (end > prefix.length && !isSeparator(path[end - 1])) end--;
    while (end > prefix.length && isSeparator(path[end - 1])) end--;
    return end === 0 ? "." : path.slice(0, end) || ".";
  }

  function basename(path, suffix) {
    check(path, "path");
    let end = path.length;
    while (end > 0 && isSeparator(path[end - 1])) end--;
    let start = end;
    while (start > 0 && !isSeparator(path[start - 1])) start--;
    let base = path.slice(start, end);
    if (windows) base = base.replace(/^[A-Za-z]:/, "");
    return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
  }

  function extname(path) {
    const base = basename(path);
    const dot = base.lastIndexOf(".");
    return dot <= 0 || base === ".." ? "" : base.slice(dot);
  }

  function isAbsolute(path) {
    check(path, "path");
    return rootOf(path).root !== "";
  }

  function parse(path) {
    check(path, "path");
    const { device, root } = rootOf(path);
    const base = path === device + root ? "" : basename(path);
    const ext = extname(base);
    const dir = dirname(path);
    return { root: device + root, dir: dir === "." && !path.startsWith(".") ? "" : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  }

  function format(parts) {
    const dir = parts.dir || parts.root || "";
    const extension = parts.ext ? (parts.ext.startsWith(".") ? parts.ext : `.${parts.ext}`) : "";
    const base = parts.base || (parts.name ?? "") + extension;
    if (!dir) return base;
    return dir === parts.root ? dir + base : dir + sep + base;
  }

  function toNamespacedPath(path) {
    return path;
  }

  function matchesGlob(path, pattern) {
    const source = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*\*\/?|\*|\?/g, (glob) =>
      glob.startsWith("**") ? ".*" : glob === "*" ? "[^/]*" : "[^/]",
    );
    return new RegExp(`^${source}$`).test(path);
  }

  return {
    sep,
    delimiter: windows ? ";" : ":",
    normalize,
    resolve,
    join,
    relative,
    dirname,
    basename,
    extname,
    isAbsolute,
    parse,
    format,
    toNamespacedPath,
    matchesGlob,
    _makeLong: toNamespacedPath,
  };
}

const posixPath = make("/", false);
const windowsPath = make("\\", true);
for (const flavor of [posixPath, windowsPath]) {
  flavor.posix = posixPath;
  flavor.win32 = windowsPath;
}
const path = isWindows ? windowsPath : posixPath;

export default path;
export const { sep, delimiter, normalize, resolve, join, relative, dirname, basename, extname, isAbsolute, parse, format, toNamespacedPath, matchesGlob, posix, win32 } = path;
