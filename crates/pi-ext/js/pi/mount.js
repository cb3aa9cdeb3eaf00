// Components of extensions on the terminal. The program knows each by a number and asks for its lines, hands it
// keys and tells it what changed; everything else about a component stays here.
import { call, FIRST_NUMBER } from "pi:host";
import { messageOf, reportError } from "pi:pi/report";

const mounts = new Map();
const numbers = new WeakMap();
let lastNumber = FIRST_NUMBER;
// A redraw was asked for and nothing has been drawn since.
let redrawAsked = false;

function change(kind, what) {
  call("ui.change", { kind, ...what });
}

// Asks for new lines of everything that is on the screen.
export function requestRedraw() {
  if (redrawAsked) return;
  redrawAsked = true;
  change("redraw");
}

// Puts a component on the screen; `place` says where. Returns its number.
export function mount(component, place) {
  if (typeof component?.render !== "function") throw new TypeError("a component needs a render function");
  const id = ++lastNumber;
  mounts.set(id, { component, target: undefined, isFocused: false, takesWheel: false });
  numbers.set(component, id);
  change("mount", { id, place, keyRelease: component.wantsKeyRelease === true });
  return id;
}

// Takes a component off the screen and lets it clean up.
export function unmount(id) {
  const mounted = mounts.get(id);
  if (!mounted) return;
  mounts.delete(id);
  numbers.delete(mounted.component);
  change("unmount", { id });
  try {
    mounted.component.dispose?.();
  } catch (error) {
    reportError(undefined, "dispose", error);
  }
}

export function componentOf(id) {
  return mounts.get(id)?.component;
}

export function isFocused(id) {
  return mounts.get(id)?.isFocused === true;
}

function contains(parent, child) {
  return parent === child || (Array.isArray(parent?.children) && parent.children.some((one) => contains(one, child)));
}

// Gives the keyboard to a component, which may be a part of one that is on the screen; to nobody with null.
export function setFocus(component) {
  if (component === null || component === undefined) {
    change("focus", { id: null });
    return;
  }
  const known = numbers.get(component);
  if (known !== undefined) {
    mounts.get(known).target = undefined;
    change("focus", { id: known });
    return;
  }
  const holder = [...mounts].find(([, mounted]) => contains(mounted.component, component)) ?? [...mounts].find(([, mounted]) => mounted.isFocused);
  if (!holder) return;
  const [id, mounted] = holder;
  tellFocus(mounted, false);
  mounted.target = component;
  tellFocus(mounted, mounted.isFocused);
  change("focus", { id });
}

function receiver(mounted) {
  return mounted.target ?? mounted.component;
}

function tellFocus(mounted, focused) {
  const component = receiver(mounted);
  if (component !== null && typeof component === "object" && "focused" in component) component.focused = focused;
}

// What the program must know of a component besides its lines: 1 where it hears of released keys, 2 where it hears
// of the mouse, 4 where it took the last turn of the wheel; together as a sum.
function marks(mounted) {
  const hearsRelease = receiver(mounted).wantsKeyRelease === true;
  const hearsMouse = typeof mounted.component.handleMouse === "function";
  return (hearsRelease ? 1 : 0) + (hearsMouse ? 2 : 0) + (mounted.takesWheel ? 4 : 0);
}

// Called by the program: the lines of a component at a width, each after a line feed. Before them stand its marks.
export function render(id, width) {
  redrawAsked = false;
  const mounted = mounts.get(id);
  if (!mounted) return null;
  const lines = mounted.component.render(width);
  if (!Array.isArray(lines)) throw new TypeError("render must return an array of lines");
  const mark = String(marks(mounted));
  return lines.length === 0 ? mark : `${mark}\n${lines.join("\n")}`;
}

// Called by the program with what was typed.
export function input(id, data) {
  const mounted = mounts.get(id);
  const component = mounted && receiver(mounted);
  if (typeof component?.handleInput === "function") watch(component.handleInput(data), "handleInput");
}

// Called by the program with what the mouse did inside of a component.
export function mouse(id, event) {
  const mounted = mounts.get(id);
  const result = mounted?.component.handleMouse?.(event);
  if (!mounted) return;
  if (event.type === "wheel") mounted.takesWheel = Boolean(result?.handled || result?.capture || result?.focus);
  if (result?.focus) setFocus(result.focusTarget ?? mounted.component);
}

// Called by the program when a component gains or loses the keyboard.
export function focusChanged(id, focused) {
  const mounted = mounts.get(id);
  if (!mounted) return;
  mounted.isFocused = focused;
  tellFocus(mounted, focused);
}

// Called by the program when lines that were kept by components are out of date.
export function invalidateAll() {
  for (const { component } of mounts.values()) component.invalidate?.();
}

// Nobody waits for the promise of a handler; its failure is told all the same.
function watch(result, event) {
  if (typeof result?.then === "function") result.then(undefined, (error) => reportError(undefined, event, error));
}

// Calls a function of an extension whose failure must not end what is going on.
export function guarded(event, work) {
  try {
    return work();
  } catch (error) {
    reportError(undefined, event, new Error(messageOf(error)));
    return undefined;
  }
}
