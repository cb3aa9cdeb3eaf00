// worker_threads: reports the main thread. Workers are not supported.
import { missing } from "pi:missing";

export const isMainThread = true;
export const parentPort = null;
export const workerData = null;
export const threadId = 0;
export const resourceLimits = {};
export const SHARE_ENV = Symbol.for("nodejs.worker_threads.SHARE_ENV");
export const Worker = missing("node:worker_threads", "Worker");
export const MessageChannel = missing("node:worker_threads", "MessageChannel");
export const MessagePort = missing("node:worker_threads", "MessagePort");
export const BroadcastChannel = missing("node:worker_threads", "BroadcastChannel");
export function markAsUntransferable() {}
export function setEnvironmentData() {}
export function getEnvironmentData() {
  return undefined;
}
export default { isMainThread, parentPort, workerData, threadId, resourceLimits, SHARE_ENV, Worker, MessageChannel, MessagePort, BroadcastChannel, markAsUntransferable, setEnvironmentData, getEnvironmentData };
