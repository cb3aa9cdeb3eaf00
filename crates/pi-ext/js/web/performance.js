// The `performance` object.
import { now as nativeNow } from "pi:native";

const timeOrigin = Date.now() - nativeNow();
const entries = [];

function entry(name, entryType, startTime, duration, detail = null) {
  const created = { name, entryType, startTime, duration, detail, toJSON: () => ({ name, entryType, startTime, duration, detail }) };
  entries.push(created);
  // Limit the number of stored entries.
  if (entries.length > 1000) entries.shift();
  return created;
}

function startOf(mark, fallback) {
  if (mark === undefined) return fallback;
  if (typeof mark === "number") return mark;
  return entries.findLast((known) => known.name === mark && known.entryType === "mark")?.startTime ?? fallback;
}

export const performance = {
  timeOrigin,
  now: nativeNow,
  mark: (name, options) => entry(String(name), "mark", options?.startTime ?? nativeNow(), 0, options?.detail),
  measure(name, start, end) {
    const options = typeof start === "object" && start !== null ? start : { start, end };
    const from = startOf(options.start, 0);
    const to = startOf(options.end, nativeNow());
    return entry(String(name), "measure", from, to - from, options.detail);
  },
  getEntries: () => [...entries],
  getEntriesByName: (name, type) => entries.filter((known) => known.name === name && (type === undefined || known.entryType === type)),
  getEntriesByType: (type) => entries.filter((known) => known.entryType === type),
  clearMarks() {
    entries.length = 0;
  },
  clearMeasures() {
    entries.length = 0;
  },
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  timerify: (callback) => callback,
  toJSON: () => ({ timeOrigin }),
};
