// Tells the program what went wrong in an extension.
import { call } from "pi:host";

// Returns the words of whatever was thrown.
export function messageOf(error) {
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : String(error);
}

// Reports a failure of an extension's own code.
export function reportError(extensionPath, event, error) {
  call("error", { extensionPath, event, error: messageOf(error), stack: error?.stack });
}
