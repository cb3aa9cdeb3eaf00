// assert/strict.
import { strict } from "node:assert";

export default strict;
export const { AssertionError, ok, equal, notEqual, strictEqual, notStrictEqual, deepEqual, notDeepEqual, deepStrictEqual, notDeepStrictEqual, match, doesNotMatch, fail, ifError, throws, doesNotThrow, rejects, doesNotReject } = strict;
export { strict };
