// What the terminal can show.
import { answer } from "pi:terminal";

let found;
let overrides = {};
let cell = { widthPx: 9, heightPx: 18 };

export function detectCapabilities() {
  return answer("image.capabilities");
}
export function getCapabilities() {
  return (found ??= { ...detectCapabilities(), ...overrides });
}
export function setCapabilities(capabilities) {
  found = capabilities;
}
export function setCapabilityOverrides(changed) {
  overrides = { ...changed };
  found = undefined;
}
export function resetCapabilitiesCache() {
  found = undefined;
}
export function getCellDimensions() {
  return cell;
}
export function setCellDimensions(dimensions) {
  cell = dimensions;
}
