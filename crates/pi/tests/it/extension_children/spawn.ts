// Starts children in the way that the environment names. They hold the gate open while they live.
import { exec, execSync, spawn } from "node:child_process";

// Reports itself once pi had time to report it.
const ATTACHED = "sleep 0.5; exec 9>gate; echo ready >&9; (trap '' HUP TERM; sleep 600) & sleep 600; true";
const DETACHED = "echo $$ >detached; exec sleep 600";

export default function (pi: any) {
  pi.on("session_start", async () => {
    spawn("sh", ["-c", DETACHED], { detached: true, stdio: "ignore" }).unref();
    switch (process.env.MANNER) {
      case "execSync":
        execSync(ATTACHED);
        break;
      case "spawn":
        spawn("sh", ["-c", ATTACHED], { stdio: "ignore" });
        break;
      case "exec":
        exec(ATTACHED);
        break;
      default:
        void pi.exec("sh", ["-c", ATTACHED]);
    }
    await new Promise(() => {});
  });
}
