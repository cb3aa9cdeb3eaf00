// The console. Output goes to the host, never directly to the terminal.
import { now, print, requireModule } from "pi:native";

const counts = new Map();
const started = new Map();
let indent = "";

function text(values) {
  // Plain strings do not need the inspector.
  const plain = values.every((value) => typeof value === "string") && !(values[0] ?? "").includes("%");
  const line = plain ? values.join(" ") : requireModule("node:util").format(...values);
  return indent ? line.replace(/^/gm, indent) : line;
}

function write(level, values) {
  print(level, text(values).toWellFormed());
}

function inspect(value, options) {
  return requireModule("node:util").inspect(value, options);
}

function tableText(data, columns) {
  const rows = Object.entries(data ?? {});
  const names = columns ?? [...new Set(rows.flatMap(([, row]) => (Object(row) === row ? Object.keys(row) : ["Values"])))];
  const cell = (row, name) =>
    Object(row) === row ? (name in row ? inspect(row[name]) : "") : name === "Values" ? inspect(row) : "";
  const lines = [["(index)", ...names], ...rows.map(([key, row]) => [key, ...names.map((name) => cell(row, name))])];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines.map((line) => line.map((value, column) => value.padEnd(widths[column])).join("  ").trimEnd()).join("\n");
}

function elapsed(label) {
  const begin = started.get(label);
  return begin === undefined ? undefined : `${label}: ${(now() - begin).toFixed(3)}ms`;
}

export const console = {
  log: (...values) => write("info", values),
  info: (...values) => write("info", values),
  debug: (...values) => write("debug", values),
  warn: (...values) => write("warn", values),
  error: (...values) => write("error", values),
  trace: (...values) => write("debug", [`Trace: ${text(values)}\n${new Error().stack.split("\n").slice(2).join("\n")}`]),
  dir: (value, options) => write("info", [inspect(value, options)]),
  dirxml: (...values) => write("info", values),
  table(data, columns) {
    write("info", [Object(data) === data ? tableText(data, columns) : data]);
  },
  assert(condition, ...values) {
    if (!condition) {
      const [first, ...rest] = values;
      if (typeof first === "string") write("error", [`Assertion failed: ${first}`, ...rest]);
      else write("error", ["Assertion failed", ...values]);
    }
  },
  count(label = "default") {
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    write("info", [`${label}: ${count}`]);
  },
  countReset: (label = "default") => void counts.delete(label),
  group(...values) {
    if (values.length > 0) write("info", values);
    indent += "  ";
  },
  groupCollapsed: (...values) => console.group(...values),
  groupEnd: () => void (indent = indent.slice(2)),
  time: (label = "default") => void started.set(label, now()),
  timeLog(label = "default", ...values) {
    const line = elapsed(label);
    if (line) write("info", [line, ...values]);
  },
  timeEnd(label = "default") {
    const line = elapsed(label);
    started.delete(label);
    if (line) write("info", [line]);
  },
  clear() {},
};
console.Console = class Console {
  constructor() {
    return Object.create(console);
  }
};
