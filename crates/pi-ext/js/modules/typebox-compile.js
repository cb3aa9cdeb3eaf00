// `typebox/compile`: a schema with its checks.
import { check, errorsOf, withDefaults } from "pi:pi/schema_check";

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
    const filled = withDefaults(this.schema, value);
    const [error] = errorsOf(this.schema, filled);
    if (error) throw new Error(`${error.path || "the value"} ${error.message}`);
    return filled;
  }
}
export function Compile(schema) {
  return new Validator(schema);
}
export default Compile;
