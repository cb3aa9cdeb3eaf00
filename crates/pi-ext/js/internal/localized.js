// Routes `toLocaleString` and related methods to `Intl`. Must run before intrinsics are recorded, so that restoring
// them keeps these methods.
import { requireModule } from "pi:native";

function localized(prototype, name, format) {
  Object.defineProperty(prototype, name, {
    value(...options) {
      return format(requireModule("pi:web/intl"), this, options);
    },
    writable: true,
    configurable: true,
  });
}
localized(Number.prototype, "toLocaleString", (intl, value, options) => intl.formatNumber(value, ...options));
localized(BigInt.prototype, "toLocaleString", (intl, value, options) => intl.formatNumber(value, ...options));
localized(Date.prototype, "toLocaleString", (intl, value, options) => intl.formatDate(value, "any", ...options));
localized(Date.prototype, "toLocaleDateString", (intl, value, options) => intl.formatDate(value, "date", ...options));
localized(Date.prototype, "toLocaleTimeString", (intl, value, options) => intl.formatDate(value, "time", ...options));
localized(String.prototype, "localeCompare", (intl, value, options) => intl.compare(String(value), ...options));
