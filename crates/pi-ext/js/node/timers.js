// timers.
import { clearTimer, setImmediate, setInterval, setTimeout } from "pi:timers";
import promises from "node:timers/promises";

export const clearTimeout = clearTimer;
export const clearInterval = clearTimer;
export const clearImmediate = clearTimer;
export { promises, setImmediate, setInterval, setTimeout };
export default { promises, setImmediate, setInterval, setTimeout, clearTimeout, clearInterval, clearImmediate };
