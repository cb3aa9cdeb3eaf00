// Key names and parsing of key sequences.
import { isKey, keyName, query } from "pi:terminal";

// Names that extensions write in camel case.
const CAMEL_CASE_NAMES = { pageup: "pageUp", pagedown: "pageDown" };

// Returns the name of a key, such as `ctrl+c`, or undefined if the data is not a key.
export function parseKey(data) {
  if (/^[A-Z]$/.test(data)) return data;
  const name = keyName(data);
  return name === null || name === undefined ? undefined : name.replace(/page(up|down)$/, (name) => CAMEL_CASE_NAMES[name]);
}

// Returns whether the data encodes a key.
export function matchesKey(data, key) {
  return isKey(data, key);
}

// Only sequences of the Kitty protocol contain the event type, after a colon.
const hasEventType = (data) => data.length > 4 && data.startsWith("\u001b[") && data.includes(":");

export function isKeyRelease(data) {
  return hasEventType(data) && query("key.kind", { data }) === "release";
}
export function isKeyRepeat(data) {
  return hasEventType(data) && query("key.kind", { data }) === "repeat";
}

// Returns the character encoded by a sequence of the Kitty protocol.
export function decodeKittyPrintable(data) {
  if (!/^\u001b\[\d+[\d:;]*u$/.test(data)) return undefined;
  return query("key.text", { data }) ?? undefined;
}

export function isKittyProtocolActive() {
  return query("key.isKitty");
}
export function setKittyProtocolActive(active) {
  query("key.setKitty", { active: Boolean(active) });
}

const NAMES = [
  "escape", "esc", "enter", "return", "tab", "space", "backspace", "delete", "insert", "clear", "home", "end", "pageUp", "pageDown",
  "up", "down", "left", "right", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
];
const SYMBOLS = {
  backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\", semicolon: ";", quote: "'", comma: ",",
  period: ".", slash: "/", exclamation: "!", at: "@", hash: "#", dollar: "$", percent: "%", caret: "^", ampersand: "&", asterisk: "*",
  leftparen: "(", rightparen: ")", underscore: "_", plus: "+", pipe: "|", tilde: "~", leftbrace: "{", rightbrace: "}", colon: ":",
  lessthan: "<", greaterthan: ">", question: "?",
};
const COMBINATIONS = [
  "ctrl", "shift", "alt", "super", "ctrlShift", "shiftCtrl", "ctrlAlt", "altCtrl", "shiftAlt", "altShift", "ctrlSuper", "superCtrl",
  "shiftSuper", "superShift", "altSuper", "superAlt", "ctrlShiftAlt", "ctrlShiftSuper",
];
const modifiersOf = (combination) => combination.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`);

export const Key = Object.freeze({
  ...Object.fromEntries(NAMES.map((name) => [name, name])),
  ...SYMBOLS,
  ...Object.fromEntries(COMBINATIONS.map((name) => [name, (key) => `${modifiersOf(name)}+${key}`])),
});
