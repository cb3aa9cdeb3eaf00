#!/usr/bin/env node
import { main } from "../src/launch.js";

try {
  await main();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}
