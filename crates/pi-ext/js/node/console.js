// console.
import { console } from "pi:console";

export default console;
export const { log, info, debug, warn, error, trace, dir, table, assert, count, group, groupEnd, time, timeEnd, timeLog, Console } = console;
