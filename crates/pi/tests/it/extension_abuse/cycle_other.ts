// The other half of a circle of imports.
import { first } from "./cycle.ts";

export const second = () => `second after ${first()}`;

export default function () {}
