// Extension components on the terminal. The program refers to each by an ID: it requests rendered lines and sends
// input, focus and theme changes.
import { call, charged, FIRST_ID } from "pi:host";
import { rendering } from "pi:pi/costs";
import { messageOf, reportError } from "pi:pi/report";

const mounts = new Map();
const idByComponent = new WeakMap();
let lastId = FIRST_ID;
// Whether a redraw was requested since the last render.
let redrawRequested = false;

function change(kind, values) {
  call("screen.change", { kind, ...values });
}

// Requests a redraw of all mounted components.
export function requestRedraw() {
  if (redrawRequested) return;
  redrawRequested = true;
  change("redraw");
}

// Mounts a component at `placement` and returns its ID.
export function mount(component, placement) {
  if (typeof component?.render !== "function") throw new TypeError("a component must have a render function");
  const id = ++lastId;
  mounts.set(id, { component, extension: charged(), target: undefined, isFocused: false, takesWheel: false });
  idByComponent.set(component, id);
  change("mount", { id, placement, keyRelease: component.wantsKeyRelease === true });
  return id;
}

// Unmounts and disposes a component.
export function unmount(id) {
  const mounted = mounts.get(id);
  if (!mounted) return;
  mounts.delete(id);
  idByComponent.delete(mounted.component);
  change("unmount", { id });
  try {
    mounted.component.dispose?.();
  } catch (error) {
    reportError(undefined, "dispose", error);
  }
}

// Called by the program to unmount all components of an extension.
export function unmountAll(extension) {
  for (const [id, mounted] of [...mounts]) if (mounted.extension === extension) unmount(id);
}

export function componentOf(id) {
  return mounts.get(id)?.component;
}

export function isFocused(id) {
  return mounts.get(id)?.isFocused === true;
}

function contains(parent, child) {
  return parent === child || (Array.isArray(parent?.children) && parent.children.some((nested) => contains(nested, child)));
}

// Focuses a component, which may be nested in a mounted one. `null` removes the focus.
export function setFocus(component) {
  if (component === null || component === undefined) {
    change("focus", { id: null });
    return;
  }
  const known = idByComponent.get(component);
  if (known !== undefined) {
    mounts.get(known).target = undefined;
    change("focus", { id: known });
    return;
  }
  const parent = [...mounts].find(([, mounted]) => contains(mounted.component, component)) ?? [...mounts].find(([, mounted]) => mounted.isFocused);
  if (!parent) return;
  const [id, mounted] = parent;
  applyFocus(mounted, false);
  mounted.target = component;
  applyFocus(mounted, mounted.isFocused);
  change("focus", { id });
}

function receiver(mounted) {
  return mounted.target ?? mounted.component;
}

function applyFocus(mounted, focused) {
  const component = receiver(mounted);
  if (component !== null && typeof component === "object" && "focused" in component) component.focused = focused;
}

// Returns bit flags of a component: 1 = receives key releases, 2 = receives mouse events, 4 = handled the last
// wheel event.
function flagsOf(mounted) {
  const wantsRelease = receiver(mounted).wantsKeyRelease === true;
  const wantsMouse = typeof mounted.component.handleMouse === "function";
  return (wantsRelease ? 1 : 0) + (wantsMouse ? 2 : 0) + (mounted.takesWheel ? 4 : 0);
}

// Called by the program to render a component. Returns the flags, then each line after a line feed.
export function render(id, width) {
  redrawRequested = false;
  const mounted = mounts.get(id);
  if (!mounted) return null;
  const lines = rendering(mounted.extension, () => mounted.component.render(width));
  if (!Array.isArray(lines)) throw new TypeError("render must return an array of lines");
  const flags = String(flagsOf(mounted));
  return lines.length === 0 ? flags : `${flags}\n${lines.join("\n")}`;
}

// Called by the program with keyboard input.
export function input(id, data) {
  const mounted = mounts.get(id);
  const component = mounted && receiver(mounted);
  if (typeof component?.handleInput === "function") reportRejection(component.handleInput(data), "handleInput");
}

// Called by the program with a mouse event inside a component.
export function mouse(id, event) {
  const mounted = mounts.get(id);
  const result = mounted?.component.handleMouse?.(event);
  if (!mounted) return;
  if (event.type === "wheel") mounted.takesWheel = Boolean(result?.handled || result?.capture || result?.focus);
  if (result?.focus) setFocus(result.focusTarget ?? mounted.component);
}

// Called by the program when a component gains or loses focus.
export function focusChanged(id, focused) {
  const mounted = mounts.get(id);
  if (!mounted) return;
  mounted.isFocused = focused;
  applyFocus(mounted, focused);
}

// Called by the program when cached lines of components are stale.
export function invalidateAll() {
  for (const { component } of mounts.values()) component.invalidate?.();
}

// Reports the rejection of a handler's promise, which nothing else awaits.
function reportRejection(result, event) {
  if (typeof result?.then === "function") result.then(undefined, (error) => reportError(undefined, event, error));
}

// Calls an extension function and reports its exception instead of throwing it.
export function guarded(event, work) {
  try {
    return work();
  } catch (error) {
    reportError(undefined, event, new Error(messageOf(error)));
    return undefined;
  }
}
