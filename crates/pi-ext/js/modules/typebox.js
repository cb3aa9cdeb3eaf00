// `typebox` and `@sinclair/typebox`: schemas.
import { Type } from "pi:pi/schema";

export { Type };
const {
  Any, Array: ArrayOf, BigInt: BigIntOf, Boolean: BooleanOf, Composite, Const, Enum, Index, Integer, Intersect, KeyOf, Literal, Never, Null,
  Number: NumberOf, Object: ObjectOf, Omit, Optional, Partial, Pick, Record, Ref, Required, String: StringOf, Tuple, Undefined, Union, Unknown,
  Unsafe, Void,
} = Type;
export { Any, Composite, Const, Enum, Index, Integer, Intersect, KeyOf, Literal, Never, Null, Omit, Optional };
export { Partial, Pick, Record, Ref, Required, Tuple, Undefined, Union, Unknown, Unsafe, Void };
export { ArrayOf as Array, BigIntOf as BigInt, BooleanOf as Boolean, NumberOf as Number, ObjectOf as Object, StringOf as String };
export default Type;
