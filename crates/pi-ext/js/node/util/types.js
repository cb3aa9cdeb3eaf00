// util/types.
import { types } from "node:util";

export default types;
export const { isPromise, isRegExp, isDate, isMap, isSet, isWeakMap, isWeakSet, isNativeError, isTypedArray, isUint8Array, isArrayBuffer, isAnyArrayBuffer, isArrayBufferView, isDataView, isAsyncFunction, isGeneratorFunction, isGeneratorObject, isProxy, isBoxedPrimitive } = types;
