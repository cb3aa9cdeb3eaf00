#!/usr/bin/env node
// The path at which programs start the TypeScript pi.
import "../bin/pi.js";
