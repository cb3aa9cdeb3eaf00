// sys: the old name of util.
import util from "node:util";

export default util;
