// Terminal capabilities.
import { query } from "pi:terminal";

let cached;
let overrides = {};
let cell = { widthPx: 9, heightPx: 18 };

export function detectCapabilities() {
  return query("image.capabilities");
}
export function getCapabilities() {
  return (cached ??= { ...detectCapabilities(), ...overrides });
}
export function setCapabilities(capabilities) {
  cached = capabilities;
}
export function setCapabilityOverrides(changed) {
  overrides = { ...changed };
  cached = undefined;
}
export function resetCapabilitiesCache() {
  cached = undefined;
}
export function getCellDimensions() {
  return cell;
}
export function setCellDimensions(dimensions) {
  cell = dimensions;
}
