// perf_hooks.
import { performance } from "pi:web/performance";

export class PerformanceObserver {
  static supportedEntryTypes = ["mark", "measure"];
  observe() {}
  disconnect() {}
  takeRecords() {
    return [];
  }
}
export function monitorEventLoopDelay() {
  return { enable() {}, disable() {}, reset() {}, percentile: () => 0, min: 0, max: 0, mean: 0, stddev: 0 };
}
export const constants = {};
export { performance };
export default { performance, PerformanceObserver, monitorEventLoopDelay, constants };
