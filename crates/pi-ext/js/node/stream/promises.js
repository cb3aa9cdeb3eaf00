// stream/promises.
import { promises } from "node:stream";

export default promises;
export const { pipeline, finished } = promises;
