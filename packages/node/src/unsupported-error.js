/** Something that only works inside the process of the agent. */
export class UnsupportedError extends Error {
  constructor(feature, instead) {
    super(`${feature} is not available: the agent runs in another process. ${instead}`);
    this.name = "UnsupportedError";
    this.code = "ERR_PI_UNSUPPORTED";
  }
}
