// constants.
import { constants } from "node:fs";

export default { ...constants };
