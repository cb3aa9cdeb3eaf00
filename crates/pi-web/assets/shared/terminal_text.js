// Command output: colors become spans, all other control sequences are dropped.

import { element } from "./element.js";

const CONTROL = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const BASIC_COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** Renders command output with its colors. */
export function terminalText(text) {
  const fragment = document.createDocumentFragment();
  const style = { classes: new Set(), color: undefined, background: undefined };
  let from = 0;
  const flush = (to) => {
    if (to > from) fragment.append(styled(text.slice(from, to), style));
  };
  for (const match of text.matchAll(CONTROL)) {
    flush(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") applyGraphics(match[1], style);
  }
  flush(text.length);
  return fragment;
}

/** Removes control sequences from a text. */
export function plainText(text) {
  return text.replace(CONTROL, "");
}

/** Keeps the part of each line that stays visible after carriage returns. */
export function applyCarriageReturns(text) {
  if (!text.includes("\r")) return text;
  const lines = text.replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => line.slice(line.lastIndexOf("\r") + 1)).join("\n");
}

function styled(text, { classes, color, background }) {
  if (classes.has("t-inverse")) [color, background] = [background ?? "var(--page)", color ?? "var(--ink)"];
  if (classes.size === 0 && color === undefined && background === undefined) return document.createTextNode(text);
  const span = element("span", { class: [...classes].join(" ") || undefined }, text);
  // Set through the style object: the content security policy blocks style attributes.
  if (color !== undefined) span.style.color = color;
  if (background !== undefined) span.style.backgroundColor = background;
  return span;
}

function applyGraphics(parameters, style) {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  const drop = (prefix) => {
    for (const name of style.classes) if (name.startsWith(prefix)) style.classes.delete(name);
  };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at];
    if (code === 0) {
      style.classes.clear();
      style.color = style.background = undefined;
    } else if (code === 1) style.classes.add("t-bold");
    else if (code === 2) style.classes.add("t-dim");
    else if (code === 3) style.classes.add("t-italic");
    else if (code === 4) style.classes.add("t-underline");
    else if (code === 7) style.classes.add("t-inverse");
    else if (code === 9) style.classes.add("t-strike");
    else if (code === 22) { drop("t-bold"); drop("t-dim"); }
    else if (code === 23) drop("t-italic");
    else if (code === 24) drop("t-underline");
    else if (code === 27) drop("t-inverse");
    else if (code === 29) drop("t-strike");
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      drop("t-fg-");
      style.color = undefined;
      style.classes.add(`t-fg-${BASIC_COLORS[code % 10]}`);
    } else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) {
      drop("t-bg-");
      style.background = undefined;
      style.classes.add(`t-bg-${BASIC_COLORS[code % 10]}`);
    } else if (code === 39) { drop("t-fg-"); style.color = undefined; }
    else if (code === 49) { drop("t-bg-"); style.background = undefined; }
    else if (code === 38 || code === 48) {
      const [color, taken] = extendedColor(codes.slice(at + 1, at + 5));
      at += taken;
      drop(code === 38 ? "t-fg-" : "t-bg-");
      style[code === 38 ? "color" : "background"] = color;
    }
  }
}

/**
 * Parses `5;n` or `2;r;g;b`. Returns the color and the number of parameters consumed.
 * @returns {[string | undefined, number]}
 */
function extendedColor([form, first, second, third]) {
  const byte = (number) => Math.min(255, Math.max(0, Number(number) || 0));
  if (form === 2) return [`rgb(${byte(first)}, ${byte(second)}, ${byte(third)})`, 4];
  if (form !== 5) return [undefined, 1];
  const index = byte(first);
  if (index < 16) return [`var(--t-${BASIC_COLORS[index % 8]})`, 2];
  if (index >= 232) {
    const gray = 8 + (index - 232) * 10;
    return [`rgb(${gray}, ${gray}, ${gray})`, 2];
  }
  const level = (step) => (step === 0 ? 0 : 55 + step * 40);
  const cube = index - 16;
  return [`rgb(${level(Math.floor(cube / 36))}, ${level(Math.floor(cube / 6) % 6)}, ${level(cube % 6)})`, 2];
}
