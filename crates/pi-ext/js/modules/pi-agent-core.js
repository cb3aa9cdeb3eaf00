// `@earendil-works/pi-agent-core`: what extensions use of the agent's own package.
import { call } from "pi:host";
export { uuidv7 } from "pi:modules/pi-ai";
export { formatSize, truncateHead, truncateLine, truncateTail } from "pi:pi/truncate";

export function convertToLlm(messages) {
  return call("messages.toModel", { messages });
}
