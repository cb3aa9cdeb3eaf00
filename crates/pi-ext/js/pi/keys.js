// Names for what a keyboard sends.
const NAMED = {
  "\r": "enter", "\n": "shift+enter", "\t": "tab", "\u001b": "escape", "\u007f": "backspace", "\b": "ctrl+backspace", " ": "space",
  "\u001b[A": "up", "\u001b[B": "down", "\u001b[C": "right", "\u001b[D": "left", "\u001bOA": "up", "\u001bOB": "down", "\u001bOC": "right",
  "\u001bOD": "left", "\u001b[H": "home", "\u001b[F": "end", "\u001b[1~": "home", "\u001b[4~": "end", "\u001b[2~": "insert",
  "\u001b[3~": "delete", "\u001b[5~": "pageUp", "\u001b[6~": "pageDown", "\u001b[Z": "shift+tab", "\u001bOP": "f1", "\u001bOQ": "f2",
  "\u001bOR": "f3", "\u001bOS": "f4", "\u001b[15~": "f5", "\u001b[17~": "f6", "\u001b[18~": "f7", "\u001b[19~": "f8", "\u001b[20~": "f9",
  "\u001b[21~": "f10", "\u001b[23~": "f11", "\u001b[24~": "f12",
};
const CODES = { 9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace", 57414: "enter" };
const LETTERS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end" };
const NUMBERS = { 2: "insert", 3: "delete", 5: "pageUp", 6: "pageDown", 1: "home", 4: "end" };
const MODIFIERS = [["shift", 1], ["alt", 2], ["ctrl", 4], ["super", 8]];

function withModifiers(name, mask) {
  return [...MODIFIERS.filter(([, bit]) => mask & bit).map(([modifier]) => modifier), name].join("+");
}

// The parts of a key in one order, so that two spellings of it are the same.
function normalized(key) {
  const parts = key.toLowerCase().split("+").map((part) => ({ esc: "escape", return: "enter" })[part] ?? part);
  const name = parts.pop();
  return [...parts.sort(), name === "" ? "+" : name].join("+");
}

// Returns the name of a key, such as `ctrl+c`; none where the data is no key.
export function parseKey(data) {
  if (Object.hasOwn(NAMED, data)) return NAMED[data];
  const kitty = /^\u001b\[(\d+)(?::\d*)*(?:;(\d+)(?::(\d))?)?u$/.exec(data);
  if (kitty) {
    const code = Number(kitty[1]);
    return withModifiers(CODES[code] ?? String.fromCodePoint(code), Number(kitty[2] ?? 1) - 1);
  }
  const letter = /^\u001b\[1;(\d+)(?::\d)?([A-DHF])$/.exec(data);
  if (letter) return withModifiers(LETTERS[letter[2]], Number(letter[1]) - 1);
  const number = /^\u001b\[(\d);(\d+)(?::\d)?~$/.exec(data);
  if (number && NUMBERS[number[1]]) return withModifiers(NUMBERS[number[1]], Number(number[2]) - 1);
  if (data.length === 1 && data < " ") return `ctrl+${String.fromCharCode(data.charCodeAt(0) + 96)}`;
  if (data.length === 2 && data[0] === "\u001b") {
    const rest = parseKey(data[1]);
    return rest && `alt+${rest}`;
  }
  if ([...data].length !== 1) return undefined;
  return /[A-Z]/.test(data) ? `shift+${data.toLowerCase()}` : data;
}

// Tells whether data is a key.
export function matchesKey(data, key) {
  if (key === "enter" && data === "\n") return false;
  const parsed = parseKey(data);
  return parsed !== undefined && normalized(parsed) === normalized(key);
}

export function isKeyRelease(data) {
  return /^\u001b\[[\d;]*:3[u~A-DHF]$/.test(data);
}
export function isKeyRepeat(data) {
  return /^\u001b\[[\d;]*:2[u~A-DHF]$/.test(data);
}

const combined = (...modifiers) => (key) => [...modifiers, key].join("+");
export const Key = {
  escape: "escape", esc: "esc", enter: "enter", return: "return", tab: "tab", space: "space", backspace: "backspace", delete: "delete",
  insert: "insert", home: "home", end: "end", pageUp: "pageUp", pageDown: "pageDown", up: "up", down: "down", left: "left", right: "right",
  f1: "f1", f2: "f2", f3: "f3", f4: "f4", f5: "f5", f6: "f6", f7: "f7", f8: "f8", f9: "f9", f10: "f10", f11: "f11", f12: "f12",
  ctrl: combined("ctrl"), shift: combined("shift"), alt: combined("alt"), super: combined("super"),
  ctrlShift: combined("ctrl", "shift"), shiftCtrl: combined("shift", "ctrl"), ctrlAlt: combined("ctrl", "alt"), altCtrl: combined("alt", "ctrl"),
  shiftAlt: combined("shift", "alt"), altShift: combined("alt", "shift"), ctrlShiftAlt: combined("ctrl", "shift", "alt"),
};
