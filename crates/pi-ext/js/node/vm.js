// vm: code runs in the only realm. Other contexts are not supported.
import { missing } from "pi:missing";

const evaluate = globalThis.eval;

export class Script {
  #code;
  constructor(code) {
    this.#code = String(code);
  }
  runInThisContext() {
    return evaluate(this.#code);
  }
  runInContext() {
    return missing("node:vm", "Script.runInContext")();
  }
  runInNewContext() {
    return missing("node:vm", "Script.runInNewContext")();
  }
}

export function runInThisContext(code) {
  return new Script(code).runInThisContext();
}
export function isContext() {
  return false;
}
export const createContext = missing("node:vm", "createContext");
export const runInContext = missing("node:vm", "runInContext");
export const runInNewContext = missing("node:vm", "runInNewContext");
export const compileFunction = missing("node:vm", "compileFunction");
export const SourceTextModule = missing("node:vm", "SourceTextModule");
export const SyntheticModule = missing("node:vm", "SyntheticModule");
export const constants = {};
export default { Script, runInThisContext, isContext, createContext, runInContext, runInNewContext, compileFunction, SourceTextModule, SyntheticModule, constants };
