// vm: scripts in the realm of the extension, or in contexts with their own builtin objects.
//
// The properties of a sandbox are globals of its context. Differences to Node: constants of a script are not visible to
// the next one, and generated code cannot be forbidden.
import { newGlobal } from "pi:native";
import { missing } from "pi:missing";

const evaluate = globalThis.eval;
const contexts = new WeakMap();

class Context {
  #sandbox;
  #global = newGlobal();
  #builtin = new Set(Reflect.ownKeys(this.#global));
  #linked = new Set();

  constructor(sandbox) {
    this.#sandbox = sandbox;
  }

  run(code) {
    for (const key of Reflect.ownKeys(this.#sandbox)) this.#link(key);
    try {
      return this.evaluator(code);
    } finally {
      this.#collect();
    }
  }

  // `eval` of the context. Called as another name, it evaluates global code.
  evaluator = this.#global.eval;
  // Creates functions of the context.
  Function = this.#global.Function;

  // Makes a property of the sandbox a global.
  #link(key) {
    if (this.#linked.has(key)) return;
    this.#linked.add(key);
    const sandbox = this.#sandbox;
    Object.defineProperty(this.#global, key, {
      configurable: true,
      enumerable: true,
      get: () => sandbox[key],
      set(value) {
        sandbox[key] = value;
      },
    });
  }

  // Moves the globals that a script defined to the sandbox.
  #collect() {
    for (const key of Reflect.ownKeys(this.#global)) {
      if (this.#builtin.has(key) || this.#linked.has(key)) continue;
      this.#sandbox[key] = this.#global[key];
      this.#link(key);
    }
  }
}

function contextOf(sandbox) {
  const context = contexts.get(sandbox);
  if (context) return context;
  throw Object.assign(new TypeError('The "contextifiedObject" argument must be an vm.Context'), { code: "ERR_INVALID_ARG_TYPE" });
}

export function createContext(sandbox = {}) {
  if (!contexts.has(sandbox)) contexts.set(sandbox, new Context(sandbox));
  return sandbox;
}
export function isContext(value) {
  return contexts.has(value);
}

export class Script {
  #code;
  constructor(code) {
    this.#code = String(code);
    // Reports syntax errors, as Node does.
    new Function(this.#code);
  }
  runInThisContext() {
    return evaluate(this.#code);
  }
  runInContext(sandbox) {
    return contextOf(sandbox).run(this.#code);
  }
  runInNewContext(sandbox) {
    return this.runInContext(createContext(sandbox));
  }
  createCachedData() {
    return Buffer.alloc(0);
  }
}

export function runInThisContext(code) {
  return new Script(code).runInThisContext();
}
export function runInContext(code, sandbox) {
  return new Script(code).runInContext(sandbox);
}
export function runInNewContext(code, sandbox) {
  return new Script(code).runInNewContext(sandbox);
}
export function compileFunction(code, parameters = [], options = {}) {
  const create = options.parsingContext ? contextOf(options.parsingContext).Function : Function;
  return create(...parameters, String(code));
}
export const SourceTextModule = missing("node:vm", "SourceTextModule");
export const SyntheticModule = missing("node:vm", "SyntheticModule");
export const constants = {};
export default { Script, runInThisContext, isContext, createContext, runInContext, runInNewContext, compileFunction, SourceTextModule, SyntheticModule, constants };
