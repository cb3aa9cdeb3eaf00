// The terminal API of extensions: the `tui` object passed to factories, overlays, raw input and footer data.
import { call } from "pi:host";
import { componentOf, guarded, invalidateAll, isFocused, mount, requestRedraw, setFocus, unmount } from "pi:pi/mount";
import { refreshTheme } from "pi:pi/theme";

const change = (kind, values) => void call("screen.change", { kind, ...values });
// The state of the screen, with defaults if there is none.
const screenState = () => call("screen.info") ?? { columns: 80, rows: 24, fullscreen: false, expanded: false, statuses: [], providers: 0 };

export const terminal = {
  get columns() {
    return screenState().columns;
  },
  get rows() {
    return screenState().rows;
  },
  get kittyProtocolActive() {
    return screenState().kitty === true;
  },
  write: (data) => change("write", { data: String(data) }),
  setTitle: (title) => void call("ui.notify", { kind: "title", title: String(title) }),
  setProgress: (active) => change("progress", { active: Boolean(active) }),
  // Only the program moves the cursor and clears lines; clearing requests a redraw.
  start() {},
  stop() {},
  async drainInput() {},
  moveBy() {},
  hideCursor() {},
  showCursor() {},
  clearLine() {},
  clearFromCursor() {},
  clearScreen: () => requestRedraw(),
};

const overlays = [];

function describePlacement(options = {}) {
  const { visible, margin, ...rest } = options;
  const edges = typeof margin === "number" ? { top: margin, right: margin, bottom: margin, left: margin } : margin;
  return { kind: "overlay", ...rest, margin: edges, isVisible: isVisible(visible) };
}

function isVisible(visible) {
  return typeof visible === "function" ? guarded("overlay", () => visible(terminal.columns, terminal.rows)) !== false : true;
}

// Shows a component as an overlay and returns its handle.
export function showOverlay(component, options) {
  const id = mount(component, describePlacement(options));
  const overlay = { id, visible: options?.visible, isHidden: false };
  overlays.push(overlay);
  return {
    hide: () => removeOverlay(id),
    setHidden(hidden) {
      overlay.isHidden = Boolean(hidden);
      change("overlayHidden", { id, hidden: overlay.isHidden });
    },
    isHidden: () => overlay.isHidden,
    focus: () => change("focus", { id }),
    unfocus(next) {
      const target = next && (next.target === null ? { nextFocus: null } : { nextFocus: overlayIdOf(next.target) });
      change("overlayReleased", { id, restoreDefault: next === undefined, ...target });
    },
    isFocused: () => isFocused(id),
    getBounds: () => call("screen.overlayBounds", { id }) ?? undefined,
  };
}

function overlayIdOf(component) {
  return overlays.find(({ id }) => componentOf(id) === component)?.id;
}

function removeOverlay(id) {
  const position = overlays.findIndex((overlay) => overlay.id === id);
  if (position >= 0) overlays.splice(position, 1);
  unmount(id);
}

const children = new Map();
const rawListeners = new Set();

// Adds a listener that receives raw input before any component. Returns a function that removes it.
export function listenRaw(listener) {
  rawListeners.add(listener);
  if (rawListeners.size === 1) change("rawInput", { listening: true });
  return () => ignoreRaw(listener);
}

function ignoreRaw(listener) {
  if (rawListeners.delete(listener) && rawListeners.size === 0) change("rawInput", { listening: false });
}

// Called by the program with raw input. Returns the input to process instead, or null if it was consumed.
export function rawInput(data) {
  let current = data;
  for (const listener of [...rawListeners]) {
    const result = guarded("onTerminalInput", () => listener(current));
    if (result?.consume) return null;
    if (typeof result?.data === "string") current = result.data;
    if (current === "") return null;
  }
  return current;
}

const schemeListeners = new Set();
const sizeListeners = new Set();

// Adds a listener for terminal resizes. Returns a function that removes it.
export function listenResized(listener) {
  sizeListeners.add(listener);
  return () => void sizeListeners.delete(listener);
}

// Called by the program when the terminal was resized.
export function resized() {
  for (const listener of [...sizeListeners]) guarded("onResize", () => listener?.());
  for (const { id, visible } of overlays) {
    if (typeof visible === "function") change("overlayVisible", { id, visible: isVisible(visible) });
  }
}

// Called by the program when the theme changed.
export function themeChanged(scheme) {
  refreshTheme();
  invalidateAll();
  for (const listener of [...schemeListeners]) guarded("onTerminalColorSchemeChange", () => listener(scheme));
}

export const tui = {
  get mode() {
    return screenState().fullscreen ? "fullscreen" : "regular";
  },
  terminal,
  fullRedraws: 0,
  get children() {
    return [...children.keys()];
  },
  addChild(component) {
    if (!children.has(component)) children.set(component, mount(component, { kind: "bottom" }));
  },
  removeChild(component) {
    const id = children.get(component);
    if (id === undefined) return;
    children.delete(component);
    unmount(id);
  },
  clear() {
    for (const component of [...children.keys()]) tui.removeChild(component);
  },
  setFocus,
  getFocusedComponent: () => null,
  showOverlay,
  hideOverlay() {
    const last = overlays.at(-1);
    if (last) removeOverlay(last.id);
  },
  hasOverlay: () => overlays.some(({ isHidden }) => !isHidden),
  requestRender: () => requestRedraw(),
  renderNow: () => requestRedraw(),
  invalidate: () => invalidateAll(),
  render: () => [],
  start() {},
  stop() {},
  addInputListener: listenRaw,
  removeInputListener: ignoreRaw,
  getShowHardwareCursor: () => screenState().hardwareCursor === true,
  setShowHardwareCursor() {},
  getClearOnShrink: () => false,
  setClearOnShrink() {},
  onTerminalColorSchemeChange(listener) {
    schemeListeners.add(listener);
    return () => void schemeListeners.delete(listener);
  },
  setTerminalColorSchemeNotifications() {},
  queryTerminalBackgroundColor: async () => undefined,
  queryTerminalColorScheme: async () => screenState().scheme,
};

const branchListeners = new Set();

// Called by the program when another git branch is checked out.
export function branchChanged() {
  for (const listener of [...branchListeners]) guarded("onBranchChange", listener);
}

export const footerData = {
  getGitBranch: () => screenState().branch ?? null,
  getExtensionStatuses: () => new Map(screenState().statuses),
  getAvailableProviderCount: () => screenState().providers,
  onBranchChange(listener) {
    branchListeners.add(listener);
    return () => void branchListeners.delete(listener);
  },
};
