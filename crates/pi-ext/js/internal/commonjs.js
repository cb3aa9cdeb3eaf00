// CommonJS: `require`, `module` and interoperation with ES modules.
import { builtinNames, compile, findCycle, prepare, requireModule, resolve } from "pi:native";
import { dirname } from "node:path";

const cache = Object.create(null);
const namespaces = new Map();

export class Module {
  exports = {};
  children = [];
  loaded = false;
  parent = undefined;
  paths = [];

  constructor(id = "", parent = undefined) {
    this.id = id;
    this.filename = id;
    this.path = dirname(id);
    this.parent = parent;
  }

  require(specifier) {
    return requireFrom(this, specifier);
  }

  _compile(code, filename) {
    return run(this, code, filename);
  }
}

// Returns the result of `require` for an ES module: its namespace or its "module.exports" export.
function namespaceExports(name) {
  if (!namespaces.has(name)) namespaces.set(name, requireModule(name));
  const namespace = namespaces.get(name);
  if ("module.exports" in namespace) return namespace["module.exports"];
  const isBuiltin = name.startsWith("node:") || name.startsWith("stub:");
  return isBuiltin && namespace.default !== undefined ? namespace.default : namespace;
}

function run(module, code, filename) {
  const wrapper = compile(
    `(function (exports, require, module, __filename, __dirname) {${code}\n})`,
    filename,
  );
  wrapper.call(module.exports, module.exports, makeRequire(module), module, filename, dirname(filename));
}

function loadFile(filename, parent) {
  const known = cache[filename];
  if (known) return known.exports;
  if (filename.endsWith(".node")) {
    throw Object.assign(new Error(`${filename} is a native Node addon, which the embedded engine cannot load; set \`extensionHost\` to \`node\` to run this extension on Node`), {
      code: "ERR_DLOPEN_FAILED",
    });
  }
  if (filename.endsWith(".json")) {
    const module = new Module(filename, parent);
    module.exports = namespaceExports(filename).default;
    module.loaded = true;
    cache[filename] = module;
    return module.exports;
  }
  const source = prepare(filename);
  if (source.isModule) {
    const running = namespaces.has(filename) ? undefined : findCycle(filename, new Error().stack);
    if (running) {
      throw Object.assign(new Error(`require() cannot load ${filename}: it imports ${running}, which is still running`), {
        code: "ERR_REQUIRE_CYCLE_MODULE",
      });
    }
    return namespaceExports(filename);
  }
  const module = new Module(filename, parent);
  cache[filename] = module;
  try {
    run(module, source.code, filename);
  } catch (error) {
    delete cache[filename];
    throw error;
  }
  module.loaded = true;
  parent?.children?.push(module);
  return module.exports;
}

function requireFrom(module, specifier) {
  if (typeof specifier !== "string") {
    throw Object.assign(new TypeError('The "id" argument must be of type string'), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  }
  const name = resolve(specifier, module.filename, "require");
  const isFile = name.startsWith("/") || /^[A-Za-z]:[\\/]/.test(name);
  return isFile ? loadFile(name, module) : namespaceExports(name);
}

export function makeRequire(module) {
  const require = (specifier) => requireFrom(module, specifier);
  require.resolve = (specifier) => {
    const name = resolve(specifier, module.filename, "require");
    return name.startsWith("node:") ? specifier : name;
  };
  require.resolve.paths = () => [];
  require.cache = cache;
  require.main = undefined;
  require.extensions = Object.create(null);
  return require;
}

// Returns the CommonJS variables of an ES module.
export function scopeOf(filename) {
  const module = new Module(filename);
  return {
    module,
    exports: module.exports,
    require: makeRequire(module),
    __filename: filename,
    __dirname: dirname(filename),
  };
}

// Called by the ES module that wraps a CommonJS file.
export function requireFile(filename) {
  return loadFile(filename, undefined);
}

// Returns the default import of a CommonJS module. Compiled ES modules are marked with `__esModule`.
export function defaultOf(value) {
  const unwrapped = value !== null && typeof value === "object" && value.__esModule ? value.default : undefined;
  // A primitive default stays a member, as in the loader of the TypeScript pi.
  return typeof unwrapped === "function" || (typeof unwrapped === "object" && unwrapped !== null) ? unwrapped : value;
}

export const builtinModules = builtinNames();
