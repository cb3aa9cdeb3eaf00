// path/posix.
import { posix as path } from "node:path";

export default path;
export const { sep, delimiter, normalize, resolve, join, relative, dirname, basename, extname, isAbsolute, parse, format, toNamespacedPath, matchesGlob, posix, win32 } = path;
