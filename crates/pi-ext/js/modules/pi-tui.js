// `@earendil-works/pi-tui`: components, keys and text for the terminal.
import { Box, Container, Spacer, Text, TruncatedText } from "pi:pi/components";
import { isKeyRelease, isKeyRepeat, Key, matchesKey, parseKey } from "pi:pi/keys";
import { sliceByColumn, stripTerminalSequences, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "pi:pi/text_width";

export { Box, Container, Spacer, Text, TruncatedText };
export { isKeyRelease, isKeyRepeat, Key, matchesKey, parseKey };
export { sliceByColumn, stripTerminalSequences, truncateToWidth, visibleWidth, wrapTextWithAnsi };

export const CURSOR_MARKER = "\u001b_pi:c\u0007";

export function isFocusable(component) {
  return component !== null && typeof component === "object" && "focused" in component;
}

export function hyperlink(text, url) {
  return `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\`;
}
