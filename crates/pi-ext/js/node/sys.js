// sys, the deprecated alias of util.
import util from "node:util";

export default util;
