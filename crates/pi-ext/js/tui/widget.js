// Native widgets: components whose state lives in the TUI library. JavaScript holds an ID, and the widget is dropped
// when its component is garbage collected.
import { callWidget, createWidget, dropWidget } from "pi:terminal";

const finalizers = new FinalizationRegistry((id) => dropWidget(id));

// Creates a native widget for a component and returns a function that calls its methods.
export function widgetFor(owner, kind, options) {
  const id = createWidget(kind, options);
  finalizers.register(owner, id);
  return (method, args) => callWidget(id, method, args);
}

// Placeholder text for finding out what a style function adds around a text.
const PLACEHOLDER = "\ue000\ue001";

// Returns the text that a style function adds before and after its argument.
export function styleOf(style, ...args) {
  if (typeof style !== "function") return ["", ""];
  const around = String(style(PLACEHOLDER, ...args)).split(PLACEHOLDER);
  return around.length === 2 ? around : ["", ""];
}

// Returns the styles of all functions of a theme.
export function stylesOf(theme = {}) {
  const functions = Object.entries(theme).filter(([name, style]) => typeof style === "function" && name !== "highlightCode");
  return Object.fromEntries(functions.map(([name, style]) => [name, styleOf(style)]));
}
