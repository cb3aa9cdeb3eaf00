// Keys as hints name them.
import { theme } from "pi:pi/theme";
import { getKeybindings } from "pi:tui/keybindings";

const named = (part) => (process.platform === "darwin" && part.toLowerCase() === "alt" ? "option" : part);
const spelled = (key) => key.split("/").map((one) => one.split("+").map(named).join("+")).join("/");
const hint = (keys, description) => theme.fg("dim", keys) + theme.fg("muted", ` ${description}`);

export function keyText(keybinding) {
  return spelled(getKeybindings().getKeys(keybinding).join("/"));
}
export function keyHint(keybinding, description) {
  return hint(keyText(keybinding), description);
}
export function rawKeyHint(key, description) {
  return hint(spelled(key), description);
}
