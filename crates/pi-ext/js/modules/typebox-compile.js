// `typebox/compile`: compiled validators.
import { check, errorsOf, parse } from "pi:pi/schema_check";

export class Validator {
  constructor(schema) {
    this.schema = schema;
  }
  Type() {
    return this.schema;
  }
  Check(value) {
    return check(this.schema, value);
  }
  Errors(value) {
    return errorsOf(this.schema, value);
  }
  Parse(value) {
    return parse(this.schema, value);
  }
}
export function Compile(schema) {
  return new Validator(schema);
}
export default Compile;
