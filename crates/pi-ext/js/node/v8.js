// v8: placeholder heap statistics, since the engine is not V8.
import { missing } from "pi:missing";

export function getHeapStatistics() {
  return { total_heap_size: 0, used_heap_size: 0, heap_size_limit: 0, total_available_size: 0, malloced_memory: 0 };
}
export function getHeapSpaceStatistics() {
  return [];
}
export function setFlagsFromString() {}
export const serialize = missing("node:v8", "serialize");
export const deserialize = missing("node:v8", "deserialize");
export const writeHeapSnapshot = missing("node:v8", "writeHeapSnapshot");
export default { getHeapStatistics, getHeapSpaceStatistics, setFlagsFromString, serialize, deserialize, writeHeapSnapshot };
