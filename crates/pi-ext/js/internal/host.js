// Where Rust enters: calls of exported functions, results of operations, timers.
import { finish, hostCall, processInfo, register, resolve, settle } from "pi:native";
import { restoreIntrinsics } from "pi:intrinsics";
import { complete, start } from "pi:operations";
import { fire } from "pi:timers";

const modules = new Map();

// Numbers that JavaScript makes up for the program begin here; on Node they begin elsewhere.
export const FIRST_NUMBER = 0;

// Returns the file of the program itself.
export function programFile() {
  return processInfo().execPath;
}

// Imports a file by its real name; its namespace is kept for calls.
export async function load(name) {
  const namespace = await import(resolve(name, name, "import"));
  modules.set(name, namespace);
  finish();
  return namespace;
}

// Asks the host for something it knows at once.
export function call(method, args) {
  return hostCall(method, args);
}

// Asks the host for something that takes time.
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

// A call that fails may have failed by what an extension did to the language; the next one shall not.
function failed(id, error) {
  restoreIntrinsics();
  settle(id, false, error);
}

function enter(id, module, name, args) {
  const namespace = modules.get(module);
  const result = namespace ? exported(namespace, module, name)(...args) : importAndRun(module, name, args);
  if (result !== null && typeof result === "object" && typeof result.then === "function") {
    result.then(
      (value) => settle(id, true, value),
      (error) => failed(id, error),
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
