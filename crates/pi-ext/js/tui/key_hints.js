// Key hints.
import { theme } from "pi:pi/theme";
import { getKeybindings } from "pi:tui/keybindings";

const keyLabel = (part) => (process.platform === "darwin" && part.toLowerCase() === "alt" ? "option" : part);
const formatKeys = (keys) => keys.split("/").map((key) => key.split("+").map(keyLabel).join("+")).join("/");
const hint = (keys, description) => theme.fg("dim", keys) + theme.fg("muted", ` ${description}`);

export function keyText(keybinding) {
  return formatKeys(getKeybindings().getKeys(keybinding).join("/"));
}
export function keyHint(keybinding, description) {
  return hint(keyText(keybinding), description);
}
export function rawKeyHint(key, description) {
  return hint(formatKeys(key), description);
}
