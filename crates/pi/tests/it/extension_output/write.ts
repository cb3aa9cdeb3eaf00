// Writes to the standard output in every way that an extension and its children have.
import { execSync, spawn, spawnSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";

export default function (pi: any) {
  pi.on("turn_start", async () => {
    // Does not end if it reads the program's input.
    execSync("cat; echo from-exec", { stdio: "inherit" });
    spawnSync("echo", ["from-spawn-sync"], { stdio: ["ignore", 1, 2] });
    await new Promise((done) => spawn("echo", ["from-spawn"], { stdio: "inherit" }).on("close", done));
    writeFileSync("/dev/stdout", "from-file\n");
    appendFileSync("/proc/self/fd/1", "from-descriptor\n");
    console.log("from-console");
    process.stdout.write("from-process\n");
  });
}
