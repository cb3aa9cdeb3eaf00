// os.
import { processInfo } from "pi:native";
import { callSync } from "pi:operations";

const { arch: architecture, platform: system } = processInfo();
const info = () => callSync("os", "info");

export const EOL = system === "win32" ? "\r\n" : "\n";
export const devNull = system === "win32" ? "\\\\.\\nul" : "/dev/null";
export function homedir() {
  return globalThis.process.env.HOME || globalThis.process.env.USERPROFILE || info().homedir;
}
export function tmpdir() {
  const { env } = globalThis.process;
  return (env.TMPDIR || env.TMP || env.TEMP || info().tmpdir).replace(/(.)\/$/, "$1");
}
export function hostname() {
  return info().hostname;
}
export function platform() {
  return system;
}
export function type() {
  return info().type;
}
export function release() {
  return info().release;
}
export function version() {
  return info().version;
}
export function machine() {
  return info().machine;
}
export function arch() {
  return architecture;
}
export function endianness() {
  return "LE";
}
export function availableParallelism() {
  return info().cores;
}
export function cpus() {
  return Array.from({ length: info().cores }, () => ({ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }));
}
export function totalmem() {
  return info().totalmem;
}
export function freemem() {
  return info().freemem;
}
export function uptime() {
  return info().uptime;
}
export function loadavg() {
  return info().loadavg;
}
export function networkInterfaces() {
  return {};
}
export function getPriority() {
  return 0;
}
export function setPriority() {}
export function userInfo() {
  const { username, shell } = info();
  const { process } = globalThis;
  return { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1, username: username ?? "", homedir: homedir(), shell: shell ?? null };
}
export const constants = {
  signals: { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGFPE: 8, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15 },
  errno: { EPERM: 1, ENOENT: 2, EACCES: 13, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, ENOSPC: 28, ENOTEMPTY: 39 },
  priority: {},
};
export default { EOL, devNull, homedir, tmpdir, hostname, platform, type, release, version, machine, arch, endianness, availableParallelism, cpus, totalmem, freemem, uptime, loadavg, networkInterfaces, getPriority, setPriority, userInfo, constants };
