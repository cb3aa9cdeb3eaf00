// Source-mapped stack traces in V8's format.
import { mapPosition } from "pi:native";

function location(site) {
  const file = site.getFileName();
  if (!file) return "native";
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  if (!(line > 0)) return file;
  const mapped = mapPosition(file, line, column > 0 ? column : 1);
  return mapped ? `${file}:${mapped[0]}:${mapped[1]}` : `${file}:${line}:${column}`;
}

function headline(error) {
  try {
    const name = error.name ?? "Error";
    const message = error.message ?? "";
    return message === "" ? String(name) : name === "" ? String(message) : `${name}: ${message}`;
  } catch {
    return "Error";
  }
}

function prepareStackTrace(error, sites) {
  const lines = [headline(error)];
  for (const site of sites) {
    const name = site.getFunctionName();
    const position = location(site);
    lines.push(name && name !== "<anonymous>" ? `    at ${name} (${position})` : `    at ${position}`);
  }
  return lines.join("\n");
}

Error.prepareStackTrace = prepareStackTrace;
