// The program's terminal library, for our components when they run on Node.
const { call } = globalThis[Symbol.for("pi.connection")];
const ask = (method, ...args) => call("terminal", method, args);

export function widthOf(text) {
  return ask("widthOf", text);
}
export function truncateText(text, width, ellipsis) {
  return ask("truncateText", text, width, ellipsis);
}
export function wrapText(text, width) {
  return ask("wrapText", text, width);
}
export function sliceText(line, start, length, strict) {
  return ask("sliceText", line, start, length, strict === true);
}
export function keyName(sequence) {
  return ask("keyName", sequence) ?? undefined;
}
export function isKey(sequence, key) {
  return ask("isKey", sequence, key);
}
export function answer(question, args) {
  return ask("answer", question, args ?? null);
}
export function makePart(kind, options) {
  return ask("makePart", kind, options ?? null);
}
export function callPart(id, method, args) {
  return ask("callPart", id, method, args ?? null);
}
export function dropPart(id) {
  ask("dropPart", id);
}
