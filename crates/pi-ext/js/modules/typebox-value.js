// `typebox/value`: validation of values.
import { assertValid, check, errorsOf, parse, withDefaults } from "pi:pi/schema_check";

export function Check(schema, value) {
  return check(schema, value);
}
export function Errors(schema, value) {
  return errorsOf(schema, value);
}
export function Clone(value) {
  return structuredClone(value);
}
export function Default(schema, value) {
  return withDefaults(schema, value);
}
export function Equal(left, right) {
  return JSON.stringify(left) === JSON.stringify(right);
}
export function Assert(schema, value) {
  assertValid(schema, value);
}
export function Parse(schema, value) {
  return parse(schema, value);
}
export function Decode(schema, value) {
  return Parse(schema, value);
}
export function Encode(schema, value) {
  return Parse(schema, value);
}
export const Value = { Check, Errors, Clone, Default, Equal, Assert, Parse, Decode, Encode };
export default Value;
