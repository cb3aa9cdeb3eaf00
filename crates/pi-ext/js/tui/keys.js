// Names for what a keyboard sends.
import { answer, isKey, keyName } from "pi:terminal";

// Extensions write some keys in two words.
const SPELLINGS = { pageup: "pageUp", pagedown: "pageDown" };

// Returns the name of a key, such as `ctrl+c`; none where the data is no key.
export function parseKey(data) {
  if (/^[A-Z]$/.test(data)) return data;
  const name = keyName(data);
  return name === null || name === undefined ? undefined : name.replace(/page(up|down)$/, (word) => SPELLINGS[word]);
}

// Returns whether data is a key.
export function matchesKey(data, key) {
  return isKey(data, key);
}

// Only a sequence of the Kitty protocol tells what happened to a key, behind a colon.
const hasKind = (data) => data.length > 4 && data.startsWith("\u001b[") && data.includes(":");

export function isKeyRelease(data) {
  return hasKind(data) && answer("key.kind", { data }) === "release";
}
export function isKeyRepeat(data) {
  return hasKind(data) && answer("key.kind", { data }) === "repeat";
}

// Returns the character that a sequence of the Kitty protocol types.
export function decodeKittyPrintable(data) {
  if (!/^\u001b\[\d+[\d:;]*u$/.test(data)) return undefined;
  return answer("key.text", { data }) ?? undefined;
}

export function isKittyProtocolActive() {
  return answer("key.isKitty");
}
export function setKittyProtocolActive(active) {
  answer("key.setKitty", { active: Boolean(active) });
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
