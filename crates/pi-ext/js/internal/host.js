// Entry points for Rust: calls of exported functions, results of operations, timers.
import { charge, charged, enterHandler, markEvaluated, hostCall, processInfo, register, resolve, settle } from "pi:native";
import { restoreIntrinsics } from "pi:intrinsics";
import { complete, start } from "pi:operations";
import { fire } from "pi:timers";

const modules = new Map();

// First ID allocated by JavaScript. On Node, IDs start elsewhere to avoid collisions.
export const FIRST_ID = 0;

// Returns the path of the pi executable.
export function programFile() {
  return processInfo().execPath;
}

// Imports a file and keeps its namespace for calls.
export async function load(name) {
  const namespace = await import(resolve(name, name, "import"));
  modules.set(name, namespace);
  markEvaluated();
  return namespace;
}

// Reports the extension whose handlers of an event are called next.
export { enterHandler };

// `charge(extension, isRendering)` charges an extension, or none, for what runs from now on, and returns the one before;
// `charged()` returns the one that is charged now.
export { charge, charged };

// Calls a synchronous host method.
export function call(method, args) {
  return hostCall(method, args);
}

// Calls an asynchronous host method.
export function request(method, args) {
  return start("host", method, args);
}

function exported(namespace, module, name) {
  const value = namespace[name];
  if (typeof value !== "function") {
    throw new TypeError(`${module} exports no function named ${name}`);
  }
  return value;
}

async function importAndRun(module, name, args) {
  const namespace = await load(module);
  return exported(namespace, module, name)(...args);
}

// Modified builtin objects may have caused the failure, so restore them before the next call.
function settleFailed(id, error) {
  restoreIntrinsics();
  settle(id, false, error);
}

function enter(id, module, name, args) {
  const namespace = modules.get(module);
  const result = namespace ? exported(namespace, module, name)(...args) : importAndRun(module, name, args);
  if (result !== null && typeof result === "object" && typeof result.then === "function") {
    result.then(
      (value) => settle(id, true, value),
      (error) => settleFailed(id, error),
    );
  } else {
    settle(id, true, result);
  }
}

function invoke(id, module, name, args) {
  try {
    enter(id, module, name, args);
  } catch (error) {
    restoreIntrinsics();
    throw error;
  }
}

modules.set("pi:host", { load: (name) => load(name).then(() => {}) });
register({ complete, fire, invoke });
