// Names of the TypeScript pi that need its process. They can be imported; using one throws.

import { UnsupportedError } from "./unsupported-error.js";

const IN_PROCESS = "Extensions run in the agent: put the code into an extension file and pass its path in additionalExtensionPaths.";
const MODES = "Start the binary instead: main(args), or `pi` from a shell.";
const SUMMARIES = "Call compact or navigateTree of a session.";
const PACKAGES = "Run `pi install`, `pi list` and `pi update`.";
const TRUST = "Run pi in the directory, or pass --approve.";

function unsupported(name, instead) {
  // A function can be called and constructed; both throw.
  return {
    [name]: function () {
      throw new UnsupportedError(name, instead);
    },
  }[name];
}

export const ExtensionRunner = unsupported("ExtensionRunner", IN_PROCESS);
export const createExtensionRuntime = unsupported("createExtensionRuntime", IN_PROCESS);
export const discoverAndLoadExtensions = unsupported("discoverAndLoadExtensions", IN_PROCESS);
export const wrapRegisteredTool = unsupported("wrapRegisteredTool", IN_PROCESS);
export const wrapRegisteredTools = unsupported("wrapRegisteredTools", IN_PROCESS);
export const createCodemodeExtension = unsupported("createCodemodeExtension", IN_PROCESS);
export const createMcpExtension = unsupported("createMcpExtension", IN_PROCESS);
export const createToolSearchExtension = unsupported("createToolSearchExtension", IN_PROCESS);
export const InteractiveMode = unsupported("InteractiveMode", MODES);
export const runPrintMode = unsupported("runPrintMode", MODES);
export const runRpcMode = unsupported("runRpcMode", MODES);
export const compact = unsupported("compact", SUMMARIES);
export const generateSummary = unsupported("generateSummary", SUMMARIES);
export const generateBranchSummary = unsupported("generateBranchSummary", SUMMARIES);
export const DefaultPackageManager = unsupported("DefaultPackageManager", PACKAGES);
export const ProjectTrustStore = unsupported("ProjectTrustStore", TRUST);
