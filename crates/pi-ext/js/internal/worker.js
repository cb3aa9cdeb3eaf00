// Runs the script of a worker, on its own thread.
import { compile } from "pi:native";
import { load } from "pi:host";
import { scopeOf } from "pi:commonjs";
import { pendingOperations } from "pi:operations";
import { pendingTimers } from "pi:timers";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";

// How often a worker that waits for timers or operations checks whether it has ended, in milliseconds.
const IDLE_INTERVAL = 20;

// Called by Rust. Settles when nothing keeps the worker running.
export async function run(script, isSource) {
  if (isSource) {
    const filename = join(process.cwd(), "[worker eval]");
    const { exports, require, module, __filename, __dirname } = scopeOf(filename);
    const wrapper = compile(`(function (exports, require, module, __filename, __dirname) {${script}\n})`, filename);
    wrapper.call(exports, exports, require, module, __filename, __dirname);
  } else {
    await load(script);
  }
  while (true) {
    await parentPort.idle();
    if (pendingTimers() === 0 && pendingOperations() === 0) return;
    await new Promise((resolve) => setTimeout(resolve, IDLE_INTERVAL));
  }
}
