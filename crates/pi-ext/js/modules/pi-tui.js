// `@earendil-works/pi-tui`: terminal components, keys and text functions.
import { query } from "pi:terminal";

export { CombinedAutocompleteProvider } from "pi:tui/autocomplete";
export { Box } from "pi:tui/box";
export { CancellableLoader } from "pi:tui/cancellable_loader";
export {
  detectCapabilities,
  getCapabilities,
  getCellDimensions,
  resetCapabilitiesCache,
  setCapabilities,
  setCapabilityOverrides,
  setCellDimensions,
} from "pi:tui/capabilities";
export {
  backgroundAnsi,
  colorToHex,
  colorToOkhsl,
  colorToOklch,
  colorToRgb,
  foregroundAnsi,
  getTerminalColorMode,
  indexedColor,
  mixColors,
  okhslColor,
  oklabToOkhslLightness,
  oklchColor,
  parseColor,
  rgbColor,
  styleText,
  styleTextWithAnsi,
} from "pi:tui/colors";
export { compositeTuiLine } from "pi:tui/composite";
export { Container } from "pi:tui/container";
export { Editor } from "pi:tui/editor";
export { fuzzyFilter, fuzzyMatch } from "pi:tui/fuzzy";
export {
  allocateImageId,
  calculateImageRows,
  deleteAllKittyImages,
  deleteKittyImage,
  encodeITerm2,
  encodeKitty,
  getGifDimensions,
  getImageDimensions,
  getJpegDimensions,
  getPngDimensions,
  getWebpDimensions,
  Image,
  imageFallback,
  renderImage,
} from "pi:tui/image";
export { Input } from "pi:tui/input";
export { getKeybindings, KeybindingsManager, setKeybindings, TUI_KEYBINDINGS } from "pi:tui/keybindings";
export {
  decodeKittyPrintable,
  isKeyRelease,
  isKeyRepeat,
  isKittyProtocolActive,
  Key,
  matchesKey,
  parseKey,
  setKittyProtocolActive,
} from "pi:tui/keys";
export { Loader } from "pi:tui/loader";
export { Markdown } from "pi:tui/markdown";
export {
  getOsc8LinkAtColumn,
  sliceByColumn,
  stripTerminalSequences,
  truncateToWidth,
  visibleWidth,
  wrapTextWithAnsi,
} from "pi:tui/measure";
export { MouseRegion } from "pi:tui/mouse_region";
export {
  formatProgramStatus,
  getSelectPageIndex,
  isAppleTerminalSession,
  renderFakeCursor,
  replaceControlCharacters,
  setImageTranscoder,
} from "pi:tui/terminal_text";
export { ProcessTerminal } from "pi:tui/process_terminal";
export { ScrollView } from "pi:tui/scroll_view";
export { SelectList } from "pi:tui/select_list";
export { SettingsList } from "pi:tui/settings_list";
export { Spacer } from "pi:tui/spacer";
export { HStack, VStack } from "pi:tui/stack";
export { StdinBuffer } from "pi:tui/stdin_buffer";
export { parseOsc11BackgroundColor, parseTerminalColorSchemeReport } from "pi:tui/terminal_colors";
export { Text } from "pi:tui/text";
export { TruncatedText } from "pi:tui/truncated_text";

export const CURSOR_MARKER = "\u001b_pi:c\u0007";

export function isFocusable(component) {
  return component !== null && typeof component === "object" && "focused" in component;
}

// Whether the TUI renders the entire screen.
export function isViewportTUI(tui) {
  return tui?.mode === "alt-screen";
}

export function hyperlink(text, url) {
  return `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\`;
}

export function renderLatex(formula) {
  return query("text.latex", { formula });
}

// There is no native clipboard addon; use `copyToClipboard`.
export function getNativeClipboard() {
  return undefined;
}
