// Reports errors of extensions to the program.
import { mainScope } from "pi:pi/scope";

// Returns the message of a thrown value.
export function messageOf(error) {
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : String(error);
}

// Reports an error in an extension's code.
export function reportError(extensionPath, event, error, { call } = mainScope) {
  call("program.reportError", { extensionPath, event, error: messageOf(error), stack: error?.stack });
}
