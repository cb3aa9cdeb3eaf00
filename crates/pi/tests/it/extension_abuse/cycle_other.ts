// The other part of the import cycle.
import { first } from "./cycle.ts";

export const second = () => `second after ${first()}`;

export default function () {}
