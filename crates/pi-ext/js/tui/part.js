// Components whose state the terminal library keeps: JavaScript holds a number, and the part goes when nobody
// holds that any more.
import { callPart, dropPart, makePart } from "pi:terminal";

const forgotten = new FinalizationRegistry((id) => dropPart(id));

// Makes a part for a component and returns the function that calls its methods.
export function partFor(owner, kind, options) {
  const id = makePart(kind, options);
  forgotten.register(owner, id);
  return (method, args) => callPart(id, method, args);
}

// Stands where the text would be while a function is asked what it puts around one.
const MARK = "\ue000\ue001";

// Returns what a function of a theme puts before and after a text.
export function paintOf(paint, ...more) {
  if (typeof paint !== "function") return ["", ""];
  const around = String(paint(MARK, ...more)).split(MARK);
  return around.length === 2 ? around : ["", ""];
}

// Does so for all functions of a theme.
export function paintsOf(theme = {}) {
  const functions = Object.entries(theme).filter(([name, paint]) => typeof paint === "function" && name !== "highlightCode");
  return Object.fromEntries(functions.map(([name, paint]) => [name, paintOf(paint)]));
}
