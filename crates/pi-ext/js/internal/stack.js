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

// V8's wording of errors that the engine throws, which people search for and programs match.
const WORDING = new Map([
  ["circular reference", "Converting circular structure to JSON"],
  ["cannot convert to object", "Cannot convert undefined or null to object"],
  ["cannot convert symbol to string", "Cannot convert a Symbol value to a string"],
  ["cannot convert symbol to number", "Cannot convert a Symbol value to a number"],
  ["invalid array length", "Invalid array length"],
  ["invalid string length", "Invalid string length"],
  ["invalid 'instanceof' right operand", "Right-hand side of 'instanceof' is not callable"],
]);
const ACCESS = /^cannot (read|set) property '([^]*)' of (undefined|null)$/;

function reword(error) {
  try {
    if (!(error instanceof TypeError || error instanceof RangeError)) return;
    const { message } = error;
    const access = ACCESS.exec(message);
    const wording = access ? `Cannot ${access[1]} properties of ${access[3]} (${access[1] === "read" ? "reading" : "setting"} '${access[2]}')` : WORDING.get(message);
    if (wording !== undefined) error.message = wording;
  } catch {
    // The error may be a proxy or frozen.
  }
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
  reword(error);
  const lines = [headline(error)];
  for (const site of sites) {
    const name = site.getFunctionName();
    const position = location(site);
    lines.push(name && name !== "<anonymous>" ? `    at ${name} (${position})` : `    at ${position}`);
  }
  return lines.join("\n");
}

Error.prepareStackTrace = prepareStackTrace;
