// The module `pi:terminal` on Node: the program's TUI library.
const { call } = globalThis[Symbol.for("pi.connection")];
const callTerminal = (method, ...args) => call("terminal", method, args);

export function widthOf(text) {
  return callTerminal("widthOf", text);
}
export function truncateText(text, width, ellipsis) {
  return callTerminal("truncateText", text, width, ellipsis);
}
export function wrapText(text, width) {
  return callTerminal("wrapText", text, width);
}
export function sliceText(line, start, length, strict) {
  return callTerminal("sliceText", line, start, length, strict === true);
}
export function keyName(sequence) {
  return callTerminal("keyName", sequence) ?? undefined;
}
export function isKey(sequence, key) {
  return callTerminal("isKey", sequence, key);
}
export function query(name, args) {
  return callTerminal("query", name, args ?? null);
}
export function createWidget(kind, options) {
  return callTerminal("createWidget", kind, options ?? null);
}
export function callWidget(id, method, args) {
  return callTerminal("callWidget", id, method, args ?? null);
}
export function dropWidget(id) {
  callTerminal("dropWidget", id);
}
