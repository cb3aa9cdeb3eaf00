// module.
import { Module, builtinModules, makeRequire } from "pi:commonjs";
import { fileURLToPath } from "node:url";

export function createRequire(filename) {
  const path = filename instanceof URL || String(filename).startsWith("file:") ? fileURLToPath(filename) : String(filename);
  return makeRequire(new Module(path));
}

export function isBuiltin(name) {
  return builtinModules.includes(String(name).replace(/^node:/, ""));
}

export function register() {}
export function registerHooks() {
  return { deregister() {} };
}
export function findSourceMap() {
  return undefined;
}
export function syncBuiltinESMExports() {}
export function enableCompileCache() {
  return { status: 3 };
}
export function stripTypeScriptTypes(source) {
  return source;
}
Object.assign(Module, { Module, createRequire, builtinModules, isBuiltin, register, registerHooks, findSourceMap, syncBuiltinESMExports, enableCompileCache, _extensions: Object.create(null), _cache: Object.create(null), _load: (request, parent) => makeRequire(parent ?? new Module("/"))(request), _resolveFilename: (request, parent) => makeRequire(parent ?? new Module("/")).resolve(request), _nodeModulePaths: () => [], wrap: (code) => `(function (exports, require, module, __filename, __dirname) { ${code}\n});` });
export { Module, builtinModules };
export default Module;
